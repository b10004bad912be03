package outbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/statedir"
)

// An Outbox is the folder with the notifications that were not delivered yet: one file a letter, removed
// when it was delivered. A letter is locked (flock(2)) while somebody tries, so two never send it at once.
// A kill between the sending and the removal sends it again.
//
//	HOOK-RUN-1.json         a letter; HOOK is made from the names of task and hook. 0 is for the start of the run
//	.draft-HOOK-RUN-1.json  one whose run has not noted yet that the hook fired: nobody sends it
//	HOOK.limit, HOOK.held   what at_most has to remember (limit)
type Outbox struct{ dir string }

// In returns the outbox of a state folder.
func In(state string) Outbox { return Outbox{filepath.Join(state, "outbox")} }

func (o Outbox) path(name string) string { return filepath.Join(o.dir, name+deliverySuffix) }
func (o Outbox) draft(name string) string {
	return filepath.Join(o.dir, draftPrefix+name+deliverySuffix)
}

const (
	deliverySuffix = ".json"
	draftPrefix    = ".draft-"
)

// A Delivery is a notification of one run, with all that is needed to send it but its secrets.
type Delivery struct {
	Hook    string                `json:"hook"` // after 2
	Folder  string                `json:"folder"`
	To      schedule.Notification `json:"to"`
	Message notify.Message        `json:"news"` // its ID is the name of the letter; without the output
	Output  []byte                `json:"output,omitempty"`

	file *os.File // nil for one that no outbox took
	last failure
}

// A failure is one attempt to deliver a letter: a line after the letter.
type failure struct {
	Tries     int       `json:"tries"`
	Since     time.Time `json:"since"` // of the first
	At        time.Time `json:"at"`
	Task      string    `json:"task"`
	Why       string    `json:"why"`
	Permanent bool      `json:"permanent,omitempty"`
	Told      bool      `json:"told,omitempty"` // to people
	Left      []int     `json:"left,omitempty"` // of several addresses those that are left; none: all
}

type failureLine struct {
	Failed failure `json:"failed"`
}

// hookHash names a hook of a task.
func hookHash(task, hook string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(task+"\x00"+hook)))[:16]
}

func Name(task, hook, run string, start bool) string {
	part := "1"
	if start {
		part = "0"
	}
	return hookHash(task, hook) + "-" + run + "-" + part
}

// hookOf and runOf return the parts of a letter's name that stand for its hook and its run.
func hookOf(name string) string { return name[:min(len(name), 16)] }

func RunOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, hookOf(name)+"-"), "-0"), "-1")
}

// write writes a letter as a draft, and to disk: a run that has noted that the hook fired does so no more.
func (o Outbox) write(l *Delivery) error { return o.writeTo(o.draft(l.Message.ID), l) }

func (o Outbox) writeTo(path string, l *Delivery) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return statedir.WriteSynced(path, append(text, '\n'))
}

