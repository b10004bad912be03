package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sched/schedule/cgroup"
	"sched/schedule/clock"
	"sched/schedule/judge/evidence"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/run/holding"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// An orphan is a run that this process has taken, because no process looked after it.
type orphan struct{ run *Run }

// take makes a run ours that has no owner, or a dead one. Its lock was dropped with its processes,
// or is held by a process that the command left behind. The error is *AliveError if another process
// has the run.
func take(p holding.Process, row state.Row) (*orphan, error) {
	ctx := context.Background()
	if row.Phase == state.Ended || row.Owner != 0 && p.DB.Owners().Alive(row.Owner) {
		return nil, &AliveError{row.ID}
	}
	if copied, err := p.DB.Owners().InCopy(ctx, row.Owner); copied || err != nil { // the next tick settles it
		return nil, cmp.Or[error](err, &AliveError{row.ID})
	}
	own, err := p.Self.Owned(ctx)
	if err == nil {
		err = own.Apply(ctx, state.Take(), &row)
	}
	if state.IsStale(err) || errors.Is(err, state.ErrGone) {
		return nil, &AliveError{row.ID}
	}
	if err != nil {
		return nil, err
	}
	r, err := runOrLose(p, own, row)
	if err != nil {
		return nil, err
	}
	r.TakeLock(nil)
	r.Own.Found = true
	return &orphan{r}, nil
}

// An AliveError says that a process looks after the run, so nobody else may finish it.
type AliveError struct {
	Run string
}

// runOrLose is Of that ends the run as lost if its task cannot be read.
func runOrLose(p holding.Process, own state.Owned, row state.Row) (*Run, error) {
	r, err := Of(p, own, row)
	if err != nil {
		lost := state.Result{Outcome: outcome.Lost, Reason: err.Error(), Ended: clock.Now()}
		return nil, errors.Join(err, own.Apply(context.Background(), state.End(state.Ending{Result: lost}), &row))
	}
	return r, nil
}

func (e *AliveError) Error() string { return "run " + e.Run + " is still running" }

// result returns the result of the run if it ends now. If the supervisor wrote a result down, it is
// that result. Otherwise result ends what is left of the command, and decides on the result.
func (o *orphan) result(code *int) state.Row {
	switch row := o.run.Own.Row; Next(row, Facts{}) {
	case FireHooks:
		return o.run.Own.WithoutSnapshot()
	case Lose:
		return EndUnwatched(o.run, code)
	default:
		if row.Queued() {
			return o.resultUnstarted()
		}
		return o.resultWithoutRetry(code)
	}
}

// EndUnwatched ends what is left of the command of a run whose supervisor was killed without a
// result, and returns the result of the run
// (docs/internals/decisions.md#an-unwatched-command-is-ended). The code is the exit code of the
// command if a person has given it (`sched finish MUTEX CODE`); else nil.
func EndUnwatched(r *Run, code *int) state.Row {
	result := r.Own.SoFar()
	result.ExitCode = nil
	result.Ended = clock.Now()
	group := r.Own.Attempt.PID
	var alive []int // process groups of the command
	// If the system cannot tell which process groups of the command live on, the group that was
	// written down counts as one of them as long as a process has the run's output open.
	if process.FindsByRun || output.InUse(r.Own.Output) {
		alive = holding.LiveGroups(r.Own.Row)
	}
	if len(alive) > 0 {
		family := process.Family{
			Groups: alive, Run: result.ID, Attempt: result.Attempt.Number, User: r.Task.As.User}
		survivors, _ := process.End(context.Background(), family, r.Task.KillAfter)
		ownrow.LeaveBehind(&result, survivors)
		result.Ended = clock.Now()
	}
	if r.Own.Phase == state.Running {
		r.Report(&result, code != nil)
	}
	if r.Task.Limits.NeedsCgroup() {
		cgroup.Sweep()
	}
	result.Outcome = outcome.Lost
	switch {
	case code != nil:
		result.ExitCode = code
		r.Judge(&result, *code, evidence.Unknown)
	case len(alive) > 0:
		result.Reason = "nobody watched it any more, so what was left of its command was ended"
	case r.Own.Phase != state.Running || group == 0:
		result.Reason = "nobody knows whether its command started: the process that was to start it is gone"
	default:
		result.Reason = "its processes vanished, and nobody saw how it ended"
	}
	return result
}

// resultUnstarted returns the result of a run that ends while it waits for its turn. It has no exit
// code, whatever a person says.
func (o *orphan) resultUnstarted() state.Row {
	result := o.run.Own.SoFar()
	result.Ended = clock.Now()
	if stop := o.run.Own.Stop; stop != nil {
		ownrow.SetStoppedBy(&result, *stop)
	} else {
		ownrow.SetStopped(&result, "finished by hand while it waited")
	}
	return result
}

