package run

import (
	"context"
	"fmt"
	"os"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
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

// takeOver goes on with a run of this owner whose supervisor was killed, and whose commands are now
// children of this process.
func (c Caller) takeOver(row state.Row) (*Run, error) {
	own, err := c.Self.Owned(context.Background())
	if err != nil {
		return nil, err
	}
	r, err := c.restore(own, row)
	if err != nil {
		return nil, err
	}
	if err := r.reopenOutput(); err != nil {
		return nil, err
	}
	r.adopt(nil)
	r.leftover = newLeftover(r)
	return r, nil
}

// reopenOutput opens the output of the run, which has begun. While that is impossible, as on a
// read-only disk, it tries again. After resultPatience the run goes on, and what its next attempts
// print is lost. When this process is asked to end, it gives up at once.
func (r *Run) reopenOutput() (err error) {
	persistence{ending: r.Terminate, patience: resultPatience}.try(func() bool {
		r.output, err = output.Open(r.row.Output)
		return err == nil
	})
	if err != nil {
		r.complain("what the next attempts of a run print is lost: %v", err)
		r.output, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return err
}

// newLeftover finds the command of the last attempt, and the before-hook that was started last,
// among the children of this process. It writes down the process of that hook.
func newLeftover(r *Run) *leftover {
	l := &leftover{}
	for _, hook := range r.hooks.marks.all() {
		if !hook.Ended.IsZero() {
			continue
		}
		l.hookPID = hook.PID
		if hook.PID == 0 { // the supervisor was killed before it could write that down
			l.hookPID = process.ChildGroup(r.row.ID, 1) // hooks before the command have the number of the first attempt
			r.hooks.marks.markForked(hook.Name, l.hookPID)
		}
	}
	if r.row.Phase != state.Running {
		return l
	}
	l.attempt = r.row.Attempt.Number
	if r.row.Kind != "" {
		l.ending = state.Result{Outcome: endedBy(r.row.Kind), Reason: r.row.Reason}
	}
	pid := r.row.Attempt.PID
	if pid == 0 { // it was about to be started
		pid = process.ChildGroup(r.row.ID, l.attempt)
	}
	if pid != 0 {
		l.age = process.Age(pid)
		l.process, _ = process.Adopt(pid)
	}
	return l
}

// endedBy returns the outcome of a run whose row says that its command is about to be ended, and
// why (state.Owned.Ending). endingKind returns the kind for an outcome.
func endedBy(kind outcome.Kind) outcome.Outcome {
	if kind == outcome.Timeout {
		return outcome.TimedOut
	}
	return outcome.Stopped
}

func endingKind(became outcome.Outcome) outcome.Kind {
	if became == outcome.TimedOut {
		return outcome.Timeout
	}
	return outcome.TickEnded
}

// command returns the command of the attempt, and its age. It returns nil if the command has yet to
// be started.
func (l *leftover) command(attempt int) (*process.Process, time.Duration) {
	if l == nil || l.attempt != attempt {
		return nil, 0
	}
	return l.process, l.age
}

// endingOf returns why the killed supervisor was about to end the command of the attempt. It is
// empty if the supervisor was not about to.
func (l *leftover) endingOf(attempt int) state.Result {
	if l == nil || l.attempt != attempt {
		return state.Result{}
	}
	return l.ending
}

// A startedHook is the last command among the before-hooks that a killed supervisor had started.
type startedHook struct {
	index int // -1 for none
	mark  state.Hook
}

// lastBeforeHook returns which of the before-hooks the killed supervisor had started last.
func (h *hooks) lastBeforeHook(before []schedule.Hook) (last startedHook) {
	last.index = -1
	if h.run.leftover == nil {
		return last
	}
	for _, mark := range h.marks.all() {
		for i, hook := range before {
			if hook.Notify == nil && hookName("before", i) == mark.Name && i > last.index {
				last = startedHook{i, mark}
			}
		}
	}
	return last
}

// awaitStarted returns what came of a before-hook that the killed supervisor had started, and waits
// for its end. It reports false for a hook that has yet to run.
func (h *hooks) awaitStarted(ctx context.Context, i int, last startedHook) (note string, over bool) {
	switch {
	case i < last.index: // it succeeded, or the next one would not have been started
		return "", true
	case i > last.index:
		return "", false
	case !last.mark.Ended.IsZero():
		return last.mark.Note, true
	case h.run.leftover.hookPID == 0:
		return "", false
	}
	name, pid := last.mark.Name, h.run.leftover.hookPID
	age := process.Age(pid)
	if p, ok := process.Adopt(pid); ok {
		note = awaitHook(ctx, name, p, age)
	} else {
		note = fmt.Sprintf("hook %s: nobody saw how it ended, because its supervisor is gone", name)
	}
	h.marks.markEnded(name, note)
	return note, true
}
