package run

import (
	"fmt"
	"time"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/runfile"

	"sched/schedule/text"
)

// HolderOf returns a live run as the holder of its mutex. Before its command has started it has no pid.
func HolderOf(state runfile.State) mutex.Holder {
	holder := mutex.Holder{Run: state.Begin.Run, Host: state.Begin.Server, Task: state.Begin.Task, Since: outcome.Begun(state.Begin.Run)}
	if state.Attempt != nil {
		holder.PID, holder.Since = state.Attempt.PID, state.Attempt.At
	}
	return holder
}

// StillRunning returns the reason of a skip: for how long the mutex is held, and by which run. A holder without a Run left
// nothing that can be read.
func StillRunning(holder mutex.Holder, now time.Time) string {
	if holder.Since.IsZero() { // what the holder wrote down cannot be read
		return "still running, held " + holder.String()
	}
	return fmt.Sprintf("still running for %s, %s", text.Duration(max(0, now.Sub(holder.Since))), holder)
}

// describeLock names a process of the run in its lock, for people. It decides nothing.
func (r *Run) describeLock(pid int, since time.Time) {
	if r.lock != nil {
		r.lock.Describe(mutex.Holder{Run: r.Record().Run, PID: pid, Host: r.Record().Server, Task: r.Record().Task, Since: since})
	}
}