// resultWithoutRetry returns the result of a run whose next attempt will not start. It is the
// result of the attempt before, unless the run was stopped, or a code is given (sched finish MUTEX
// CODE).
func (o *orphan) resultWithoutRetry(code *int) state.Row {
	r := o.run
	result := r.Own.SoFar()
	result.Ended = clock.Now()
	result.Outcome, result.Reason = outcome.Failed, r.Own.Reason
	switch {
	case r.Own.Stop != nil:
		ownrow.SetStoppedBy(&result, *r.Own.Stop)
		return result
	case code != nil:
		result.ExitCode, result.Reason = code, ""
		r.Judge(&result, *code, evidence.Unknown)
	case result.ExitCode == nil:
		result.Outcome = outcome.Lost
	}
	byHand := fmt.Sprintf("finished by hand before attempt %d", r.Own.Attempt.Number+1)
	result.Reason = joinReasons(result.Reason, byHand)
	return result
}

// replacement returns the id of a run that has begun later and replaces this one, which waits for
// its next attempt; "" for none. The attempt would end the other run, or be ended by the next one.
func (o *orphan) replacement() (newer string) {
	ctx, r := context.Background(), o.run
	if !r.Task.Replace {
		return ""
	}
	if row, found, _ := r.DB.Runs().Following(ctx, r.Own.Task, r.Own.ID); found {
		return row.ID
	}
	live, _, _ := r.DB.LiveAndLost(ctx)
	for _, row := range live {
		if row.Task == r.Own.Task && row.ID > r.Own.ID && !row.Test && !row.Waits() {
			return row.ID
		}
	}
	return ""
}

// acquire takes the mutex and a seat, which were free while the run was deferred
// (docs/internals/decisions.md#the-mutex-is-free-during-a-deferred-retry). The reason says why that
// is impossible. It is empty if the run has what it needs.
func (o *orphan) acquire() (reason string) {
	r := o.run
	for _, lock := range r.LockFiles() { // of the attempts before
		lock.Close()
	}
	r.Lock = nil
	need := holding.NeedOf(&r.Task)
	if need.Mutex == "" && need.Pool == "" {
		return ""
	}
	if err := r.Behind(need); errors.As(err, new(*holding.BehindError)) {
		return holding.CannotHoldReason(&r.Task, err)
	}
	held, err := need.Acquire(context.Background(), r.Mutexes(), holding.NewHolder(r.Own.Row))
	if err != nil {
		return holding.CannotHoldReason(&r.Task, err)
	}
	r.Lock = held.Lock
	r.Leases.Keep(held.Lock)
	if err := r.Own.Apply(state.Hold(held.Mutex, held.Seat)); err != nil {
		held.Lock.Release(context.Background())
		return fmt.Sprintf("what it holds cannot be written down: %v", err)
	}
	return ""
}

// giveBackBlocked leaves a run whose mutex is held to a later tick. When it has been held for
// MaxHeld, giveBackBlocked ends the run instead.
func (o *orphan) giveBackBlocked(reason string) {
	r := o.run
	wait, now := r.Own.Wait, clock.Now()
	if wait.Since.IsZero() {
		wait.Since = now.Truncate(time.Minute)
		r.Own.Note(fmt.Sprintf("attempt %d had to wait: %s", r.Own.Attempt.Number+1, reason))
	} else if now.Sub(wait.Since) >= MaxHeld {
		result := o.resultWithoutRetry(nil)
		result.Reason = fmt.Sprintf("%s; attempt %d could not start for %.0f hours: %s",
			r.Own.Reason, r.Own.Attempt.Number+1, MaxHeld.Hours(), reason)
		Finish(r, result)
		return
	}
	wait.For = state.ForMutex
	r.Own.Apply(state.GiveBack(wait, r.Own.Reason))
}

// MaxHeld is how long ticks try again to begin a request, or a deferred retry, whose mutex is held.
const MaxHeld = 24 * time.Hour

// ignoreAlive returns the error of take, but nil for an *AliveError.
func ignoreAlive(err error) error {
	if errors.As(err, new(*AliveError)) {
		return nil
	}
	return err
}

// ErrNothing says that no run of the mutex was ever recorded.
var ErrNothing = errors.New("nothing was recorded")

// giveBack leaves the attempt for which a run waits to a later tick. It reports whether it did.
func (o *orphan) giveBack() bool {
	row := &o.run.Own
	soFar := row.SoFar()
	soFar.Reason = row.Reason
	return row.Apply(state.Defer(soFar.Result, row.Wait.NotBefore, soFar.Notes)) == nil
}

// DeferAfterLost leaves the attempt after a lost one to the next tick, if the task wants that and
// has an attempt left, and nobody asked to stop the run. It reports whether it did.
func DeferAfterLost(r *Run, result *state.Row) bool {
	attempt := max(1, r.Own.Attempt.Number)
	overlaps := r.Lock != nil && result.Survivors != ""
	if r.Own.Stop != nil || !r.Task.Retry.Lost || attempt >= r.Task.Retry.Attempts || overlaps {
		return false
	}
	result.Attempt.Number = attempt
	notes := append(slices.Clip(result.Notes), fmt.Sprintf("attempt %d was lost: %s", attempt, result.Reason))
	return r.Own.Apply(state.Defer(result.Result, clock.Now().Truncate(time.Minute), notes)) == nil
}
