package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/runfile"
)

// This file is about runs whose supervisor was killed. Its witness has become the parent of their commands, and goes on with
// them where the supervisor was: nothing is started twice, timeouts count from the start, and exit codes are the true ones.

// A leftover is what the supervisor of a run left when it was killed. The methods of a nil one are those of a run that begins.
type leftover struct {
	state   runfile.State
	attempt int              // that was started last; 0 where none was
	process *process.Process // the command of that attempt; nil where none was started
	age     time.Duration    // of the process
}

// TakeOver takes over a run that was given to the supervisor, which was killed, and whose commands are now children of this
// process. It is nil where there is nothing to take over: the run was given to another one, has a result, or rests. The error
// is runfile.ErrAlive where another process has the file open, maybe for a moment only.
func (c Caller) TakeOver(id, supervisor string) (*Run, error) {
	state, _, err := runfile.Read(c.Dir, id)
	if err != nil || state.Supervisor != supervisor || !state.Supervised() {
		return nil, err
	}
	file, state, err := runfile.TakeOver(c.Dir, id, supervisor)
	if err != nil {
		return nil, err
	}
	if !state.Supervised() {
		return nil, file.Close()
	}
	r, err := c.restore(file)
	if err == nil {
		r.output, err = output.Open(file.Record.Output)
	}
	if err != nil {
		file.Close() // a later tick says what is wrong with it
		return nil, err
	}
	r.lock = r.adopt(time.Now(), nil)
	r.left = newLeftover(state)
	return r, nil
}

// newLeftover finds the command of the last attempt among the children of this process.
func newLeftover(state runfile.State) *leftover {
	l := &leftover{state: state}
	if state.Attempt == nil || state.Resting() {
		return l
	}
	l.attempt = state.Attempt.Number
	pid := state.Attempt.PID
	if pid == 0 { // it was about to be started
		pid = process.OrphanOf(state.Begin.Run, l.attempt)
	}
	if pid != 0 {
		l.age = process.Age(pid)
		l.process, _ = process.Adopt(pid)
	}
	return l
}

// beyondHooks reports whether the before-hooks are over.
func (l *leftover) beyondHooks() bool {
	return l != nil && (l.state.Attempt != nil || l.state.Resting())
}

// hooks returns the hooks that were started.
func (l *leftover) hooks() map[string]bool {
	if l == nil {
		return nil
	}
	return l.state.Hooks
}

// command returns the command of the attempt, and its age; nil where that is yet to be started.
func (l *leftover) command(attempt int) (*process.Process, time.Duration) {
	if l == nil || l.attempt != attempt {
		return nil, 0
	}
	return l.process, l.age
}

// ending returns why the killed supervisor was about to end the command of the attempt; nil where it was not.
func (l *leftover) ending(attempt int) *runfile.Ending {
	if l == nil || l.state.Ending == nil || l.state.Ending.Attempt != attempt {
		return nil
	}
	return l.state.Ending
}

// goOn is firstAttempt for a run whose supervisor had come to its attempts.
func (r *Run) goOn(terminate context.Context) (result outcome.Record, attempt int) {
	state := r.left.state
	result = r.beforeAttempt(state)
	switch {
	case state.Resting():
		if !r.waitUnlessStopped(terminate, state.Retry.At.Sub(clock.Now())) {
			stopped(&result, "before attempt %d", state.Retry.Attempt)
		}
		return result, state.Retry.Attempt
	case r.left.process == nil: // it ended unseen, or was in the middle of its start
		return r.settle(state, nil), r.left.attempt
	}
	result.Attempts = r.left.attempt
	if result.Started.IsZero() {
		result.Started = state.Attempt.At
	}
	if state.Attempt.PID == 0 {
		r.file.Append(runfile.Event{Attempt: &runfile.Attempt{Number: r.left.attempt, PID: r.left.process.PID, At: state.Attempt.At}})
	}
	return result, r.left.attempt
}

// beforeAttempt returns what the attempts before the last one came to.
func (r *Run) beforeAttempt(state runfile.State) outcome.Record {
	result := r.soFar(state.Deferral)
	if state.Retry != nil && (state.Deferral == nil || state.Retry.Attempt > state.Deferral.Attempt) {
		result = state.Retry.Record
	}
	result.Outcome, result.Reason, result.Snapshot = "", "", nil
	for _, note := range state.Notes {
		if !slices.Contains(result.Notes, note) {
			result.Notes = append(result.Notes, note)
		}
	}
	return result
}

// noteRetry writes down that the supervisor waits for the next attempt, for the process that may have to go on here.
func (r *Run) noteRetry(attempt int, wait time.Duration, result outcome.Record, notes []string) {
	if !r.Record().Background {
		return
	}
	result.Notes = slices.Concat(result.Notes, notes)
	r.file.Append(runfile.Event{Retry: &runfile.Retry{Attempt: attempt, At: clock.Now().Add(wait).UTC(), Record: result}})
}

// lastStarted returns the index of the last command among the hooks that was started; -1 where none was.
func lastStarted(before []schedule.Hook, started map[string]bool) (last int) {
	last = -1
	for i, hook := range before {
		if hook.Notify == nil && started[hookName("before", i)] {
			last = i
		}
	}
	return last
}

// awaitOrphan goes on with a before-hook that a supervisor had started when it was killed.
func (h *hooks) awaitOrphan(ctx context.Context, name string) (note string) {
	pid := h.left.state.HookPID
	age := process.Age(pid)
	if p, ok := process.Adopt(pid); ok {
		return awaitHook(ctx, name, p, age)
	}
	return fmt.Sprintf("hook %s: nobody saw how it ended, since its supervisor was killed", name)
}
