package run

import (
	"context"
	"errors"
	"slices"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// Unwatched returns the runs that no process looks after: runs whose owner is dead, and runs that
// wait for their next attempt, or for their turn.
func (c Caller) Unwatched(ctx context.Context) ([]state.Row, error) {
	live, lost, err := c.DB.LiveAndLost(ctx)
	live = slices.DeleteFunc(live, func(row state.Row) bool {
		return !row.Deferred() && (!row.Queued() || c.DB.Owners().Alive(row.Owner))
	})
	return append(live, lost...), err
}

// Collect finishes a run that no process looks after. If the run waits for its next attempt, or for
// its turn, Collect returns its row instead, for Resume.
func (c Caller) Collect(row state.Row) (waits *state.Row, err error) {
	if row.Deferred() || row.Queued() || row.BetweenAttempts() && row.Background && UnrecordedStarts(c.Dir, row) == 0 {
		return &row, nil
	}
	o, err := c.take(row)
	if err != nil {
		return nil, unlessAlive(err)
	}
	if deferred := o.finishOrRetry(); deferred {
		return &o.run.row.Row, nil
	}
	return nil, nil
}

func unlessAlive(err error) error {
	if errors.Is(err, ErrAlive) {
		return nil
	}
	return err
}

// ErrAlive says that a process looks after the run.
var ErrAlive = errors.New("the run is alive")

// An orphan is a run that this process has taken, because no process looked after it.
type orphan struct{ run *Run }

// take makes a run ours that has no owner, or a dead one. Its lock was dropped with its processes,
// or is held by a process that the command left behind. The error is ErrAlive if another process
// has the run.
func (c Caller) take(row state.Row) (*orphan, error) {
	ctx := context.Background()
	if row.Phase == state.Ended || row.Owner != 0 && c.DB.Owners().Alive(row.Owner) {
		return nil, ErrAlive
	}
	own, err := c.Self.Owned(ctx)
	if err == nil {
		err = own.Take(ctx, row)
	}
	if isStale(err) || errors.Is(err, state.ErrGone) {
		return nil, ErrAlive
	}
	if err != nil {
		return nil, err
	}
	row.Owner = own.ID
	if row.Phase == state.Waiting {
		row.Phase = state.Ready
	}
	r, err := c.restoreOrLose(own, row)
	if err != nil {
		return nil, err
	}
	r.adopt(nil)
	return &orphan{r}, nil
}

// restoreOrLose is restore that ends the run as lost if its task cannot be read.
func (c Caller) restoreOrLose(own state.Owned, row state.Row) (*Run, error) {
	r, err := c.restore(own, row)
	if err != nil {
		lost := state.Result{Outcome: outcome.Lost, Reason: err.Error(), Ended: clock.Now()}
		return nil, errors.Join(err, own.End(context.Background(), row.ID, state.End{Result: lost}))
	}
	return r, nil
}

// finish finishes the run. The code is the exit code of the command if a person has given it
// (`sched finish MUTEX CODE`); else nil.
func (o *orphan) finish(code *int) state.Row { return o.run.finish(o.result(code)) }

// A stage is how far a run had come when its process was gone.
type stage int

const (
	commandStarted  stage = iota // or it was about to be started
	inQueue                      // it waits for its mutex or a seat
	betweenAttempts              // it waits for its next attempt
	resultWritten                // its hooks are left to do
)

func stageOf(row state.Row) stage {
	switch {
	case row.Phase == state.Finishing:
		return resultWritten
	case row.Queued():
		return inQueue
	case row.BetweenAttempts():
		return betweenAttempts
	}
	return commandStarted
}

// result returns what the run has come to: the result that its supervisor wrote down, or else what
// it comes to now that nobody goes on with it. It ends what is left of the command.
func (o *orphan) result(code *int) state.Row {
	switch stageOf(o.run.row.Row) {
	case resultWritten:
		return o.run.row.result()
	case inQueue:
		return o.neverStarted()
	case betweenAttempts:
		return o.giveUp(code)
	}
	return o.run.endUnwatched(code)
}

// neverStarted returns the result of a run that ends while it waits for its turn. It has no exit
// code, whatever a person says.
func (o *orphan) neverStarted() state.Row {
	result := o.run.row.soFar()
	result.Ended = clock.Now()
	if stop := o.run.row.Stop; stop != nil {
		stoppedBy(&result, *stop)
	} else {
		stopped(&result, "finished by hand while it waited")
	}
	return result
}

// endUnwatched ends what is left of the command of a run whose supervisor was killed without a
// result, and returns the result of the run
// (docs/internals/decisions.md#an-unwatched-command-is-ended). The code is the exit code of the
// command if a person has given it (`sched finish MUTEX CODE`); else nil.
func (r *Run) endUnwatched(code *int) state.Row {
	result := r.row.soFar()
	result.ExitCode = nil
	result.Ended = clock.Now()
	group := r.row.Attempt.PID
	var left []int
	// If the system cannot tell which process groups of the command live on, the group that was
	// written down counts as one of them as long as a process has the run's output open.
	if process.FindsByRun || output.InUse(r.row.Output) {
		left = process.LiveGroups(r.row.ID, group, result.Attempt.Number)
	}
	if len(left) > 0 {
		family := process.Family{Groups: left, Run: result.ID, Attempt: result.Attempt.Number}
		result.Notes = append(result.Notes, leftBehind(family.End(context.Background(), r.task.KillAfter))...)
		result.Ended = clock.Now()
	}
	if r.task.Limits.NeedsCgroup() {
		process.SweepCgroups()
	}
	switch {
	case code != nil:
		result.ExitCode = code
		judge(&result, &r.task, *code)
	case len(left) > 0:
		result.Outcome, result.Reason = outcome.Lost, "nobody watched it any more, so what was left of its command was ended"
	case r.row.Phase != state.Running || group == 0:
		result.Outcome, result.Reason = outcome.Lost, "sched was killed before the command started, or right after"
	default:
		result.Outcome, result.Reason = outcome.Lost, "its processes vanished, and nobody saw how it ended"
	}
	return result
}
