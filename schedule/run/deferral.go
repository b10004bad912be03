package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// This file is about deferred retries: when the next attempt of a background run is a long time
// away, its row waits without a process and with its mutex free, until a tick goes on with it. So a
// reboot does not lose it, and nothing waits in memory. `retry: {lost: true}` defers a retry, too:
// the attempt that a crash interrupted counts, and the next one is due at once.

// deferAfter is the longest wait between two attempts for which a process waits.
const deferAfter = time.Minute

// deferRetry leaves the next attempt to a later tick if it is a long time away. It reports whether
// that was written down: then the run waits after this process has ended.
func (s *supervision) deferRetry(wait time.Duration) bool {
	if !s.row.Background || wait <= deferAfter || s.run.DB.InMemory() {
		return false
	}
	notes := slices.Concat(s.result.Notes, s.lease.Noted())
	return s.row.apply(state.Defer(s.result.Result, clock.Now().Add(wait), notes)) == nil
}

// leaveDeferred ends the part of this process in a run whose next attempt was deferred. Its mutex
// is free.
func (r *Run) leaveDeferred() {
	r.releaseLock()
	r.Close()
}

// releaseLock releases the lock of a run that has one.
func (r *Run) releaseLock() {
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
}

// finishOrRetry finishes a run whose owner is dead. If the run has another attempt to come, it
// leaves that attempt to a later tick instead, and deferred is true.
func (o *orphan) finishOrRetry() (deferred bool) {
	r, stage := o.run, stageOf(o.run.row.Row)
	if stage == betweenAttempts && r.deferNext() {
		r.releaseLock()
		return true
	}
	result := o.settle(nil)
	if stage == commandStarted && r.deferAfterLost(result) {
		r.releaseLock()
		return true
	}
	r.finish(result)
	return false
}

// deferNext leaves the attempt for which a run waits to a later tick, unless somebody asked to stop
// the run: no process waits for the attempt any more, also not in the foreground. It reports
// whether it did.
func (r *Run) deferNext() bool {
	if r.row.Stop != nil {
		return false
	}
	soFar := r.row.soFar()
	soFar.Reason = r.row.Reason
	return r.row.apply(state.Defer(soFar.Result, r.row.Wait.NotBefore, soFar.Notes)) == nil
}

// deferAfterLost leaves the attempt after a lost one to the next tick, if the task wants that and
// has an attempt left, and nobody asked to stop the run. It reports whether it did.
func (r *Run) deferAfterLost(result state.Row) bool {
	attempt := max(1, r.row.Attempt.Number)
	overlaps := r.lock != nil && result.Survivors != ""
	if r.row.Stop != nil || !r.task.Retry.Lost || attempt >= r.task.Retry.Attempts || overlaps {
		return false
	}
	result.Attempt.Number = attempt
	notes := append(slices.Clip(result.Notes), fmt.Sprintf("attempt %d was lost: %s", attempt, result.Reason))
	return r.row.apply(state.Defer(result.Result, clock.Now().Truncate(time.Minute), notes)) == nil
}

// resultWithoutRetry returns the result of a run whose next attempt will not start. It is the
// result of the attempt before, unless the run was stopped, or a code is given (sched finish MUTEX
// CODE).
func (o *orphan) resultWithoutRetry(code *int) state.Row {
	r := o.run
	result := r.row.soFar()
	result.Ended = clock.Now()
	result.Outcome, result.Reason = outcome.Failed, r.row.Reason
	switch {
	case r.row.Stop != nil:
		setStoppedBy(&result, *r.row.Stop)
		return result
	case code != nil:
		result.ExitCode, result.Reason = code, ""
		judge(&result, &r.task, *code)
	case result.ExitCode == nil:
		result.Outcome = outcome.Lost
	}
	byHand := fmt.Sprintf("finished by hand before attempt %d", r.row.Attempt.Number+1)
	result.Reason = joinReasons(result.Reason, byHand)
	return result
}

// GiveUp ends a run that waits for its next attempt without that attempt. It does nothing if
// another process has the run.
func (c Caller) GiveUp(row state.Row) error {
	o, err := c.take(row)
	if err != nil {
		return ignoreAlive(err)
	}
	o.finish(nil)
	return nil
}

