package holding

import (
	"errors"
	"fmt"
	"os"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

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

// CannotHoldReason returns why a run of the task cannot have what it must hold.
func CannotHoldReason(task *schedule.Task, err error) string {
	if reason, _, held := HeldReason(task, err); held {
		return reason
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// HeldReason returns the reason of a skip of the task if other runs have its mutex or all seats, or
// wait for them. It returns false for any other error. A pool has a kind.
func HeldReason(task *schedule.Task, err error) (reason string, kind outcome.Kind, held bool) {
	if full, ok := errors.AsType[*mutex.FullError](err); ok {
		return full.Text(ZoneOf(task)), outcome.Full, true
	}
	if behind, ok := errors.AsType[*BehindError](err); ok {
		if _, isPool := state.PoolOf(behind.Name); isPool {
			kind = outcome.Full
		}
		return behind.Text(ZoneOf(task)), kind, true
	}
	if held, ok := errors.AsType[*mutex.HeldError](err); ok {
		return StillRunningFor(task, held.Holder, clock.Now()), "", true
	}
	return "", "", false
}

// HolderOf returns a live run as the holder of its mutex. Before its command has started it has no
// pid.
func HolderOf(row state.Row) mutex.Holder {
	holder := mutex.Holder{Run: row.ID, Host: row.Server, Task: row.Task, Since: outcome.TimeOfID(row.ID)}
	if row.Attempted() {
		holder.PID, holder.Since = row.Attempt.PID, row.Attempt.At
	}
	return holder
}

// StillRunningFor returns the reason of a skip of the task: for how long its mutex is held, and by
// which run. If what the holder wrote down cannot be read, the reason has no time.
func StillRunningFor(task *schedule.Task, holder mutex.Holder, now time.Time) string {
	running, held := StillRunning(task.Name, holder), holder.Text(ZoneOf(task))
	if holder.Since.IsZero() {
		return running + ", held " + held
	}
	return fmt.Sprintf("%s for %s, %s", running, humanize.Age(holder.Since, now), held)
}

// StillRunning says that the holder of a task's mutex runs, and names a holder of another task.
func StillRunning(task string, holder mutex.Holder) string {
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

func (e *BehindError) Error() string { return e.Text(time.Local) }

// Text is Error with the time in the zone.
func (e *BehindError) Text(zone *time.Location) string {
	wanted := "mutex " + humanize.Line(e.Name)
	if pool, ok := state.PoolOf(e.Name); ok {
		wanted = "a seat of pool " + pool
	}
	return fmt.Sprintf("%s waits for %s %s", humanize.Line(e.First.Task), wanted, e.First.Text(zone))
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

// FirstOf returns a *BehindError for the first of the rows that stands for one of the names.
func FirstOf(rows []state.Row, names []string) error {
	for _, name := range names {
		for _, row := range rows {
			if row.InQueue(name) {
				first := HolderOf(row)
				first.Since = row.Wait.Since
				return &BehindError{Name: name, First: first}
			}
		}
	}
	return nil
}

// ZoneOf returns the time zone in which messages and reasons show the times of a task's runs.
func ZoneOf(task *schedule.Task) *time.Location {
	if zone, err := time.LoadLocation(task.Sender.Zone); err == nil {
		return zone
	}
	return time.UTC
}
