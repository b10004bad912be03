package run

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// This file finishes runs that no process looks after: lost runs, and runs that wait. Ticks collect
// them, and people finish them by hand with `sched finish`.

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
func (c Caller) Collect(row state.Row) (unfinished *state.Row, err error) {
	if row.Deferred() || row.Queued() || row.BetweenAttempts() && row.Background && UnrecordedStarts(c.Dir, row) == 0 {
		return &row, nil
	}
	o, err := c.take(row)
	if err != nil {
		return nil, ignoreAlive(err)
	}
	if deferred := o.finishOrRetry(); deferred {
		return &o.run.row.Row, nil
	}
	return nil, nil
}

// An AliveError says that a process looks after the run, so nobody else may finish it.
type AliveError struct {
	Run string
}

func (e *AliveError) Error() string { return "run " + e.Run + " is still running" }

// ignoreAlive returns the error of take, but nil for an *AliveError.
func ignoreAlive(err error) error {
	if errors.As(err, new(*AliveError)) {
		return nil
	}
	return err
}

// An orphan is a run that this process has taken, because no process looked after it.
type orphan struct{ run *Run }

// take makes a run ours that has no owner, or a dead one. Its lock was dropped with its processes,
// or is held by a process that the command left behind. The error is *AliveError if another process
// has the run.
func (c Caller) take(row state.Row) (*orphan, error) {
	ctx := context.Background()
	if row.Phase == state.Ended || row.Owner != 0 && c.DB.Owners().Alive(row.Owner) {
		return nil, &AliveError{row.ID}
	}
	if copied, err := c.DB.Owners().InCopy(ctx, row.Owner); copied || err != nil { // the next tick settles it
		return nil, cmp.Or[error](err, &AliveError{row.ID})
	}
	own, err := c.Self.Owned(ctx)
	if err == nil {
		err = own.Apply(ctx, state.Take(), &row)
	}
	if isStale(err) || errors.Is(err, state.ErrGone) {
		return nil, &AliveError{row.ID}
	}
	if err != nil {
		return nil, err
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
		return nil, errors.Join(err, own.Apply(context.Background(), state.End(state.Ending{Result: lost}), &row))
	}
	return r, nil
}

// finish finishes the run. The code is the exit code of the command if a person has given it
// (`sched finish MUTEX CODE`); else nil.
func (o *orphan) finish(code *int) state.Row { return o.run.finish(o.settle(code)) }

// finishAlone is finish in a process that has no Sender.
func (o *orphan) finishAlone(code *int) state.Row { return o.run.finishAlone(o.settle(code)) }

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

// settle returns the result of the run. If the supervisor wrote a result down, it is that result.
// Otherwise settle ends what is left of the command, and decides on the result.
func (o *orphan) settle(code *int) state.Row {
	switch stageOf(o.run.row.Row) {
	case resultWritten:
		return o.run.row.result()
	case inQueue:
		return o.resultUnstarted()
	case betweenAttempts:
		return o.resultWithoutRetry(code)
	}
	return o.run.endUnwatched(code)
}

