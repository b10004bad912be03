package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// This file is about what a run holds while it goes on: its mutex, a seat of its pool, or both, as
// one lock.

// NeedOf returns what a run of the task must hold. It leaves Taken unset.
func NeedOf(task *schedule.Task) mutex.Need {
	need := mutex.Need{Pool: task.Pool.Name, Seats: task.Pool.Seats}
	if task.WithoutOverlapping {
		need.Mutex = task.Mutex
	}
	return need
}

// NewHolder returns the run of a row as the holder of what this process is about to acquire.
func NewHolder(row state.Row) mutex.Holder {
	return mutex.Holder{Run: row.ID, PID: os.Getpid(), Host: row.Server, Task: row.Task, Since: clock.Now()}
}

// adopt makes the lock ours that another process acquired for the run. The files are its
// descriptors: of the mutex, then of the seat; there may be none. It is not known when the lease
// began, so the lease is renewed before a command starts.
func (r *Run) adopt(files []*os.File) {
	for _, file := range files {
		unix.CloseOnExec(int(file.Fd()))
	}
	holder := NewHolder(r.row.Row)
	var locks []mutex.Lock
	add := func(name string) {
		var file *os.File
		if len(files) > 0 {
			file, files = files[0], files[1:]
		}
		locks = append(locks, r.Mutexes().Adopt(name, holder, file))
	}
	if r.row.Locked {
		add(r.task.Mutex)
	}
	if r.row.Seat != "" {
		add(r.row.Seat)
	}
	r.lock, r.adopted = mutex.Join(locks...), true
}

// reasonOf says why a run cannot have what it must hold.
func reasonOf(err error) string {
	if reason, held := HeldReason(err); held {
		return reason
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// HeldReason returns the reason of a skip if other runs have the mutex or all seats, or wait for
// them. It returns false for any other error.
func HeldReason(err error) (reason string, held bool) {
	var full *mutex.FullError
	var behind *BehindError
	var mutexHeld *mutex.HeldError
	switch {
	case errors.As(err, &full):
		return full.Error(), true
	case errors.As(err, &behind):
		return behind.Error(), true
	case errors.As(err, &mutexHeld):
		return stillRunning(mutexHeld.Holder, clock.Now()), true
	}
	return "", false
}

// HolderOf returns a live run as the holder of its mutex. Before its command has started it has no
// pid.
func HolderOf(row state.Row) mutex.Holder {
	holder := mutex.Holder{Run: row.ID, Host: row.Server, Task: row.Task, Since: outcome.Begun(row.ID)}
	if row.Attempted() {
		holder.PID, holder.Since = row.Attempt.PID, row.Attempt.At
	}
	return holder
}

// stillRunning returns the reason of a skip: for how long the mutex is held, and by which run. A
// holder without a Run left nothing that can be read.
func stillRunning(holder mutex.Holder, now time.Time) string {
	if holder.Since.IsZero() { // what the holder wrote down cannot be read
		return "still running, held " + holder.String()
	}
	return fmt.Sprintf("still running for %s, %s", humanize.Age(holder.Since, now), holder)
}

// A BehindError says that other runs have waited longer for a mutex, or for a seat. It wraps a
// *mutex.HeldError.
type BehindError struct {
	Name  string       // of the mutex, or of the seats of a pool (state.SeatQueue)
	First mutex.Holder // Since is when it began to wait
}

func (e *BehindError) Error() string {
	wanted := "mutex " + humanize.Line(e.Name)
	if pool, ok := strings.CutSuffix(e.Name, "#"); ok {
		wanted = "a seat of pool " + pool
	}
	return fmt.Sprintf("%s waits for %s %s", humanize.Line(e.First.Task), wanted, e.First)
}

func (e *BehindError) Unwrap() error { return &mutex.HeldError{Name: e.Name, Holder: e.First} }

// QueuesOf returns the names of the queues for what a run needs.
func QueuesOf(need mutex.Need) (names []string) {
	if need.Mutex != "" {
		names = append(names, need.Mutex)
	}
	if need.Pool != "" {
		names = append(names, state.SeatQueue(need.Pool))
	}
	return names
}
