package outbox

import (
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
	"sched/schedule/statedir"
)

// An Outbox is the folder with the notifications that were not delivered yet: one file a delivery, removed
// when the message was accepted. The file is locked (flock(2)) during an attempt, so two processes never make one at once.
// A kill between the acceptance and the removal sends the message again.
//
//	HOOK-RUN-1.json         a delivery; HOOK is made from the names of task and hook. 0 instead of 1 is for the start of the run
//	.draft-HOOK-RUN-1.json  a draft: its run has not noted yet that the hook fired, and no process sends it
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

// write writes a delivery as a draft, synced to disk: once the run has noted that the hook fired, nothing writes it again.
func (o Outbox) write(d *Delivery) error { return o.writeTo(o.draft(d.Message.ID), d) }

func (o Outbox) writeTo(path string, d *Delivery) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return statedir.WriteSynced(path, append(text, '\n'))
}

// Publish makes a delivery of a draft: from here on ticks send it. Without a draft it does nothing, and returns nil: it
// was published before.
func (o Outbox) Publish(name string) error {
	err := os.Rename(o.draft(name), o.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Put puts a delivery into the outbox exactly once, whatever is killed: it is written as a draft; then mark notes
// that the hook fired; then the draft is published. A process that finds the mark of one that was killed calls Publish
// alone, and without the mark it calls Put again. Put reports false for a delivery that at_most holds back, and after an error.
func (o Outbox) Put(d *Delivery, mark func()) (kept bool, err error) {
	if d.To.AtMost.N > 0 {
		if admitted, err := o.admit(d); !admitted && err == nil {
			mark()
			return false, nil
		}
		defer o.forgetCounted(hookOf(d.Message.ID))
	}
	err = o.write(d)
	mark()
	if err == nil {
		err = o.Publish(d.Message.ID)
	}
	return err == nil, err
}

// List returns the names of the deliveries, oldest run first, and the hooks of which one is held back.
// An outbox that does not exist is an empty one.
func (o Outbox) List() (deliveries, held []string, err error) {
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
			deliveries = append(deliveries, name)
		} else if hook, ok := strings.CutSuffix(file, heldSuffix); ok {
			held = append(held, hook)
		}
	}
	slices.SortFunc(deliveries, func(a, b string) int { return strings.Compare(a[len(hookOf(a)):], b[len(hookOf(b)):]) })
	return deliveries, held, err
}

// open locks a delivery, and reads how its last attempt ended. The error is os.ErrNotExist when the message was delivered,
// statedir.ErrLocked while another process makes an attempt.
func (o Outbox) open(name string) (*Delivery, error) {
	file, err := statedir.OpenLocked(o.path(name), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	d := &Delivery{file: file}
	info, err := file.Stat()
	if err == nil {
		d.last, err = lastFailure(file, info.Size())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return d, nil
}

// replacedByNewer reports whether the outbox has a newer delivery of the same hook: of pings, which say how things are now,
// only the newest counts (docs/internals/decisions.md#a-newer-ping-replaces-an-older-one). It withdraws older ones. One that is being
// sent at this moment is waited for until then: it could arrive last.
func (o Outbox) replacedByNewer(name string, until time.Time) bool {
	deliveries, _, _ := o.List()
	for _, other := range deliveries {
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

// pollEvery is the time between two looks whether another process has ended its attempt.
const pollEvery = 20 * time.Millisecond

// Withdraw removes a delivery, if it is there. While another process makes an attempt for it, Withdraw waits for the end of
// that, at most until then.
func (o Outbox) Withdraw(name string, until time.Time) {
	for {
		d, err := o.open(name)
		if err == nil {
			d.remove()
			d.close()
			return
		}
		if !errors.Is(err, statedir.ErrLocked) || time.Now().After(until) {
			return
		}
		time.Sleep(pollEvery)
	}
}

// Sweep removes the drafts of processes that were killed a day ago, and what at_most remembers of hooks that have not fired
// for as long as any limit lasts (schedule.LookBack).
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

// Name names the delivery of a hook of a run, or with start the one about the start of that run. The same arguments give
// the same name, so that a finish that begins again finds what the one before it left.
func Name(task, hook, run string, start bool) string {
	part := "1"
	if start {
		part = "0"
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(task+"\x00"+hook)))[:16] + "-" + run + "-" + part
}

// hookOf returns the part of a delivery's name that stands for its hook.
func hookOf(name string) string { return name[:min(len(name), 16)] }

// RunOf returns the id of the run in a delivery's name.
func RunOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, hookOf(name)+"-"), "-0"), "-1")
}