// Post makes a letter of a draft. That there is none is no error: it was done before.
func (o Outbox) Post(name string) error {
	err := statedir.Rename(o.draft(name), o.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Put puts a letter into the outbox exactly once, whatever is killed: it is written as a draft; then mark notes
// that the hook fired; then the draft becomes a letter, which ticks send. Who finds the mark does the last step (post)
// alone, and who does not begins again. It reports false for one that at_most holds back.
func (o Outbox) Put(l *Delivery, mark func()) (kept bool, err error) {
	if l.To.AtMost.N > 0 {
		if admitted, err := o.admit(l); !admitted && err == nil {
			mark()
			return false, nil
		}
		defer o.forgetCounted(hookOf(l.Message.ID))
	}
	err = o.write(l)
	mark()
	if err == nil {
		err = o.Post(l.Message.ID)
	}
	return err == nil, err
}

// List returns the names of the letters, and the hooks of which some are held back, each by time.
func (o Outbox) List() (letters, held []string, err error) {
	dir, err := statedir.OpenDir(o.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	files, err := dir.Readdirnames(-1)
	for _, file := range files {
		if name, ok := strings.CutSuffix(file, deliverySuffix); ok && !strings.HasPrefix(file, ".") {
			letters = append(letters, name)
		} else if hook, ok := strings.CutSuffix(file, heldSuffix); ok {
			held = append(held, hook)
		}
	}
	slices.SortFunc(letters, func(a, b string) int { return strings.Compare(a[len(hookOf(a)):], b[len(hookOf(b)):]) })
	return letters, held, err
}

var errUnreadable = errors.New("it cannot be read")

// open locks a letter, and reads how the last attempt to deliver it ended. The error is os.ErrNotExist when it was delivered,
// errTaken while another process has it.
func (o Outbox) open(name string) (*Delivery, error) {
	file, err := statedir.OpenLocked(o.path(name), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	l := &Delivery{file: file}
	info, err := file.Stat()
	if err == nil {
		l.last, err = lastFailure(file, info.Size())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// lastFailure reads the last line of a letter alone: those that have to wait are many where a server is down.
func lastFailure(file *os.File, size int64) (failure, error) {
	tail := make([]byte, min(size, 8<<10))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return failure{}, err
	}
	start := bytes.LastIndex(tail, []byte("\n{\"failed\":"))
	if start < 0 {
		return failure{}, nil
	}
	line, _, whole := bytes.Cut(tail[start+1:], []byte{'\n'})
	var last failureLine
	if !whole || json.Unmarshal(line, &last) != nil {
		return failure{}, nil // torn by a kill: it is tried again at once
	}
	return last.Failed, nil
}

// read reads the whole of a letter that is open.
func (l *Delivery) read() error {
	text, err := statedir.ReadFile(l.file.Name())
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if err := json.Unmarshal(line, l); err != nil {
		return errUnreadable // as a power cut may leave it
	}
	return nil
}

// fail notes that an attempt failed. Where that cannot be written, the next one comes sooner.
func (l *Delivery) fail(f failure) {
	l.last = f
	text, err := json.Marshal(failureLine{f})
	if err == nil {
		_, err = l.file.Write(slices.Concat([]byte{'\n'}, text, []byte{'\n'}))
	}
	if err == nil {
		l.file.Sync()
	}
}

// remove removes a letter that is open.
func (l *Delivery) remove() error {
	if l.file == nil {
		return nil
	}
	return os.Remove(l.file.Name())
}

func (l *Delivery) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// replacedByNewer looks for other letters of the same hook, if it is a ping: a ping says how things are now. A newer one
// makes this one superfluous. Older ones are removed; one that is being sent at this moment is waited
// for, or it could arrive last.
func (o Outbox) replacedByNewer(name string, until time.Time) bool {
	letters, _, _ := o.List()
	for _, other := range letters {
		switch {
		case hookOf(other) != hookOf(name) || other == name:
		case other > name:
			return true
		default:
			o.Withdraw(other, until)
		}
	}
	return false
}

// pollEvery is how often an outbox looks whether another process has done with a delivery.
const pollEvery = 20 * time.Millisecond

func (o Outbox) Withdraw(name string, until time.Time) {
	for {
		l, err := o.open(name)
		if err == nil {
			l.remove()
			l.close()
			return
		}
		if !errors.Is(err, statedir.ErrLocked) || time.Now().After(until) {
			return
		}
		time.Sleep(pollEvery)
	}
}

// Sweep removes what a kill left of drafts, and what at_most remembers of hooks that have not fired for as long
// as any limit lasts.
func (o Outbox) Sweep(now time.Time) {
	drafts, _ := filepath.Glob(filepath.Join(o.dir, draftPrefix+"*"))
	limits, _ := filepath.Glob(filepath.Join(o.dir, "*"+limitSuffix))
	for _, file := range slices.Concat(drafts, limits) {
		age := 24 * time.Hour
		if strings.HasSuffix(file, limitSuffix) {
			age = schedule.LookBack
		}
		if info, err := os.Stat(file); err == nil && info.ModTime().Before(now.Add(-age)) {
			os.Remove(file)
		}
	}
}

// Kept reports whether an outbox has the delivery, so that later ticks know of it.
func (l *Delivery) Kept() bool { return l.file != nil }
