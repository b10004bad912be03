package run

import (
	"time"

	"sched/schedule/process"
	"sched/schedule/state"
)

// This file is about runs whose supervisor was killed. Its witness has become the parent of their
// commands, and goes on with them from the point that the supervisor had reached. Nothing is
// started twice, timeouts count from the start, and exit codes are the true ones.

// A leftover is what the supervisor of a run left when it was killed. A nil leftover is for a run
// that begins.
type leftover struct {
	attempt int              // the number of the last attempt that was started; 0 if none was
	process *process.Process // the command of that attempt; nil if this process has no such child
	age     time.Duration    // of the process
	hookPID int              // of the before-hook that was started last
	// ending has the outcome and the reason with which the supervisor was about to end the attempt.
	// It is empty if the supervisor was not about to.
	ending state.Result
}

// newLeftover finds the command of the last attempt, and the before-hook that was started last,
// among the children of this process. It writes down the process of that hook.
func newLeftover(row *ownRow, marks hookMarks) *leftover {
	l := &leftover{}
	for _, hook := range marks.all() {
		if !hook.Ended.IsZero() {
			continue
		}
		l.hookPID = hook.PID
		if hook.PID == 0 { // the supervisor was killed before it could write that down
			l.hookPID = process.ChildGroup(row.ID, 1) // hooks before the command have the number of the first attempt
			marks.markForked(hook.Name, l.hookPID)
		}
	}
	if row.Phase != state.Running {
		return l
	}
	l.attempt = row.Attempt.Number
	if row.Kind != "" {
		l.ending = state.Result{Outcome: endedBy(row.Kind), Reason: row.Reason}
	}
	pid := row.Attempt.PID
	if pid == 0 { // it was about to be started
		pid = process.ChildGroup(row.ID, l.attempt)
	}
	if pid != 0 {
		l.age = process.Age(pid)
		l.process, _ = process.Adopt(pid)
	}
	return l
}

// of returns what is left of an attempt: its command, the age of that, and why the supervisor
// was about to end it. All are zero for an attempt that has yet to be started.
func (l *leftover) of(attempt int) (command *process.Process, age time.Duration, ending state.Result) {
	if l == nil || l.attempt != attempt {
		return nil, 0, state.Result{}
	}
	return l.process, l.age, l.ending
}

// A startedHook is the last command among the before-hooks that a killed supervisor had started.
type startedHook struct {
	index int // -1 for none
	mark  state.Hook
}
