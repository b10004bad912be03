// Package queue keeps the order of the runs that wait on one machine for mutexes and seats: first come, first served. Between servers
// nobody promises an order.
//
// A queue decides nothing but who tries first. That a mutex is never held twice is for the mutex: where a queue is not known, since its
// folder is full, runs still exclude each other, in whatever order.
//
// # Goals
//
//   - Who has died is in nobody's way: a place is a file that the process which waits has locked.
//   - A run that another process goes on with gets its place again: places are by when a run began to wait.
package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// A Queue is where those stand who wait for the mutexes and seats of a schedule.
type Queue struct {
	Dir  string // the state folder
	Seen *Seen  // shared by those that wait in this process; nil: each looks itself
}

// A BehindError says that others wait for a mutex, or for a seat, since before. It wraps a *mutex.HeldError.
type BehindError struct {
	Name  string       // of the mutex, or of the pool with a "#"
	First mutex.Holder // Since is when it began to wait
}

func (e *BehindError) Error() string {
	what := "mutex " + humanize.Line(e.Name)
	if pool, ok := strings.CutSuffix(e.Name, "#"); ok {
		what = "a seat of pool " + pool
	}
	if e.First.Since.IsZero() {
		return "others wait for " + what
	}
	return fmt.Sprintf("%s waits for %s %s", humanize.Line(e.First.Task), what, e.First)
}

func (e *BehindError) Unwrap() error { return &mutex.HeldError{Name: e.Name, Holder: e.First} }

// OfPool returns the name of the queue for the seats of a pool. No mutex has such a name.
func OfPool(pool string) string { return pool + "#" }

// Behind returns a *BehindError where somebody waits for one of the names. An error of another kind says that this is not known.
func (q Queue) Behind(names ...string) error {
	return q.firstBefore("", names, time.Now())
}

// firstBefore returns a *BehindError for the first on this machine who waits for one of the names, before the order or at all (""). It
// knows all places that were taken before since.
func (q Queue) firstBefore(order string, names []string, since time.Time) error {
	seen := q.look(since)
	for _, name := range names {
		if first, ok := seen.firstOf(name); ok && (order == "" || first.order < order) {
			return &BehindError{name, first.holder}
		}
	}
	return seen.err
}

// A Place is that of one run in the queues that it stands in. It belongs to one goroutine.
type Place struct {
	queue Queue
	of    mutex.Holder
	files map[string]*os.File // its places on this machine, by the name of the queue
	taken time.Time           // when the newest of them was
}

// Join returns the place of a run, which stands in no queue yet. Since is when it began to wait.
func (q Queue) Join(of mutex.Holder) *Place {
	return &Place{queue: q, of: of, files: map[string]*os.File{}}
}

// Stand takes or keeps a place in the queue of each of the names, and gives those in others back. It returns a *BehindError where
// another run is first in one of them. Any other error says that the order is not known.
func (p *Place) Stand(names ...string) error {
	p.leave(func(name string) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		if err := p.keep(name); err != nil {
			return err
		}
	}
	return p.queue.firstBefore(order(p.of), names, p.taken)
}

// Leave gives all places back.
func (p *Place) Leave() {
	p.leave(func(string) bool { return true })
}

func (p *Place) leave(gone func(name string) bool) {
	for name, file := range p.files {
		if gone(name) {
			os.Remove(p.queue.path(name, p.of))
			file.Close()
			delete(p.files, name)
		}
	}
}

// keep makes the file of a place, locked, where it is not there. It is made under another name: nobody sees it unlocked.
func (p *Place) keep(name string) error {
	path := p.queue.path(name, p.of)
	if file := p.files[name]; file != nil {
		if statedir.IsAt(file, path) {
			return nil
		}
		file.Close()
		delete(p.files, name)
	}
	if err := os.MkdirAll(p.queue.dir(), 0o700); err != nil {
		return err
	}
	draft := filepath.Join(p.queue.dir(), draftPrefix+p.of.Run)
	file, err := statedir.Open(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	words, _ := json.Marshal(p.of) // texts, numbers and a time
	if err = statedir.Lock(file); err == nil {
		if _, err = file.Write(words); err == nil {
			err = os.Rename(draft, path)
		}
	}
	if err != nil {
		file.Close()
		os.Remove(draft)
		return err
	}
	p.files[name], p.taken = file, time.Now()
	return nil
}

func (q Queue) dir() string { return filepath.Join(q.Dir, "queues") }

// draftPrefix begins the names of places that are being made. They have no "@".
const draftPrefix = "draft-"

// path returns the file of a place. Names have neither "+" nor "@".
func (q Queue) path(name string, of mutex.Holder) string {
	return filepath.Join(q.dir(), order(of)+"@"+strings.ReplaceAll(name, "/", "+"))
}

// order sorts places: by when a run began to wait, then by its id.
func order(of mutex.Holder) string { return fmt.Sprintf("%016d-%s", of.Since.UnixMicro(), of.Run) }

// Sweep removes what processes that were killed left in the queues of this machine, where nobody has come by it since.
func (q Queue) Sweep(now time.Time) {
	places, _ := q.places()
	for _, queue := range places {
		for _, place := range queue {
			place.sweep()
		}
	}
	drafts, _ := filepath.Glob(filepath.Join(q.dir(), draftPrefix+"*"))
	for _, draft := range drafts {
		if info, err := os.Lstat(draft); err == nil && info.ModTime().Before(now.Add(-24*time.Hour)) {
			os.Remove(draft)
		}
	}
}
