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

// reasonOf says why a run of the task cannot have what it must hold.
func reasonOf(task string, err error) string {
	if reason, held := HeldReason(task, err); held {
		return reason
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// HeldReason returns the reason of a skip of the task if other runs have its mutex or all seats, or
// wait for them. It returns false for any other error.
func HeldReason(task string, err error) (reason string, held bool) {
	var full *mutex.FullError
	var behind *BehindError
	var mutexHeld *mutex.HeldError
	switch {
	case errors.As(err, &full):
		return full.Error(), true
	case errors.As(err, &behind):
		return behind.Error(), true
	case errors.As(err, &mutexHeld):
		return stillRunningFor(task, mutexHeld.Holder, clock.Now()), true
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

// stillRunningFor returns the reason of a skip of the task: for how long its mutex is held, and by
// which run. A holder without a Run left nothing that can be read.
func stillRunningFor(task string, holder mutex.Holder, now time.Time) string {
	if holder.Since.IsZero() { // what the holder wrote down cannot be read
		return stillRunning(task, holder) + ", held " + holder.String()
	}
	return fmt.Sprintf("%s for %s, %s", stillRunning(task, holder), humanize.Age(holder.Since, now), holder)
}

// stillRunning says that the holder of a task's mutex runs, and names a holder of another task.
func stillRunning(task string, holder mutex.Holder) string {
	if holder.Task == "" || holder.Task == task {
		return "still running"
	}
	return humanize.Line(holder.Task) + " is still running"
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
