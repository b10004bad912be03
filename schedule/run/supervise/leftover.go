package supervise

import (
	"context"
	"os"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/run/ownrow"
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
	// ending has the outcome and the reason with which the supervisor was about to end the attempt.
	// It is empty if the supervisor was not about to.
	ending state.Result
}

// goOnWith goes on with a run of this owner whose supervisor was killed, and whose commands are now
// children of this process.
func goOnWith(p holding.Process, row state.Row) (*run.Run, *leftover, error) {
	own, err := p.Self.Owned(context.Background())
	if err != nil {
		return nil, nil, err
	}
	r, err := run.Of(p, own, row)
	if err != nil {
		return nil, nil, err
	}
	if err := reopenOutput(r); err != nil {
		return nil, nil, err
	}
	r.TakeLock(nil)
	r.TakenOver = true
	r.Hooks.GoOn()
	return r, newLeftover(r.Own.Row), nil
}

// reopenOutput opens the output of a run that has begun. While that is impossible, as on a
// read-only disk, it tries again. After ResultPatience the run goes on, and what its next attempts
// print is lost. When this process is asked to end, it gives up at once.
func reopenOutput(r *run.Run) (err error) {
	ownrow.Persistence{Ending: r.Terminate, Patience: ownrow.ResultPatience}.Try(func() bool {
		r.Output, err = output.Open(r.Own.Output)
		return err == nil
	})
	if err != nil {
		r.Own.Complain("what the next attempts of a run print is lost: %v", err)
		r.Output, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return err
}

// newLeftover finds the command of the last attempt among the children of this process.
func newLeftover(row state.Row) *leftover {
	l := &leftover{}
	if row.Phase != state.Running {
		return l
	}
	l.attempt = row.Attempt.Number
	if row.Kind != "" { // state.StopCommand
		l.ending = state.Result{Outcome: outcome.Stopped, Reason: row.Reason}
		if row.Kind == outcome.Timeout {
			l.ending.Outcome = outcome.TimedOut
		}
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

// of returns what is left of an attempt: its command, the age of that, and why the supervisor was
// about to end it. All are zero for an attempt that has yet to be started.
func (l *leftover) of(attempt int) (command *process.Process, age time.Duration, ending state.Result) {
	if l == nil || l.attempt != attempt {
		return nil, 0, state.Result{}
	}
	return l.process, l.age, l.ending
}

// next returns what this process, which owns the row, is to do with it.
func (l *leftover) next(row *state.Row) run.Action {
	now := clock.Now()
	return run.Next(*row, run.Facts{IsOurs: true, HasCommand: l != nil && l.process != nil, Now: now, DueBy: now})
}