// MaxHeld is how long ticks try again to begin a request, or a deferred retry, whose mutex is held.
const MaxHeld = 24 * time.Hour

// Resume returns a run with its mutex for its next attempt, or as it is if it waits for its turn.
// The run is nil without an error
//
//   - if another process has the run,
//   - if a newer run of the task replaces it: the run has ended;
//   - if its mutex is held: a later tick tries again,
//   - or if its mutex was held for MaxHeld: the run has ended.
func (c Caller) Resume(row state.Row) (*Run, error) {
	o, err := c.take(row)
	if err != nil {
		return nil, ignoreAlive(err)
	}
	if !row.Queued() {
		if newer := o.replacement(); newer != "" {
			stop := replacedBy(newer)
			o.run.row.Stop = &stop
			o.finish(nil)
			return nil, nil
		}
		if reason := o.reacquire(); reason != "" {
			o.postpone(reason)
			return nil, nil
		}
	}
	return o.run, nil
}

// replacement returns the id of a run that has begun later and replaces this one, which waits for
// its next attempt; "" for none. The attempt would end the other run, or be ended by the next one.
func (o *orphan) replacement() (newer string) {
	ctx, r := context.Background(), o.run
	if !r.task.Replace {
		return ""
	}
	if row, found, _ := r.DB.Runs().Following(ctx, r.row.Task, r.row.ID); found {
		return row.ID
	}
	live, _, _ := r.DB.LiveAndLost(ctx)
	for _, row := range live {
		if row.Task == r.row.Task && row.ID > r.row.ID && !row.Test && !row.Waits() {
			return row.ID
		}
	}
	return ""
}

// Leave leaves a run from Resume to a later tick.
func (r *Run) Leave() {
	if r.row.Queued() { // its owner ends with this tick
		r.Close()
		return
	}
	r.row.apply(state.GiveBack(r.row.Wait, r.row.Reason))
	r.leaveDeferred()
}

// reacquire takes the mutex and a seat, which were free while the run was deferred
// (docs/internals/decisions.md#the-mutex-is-free-during-a-deferred-retry). The reason says why that
// is impossible. It is empty if the run has what it needs.
func (o *orphan) reacquire() (reason string) {
	r := o.run
	for _, lock := range inherited(r.lock) { // of the attempts before
		lock.Close()
	}
	r.lock = nil
	need := NeedOf(&r.task)
	if need.Mutex == "" && need.Pool == "" {
		return ""
	}
	if err := r.Behind(need); errors.As(err, new(*BehindError)) {
		return cannotHoldReason(&r.task, err)
	}
	held, err := need.Acquire(context.Background(), r.Mutexes(), NewHolder(r.row.Row))
	if err != nil {
		return cannotHoldReason(&r.task, err)
	}
	r.lock = held.Lock
	r.Leases.Keep(held.Lock)
	if err := r.row.apply(state.Hold(held.Mutex, held.Seat)); err != nil {
		held.Lock.Release(context.Background())
		return fmt.Sprintf("what it holds cannot be written down: %v", err)
	}
	return ""
}

// postpone leaves a run whose mutex is held to a later tick. When it has been held for MaxHeld,
// postpone ends the run instead.
func (o *orphan) postpone(reason string) {
	r := o.run
	wait, now := r.row.Wait, clock.Now()
	if wait.Since.IsZero() {
		wait.Since = now.Truncate(time.Minute)
		r.row.note(fmt.Sprintf("attempt %d had to wait: %s", r.row.Attempt.Number+1, reason))
	} else if now.Sub(wait.Since) >= MaxHeld {
		result := o.resultWithoutRetry(nil)
		result.Reason = fmt.Sprintf("%s; attempt %d could not start for %.0f hours: %s",
			r.row.Reason, r.row.Attempt.Number+1, MaxHeld.Hours(), reason)
		r.finish(result)
		return
	}
	wait.For = state.ForMutex
	r.row.apply(state.GiveBack(wait, r.row.Reason))
}
