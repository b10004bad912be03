package queue

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/statedir"
)

// This file is about what is seen of the queues of one machine.

// A place is a file of the folder.
type place struct{ order, path string }

// places returns who stands in the queues of this machine, or stood there when it was killed, by the name of the queue, oldest first.
func (q Queue) places() (all map[string][]place, err error) {
	entries, err := os.ReadDir(q.dir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	all = map[string][]place{}
	for _, entry := range entries {
		if order, name, ok := strings.Cut(entry.Name(), "@"); ok { // else it is a draft
			name = strings.ReplaceAll(name, "+", "/")
			all[name] = append(all[name], place{order, filepath.Join(q.dir(), entry.Name())})
		}
	}
	return all, err
}

// Seen is what the last look at the queues of one machine has found. Runs that wait in one process share it: hundreds of them look
// together at a folder that has a file of each. Safe for concurrent use.
type Seen struct {
	mu   sync.Mutex
	last *look
}

// seenFor is how long a look is good for others. Who takes a place meanwhile came later than they.
const seenFor = 50 * time.Millisecond

// A look is what was in the folder at one moment. Safe for concurrent use.
type look struct {
	at     time.Time // when it began
	places map[string][]place
	err    error

	mu     sync.Mutex
	firsts map[string]waiter // those that were asked for
}

// A waiter is who is first in a queue; the zero waiter where nobody waits.
type waiter struct {
	order  string
	holder mutex.Holder
}

// look returns a look that began after since.
func (q Queue) look(since time.Time) *look {
	if q.Seen == nil {
		return q.lookNow()
	}
	q.Seen.mu.Lock()
	defer q.Seen.mu.Unlock()
	if last := q.Seen.last; last == nil || !last.at.After(since) || time.Since(last.at) > seenFor {
		q.Seen.last = q.lookNow()
	}
	return q.Seen.last
}

func (q Queue) lookNow() *look {
	l := &look{at: time.Now(), firsts: map[string]waiter{}}
	l.places, l.err = q.places()
	return l
}

// firstOf returns who is first in a queue; false where nobody waits. It removes what it finds of those that were killed.
func (l *look) firstOf(name string) (first waiter, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, known := l.firsts[name]
	if !known {
		for _, place := range l.places[name] {
			if holder, waits := place.read(); waits {
				first = waiter{place.order, holder}
				break
			}
			place.sweep()
		}
		l.firsts[name] = first
	}
	return first, first.order != ""
}

func (p place) read() (holder mutex.Holder, waits bool) {
	file, err := statedir.OpenPlain(p.path, os.O_RDONLY)
	if err != nil {
		return holder, false
	}
	defer file.Close()
	if !statedir.Held(file) {
		return holder, false
	}
	words, _ := statedir.ReadAll(file)
	if json.Unmarshal(words, &holder) != nil {
		_, holder.Run, _ = strings.Cut(p.order, "-")
	}
	return holder, true
}

// sweep removes what a process that was killed left. Where the run has come back meanwhile it makes its file again (keep).
func (p place) sweep() {
	if file, err := statedir.OpenLocked(p.path, os.O_RDONLY); err == nil {
		os.Remove(p.path)
		file.Close()
	}
}
