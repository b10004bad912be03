package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// This file is about `retry: {lost: true}`: what a crash interrupted counts as an attempt, and the next one is a deferred retry that is
// due at once. So a tick goes on with it as with any other, with the mutex taken anew.

var errNoAttempt = errors.New("there is no attempt left")

// concludeUnlessLost is conclude for a run without an end. Lost reports that the run is to be tried again instead: then it is at rest, and
// state says so.
func (r *Run) concludeUnlessLost(state *runfile.State) (record outcome.Record, lost bool) {
	if state.Result != nil || !r.mayRetryLost(*state) {
		return r.conclude(*state, nil), false
	}
	result := r.settle(*state, nil)
	deferral, err := r.deferLost(*state, result)
	if err != nil {
		return r.finish(*state, result), false
	}
	state.Deferral, state.Attempt = &deferral, nil
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
	return record, true
}

// mayRetryLost reports whether the task wants a lost run to be tried again, and has an attempt left, and nobody asked to stop the run.
func (r *Run) mayRetryLost(state runfile.State) bool {
	return state.Stop == nil && r.task.Retry.Lost && lostAttempt(state) < r.task.Retry.Attempts
}

// lostAttempt is the number of the attempt that was lost; 1 where sched was killed before the first.
func lostAttempt(state runfile.State) int {
	if state.Attempt == nil {
		return 1
	}
	return max(1, state.Attempt.Number)
}

// deferLost writes down that the attempt after a lost one is left to the next tick.
func (r *Run) deferLost(state runfile.State, result outcome.Record) (deferral runfile.Deferral, err error) {
	if !r.mayRetryLost(state) {
		return deferral, errNoAttempt
	}
	deferral = r.deferralOf(state, result)
	return deferral, errors.Join(r.file.Append(runfile.Event{Deferral: &deferral}), r.file.Sync())
}

// deferralOf is the deferral of the attempt after a lost one.
func (r *Run) deferralOf(state runfile.State, result outcome.Record) runfile.Deferral {
	n := lostAttempt(state)
	result.Attempts = n
	result.Notes = append(result.Notes[:len(result.Notes):len(result.Notes)], fmt.Sprintf("attempt %d was lost: %s", n, result.Reason))
	return runfile.Deferral{
		Attempt: n + 1, Until: clock.Now().Truncate(time.Minute).UTC(), Record: result,
		Before: state.Attempt == nil || state.Deferral != nil && state.Deferral.Before && state.Attempt.PID == 0,
	}
}