// resultUnstarted returns the result of a run that ends while it waits for its turn. It has no exit
// code, whatever a person says.
func (o *orphan) resultUnstarted() state.Row {
	result := o.run.row.soFar()
	result.Ended = clock.Now()
	if stop := o.run.row.Stop; stop != nil {
		setStoppedBy(&result, *stop)
	} else {
		setStopped(&result, "finished by hand while it waited")
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
	var alive []int // process groups of the command
	// If the system cannot tell which process groups of the command live on, the group that was
	// written down counts as one of them as long as a process has the run's output open.
	if process.FindsByRun || output.InUse(r.row.Output) {
		alive = liveGroups(r.row.Row)
	}
	if len(alive) > 0 {
		family := process.Family{
			Groups: alive, Run: result.ID, Attempt: result.Attempt.Number, User: r.task.As.User}
		survivors, _ := process.End(context.Background(), family, r.task.KillAfter)
		leaveBehind(&result, survivors)
		result.Ended = clock.Now()
	}
	if r.task.Limits.NeedsCgroup() {
		process.SweepCgroups()
	}
	result.Outcome = outcome.Lost
	switch {
	case code != nil:
		result.ExitCode = code
		judge(&result, &r.task, *code)
	case len(alive) > 0:
		result.Reason = "nobody watched it any more, so what was left of its command was ended"
	case r.row.Phase != state.Running || group == 0:
		result.Reason = "nobody knows whether its command started: the process that was to start it is gone"
	default:
		result.Reason = "its processes vanished, and nobody saw how it ended"
	}
	return result
}

// ErrNothing says that no run of the mutex was ever recorded.
var ErrNothing = errors.New("nothing was recorded")

// FinishNewest settles what `sched finish MUTEX CODE` is about. It takes the first of these cases:
//
//  1. A run of the mutex is lost, or waits for a deferred retry: it finishes the newest such run.
//  2. A run of the mutex is running: the error is *AliveError.
//  3. A run of the mutex has ended: it returns the row of the last one.
//  4. A run of the mutex waits for its turn, and no process watches it: it ends the newest such run.
//  5. The error is ErrNothing.
func (c Caller) FinishNewest(mutex string, code *int) (state.Row, error) {
	ctx := context.Background()
	live, lost, err := c.DB.LiveAndLost(ctx)
	if err != nil {
		return state.Row{}, err
	}
	var alive *AliveError
	var queued string
	rows := append(live, lost...)
	slices.SortFunc(rows, func(a, b state.Row) int { return cmp.Compare(b.ID, a.ID) }) // the newest first
	for _, row := range rows {
		switch {
		case row.Mutex != mutex || row.Pending(): // none of these runs, or not begun
		case row.Owner != 0 && c.DB.Owners().Alive(row.Owner):
			alive = &AliveError{row.ID}
		case row.Queued(): // its command has not started: the code belongs to another run
			queued = cmp.Or(queued, row.ID)
		default:
			o, err := c.take(row)
			switch {
			case err == nil:
				return o.finishAlone(code), nil
			case !errors.As(err, &alive): // else another process takes it at this moment
				return state.Row{}, err
			}
		}
	}
	if alive != nil {
		return state.Row{}, alive
	}
	ended, err := c.DB.Runs().Find(ctx, state.Query{Mutex: mutex, Outcomes: outcome.Ran, Limit: 1})
	switch {
	case err != nil:
		return state.Row{}, err
	case len(ended) > 0:
		return ended[0], nil
	case queued != "":
		return c.FinishByHand(queued, nil)
	}
	return state.Row{}, ErrNothing
}

// FinishByHand finishes a run that no process looks after, even if it waits for a deferred retry.
// The code is the exit code of its command, or nil if the caller does not know it. The error is
// *AliveError if a process looks after the run. It is state.ErrNotFound if there is no such run, or
// if it has ended.
func (c Caller) FinishByHand(id string, code *int) (state.Row, error) {
	row, err := c.DB.Runs().Row(context.Background(), id)
	if err == nil && row.Phase == state.Ended {
		err = state.ErrNotFound
	}
	if err != nil {
		return state.Row{}, err
	}
	o, err := c.take(row)
	if err != nil {
		return state.Row{}, err
	}
	return o.finishAlone(code), nil
}

// FinishUnrecorded fires the hooks of a task that has no recorded run, as if a run had ended now
// with the code (nil: 0).
func (c Caller) FinishUnrecorded(row state.Row, task *schedule.Task, code *int) (state.Row, error) {
	if code == nil {
		code = new(int)
	}
	r, err := c.Begin(row, task, nil)
	if err != nil {
		return state.Row{}, err
	}
	result := r.endUnwatched(code)
	result.Reason = joinReasons(result.Reason, "finished by hand")
	return r.finishAlone(result), nil
}

// joinReasons joins two reasons. The first may be empty.
func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
