package run

import (
	"context"
	"errors"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// This file is about runs that began to wait for what others have (`without_overlapping: wait`).
// Their supervisor waits.

// errStopAsked says that `sched stop` ended the wait; the result has it from the run's row.
var errStopAsked = errors.New("stopped while it waited")

// awaitTurn waits until the run has what it must hold. If the result has an outcome, the command
// will not start.
func (r *Run) awaitTurn(terminate context.Context) (result outcome.Record) {
	record := r.record
	if !record.Queued() {
		return result
	}
	r.begun()
	since := record.Wait.Since
	holder := NewHolder(record)
	holder.Since = since
	w := turn{
		need: NeedOf(&r.task), store: r.Mutexes(), shared: r.Store != nil, line: &queue{run: r}, holder: holder,
		waited: max(0, clock.Now().Sub(since)), atMost: record.Wait.Until.Sub(since),
		ended:   func() error { return r.stopError() },
		refused: r.refused,
		patient: r.task.RunAfterPause,
		took:    r.took,
	}
	waited, err := w.await(terminate)
	if err == nil {
		r.left = nil // nothing of it had started before
		return result
	}
	result = r.soFar()
	result.Waited, result.Ended = waited, clock.Now()
	var skip *skipError
	switch {
	case errors.As(err, &skip):
		result.Outcome, result.Reason = outcome.Skipped, skip.reason
	case !errors.Is(err, errStopAsked) || !r.stopAsked(&result):
		stopped(&result, "while it waited: %v", err)
	}
	return result
}

func (r *Run) stopError() error {
	if r.stopRequest() != nil {
		return errStopAsked
	}
	return nil
}

// refused returns why the run must not start now that its turn has come: a pause, or maintenance.
// If that cannot be found out, the run may start.
func (r *Run) refused() string {
	now := clock.Now()
	set, _ := pause.Source{Dir: r.Dir, Store: r.Store, ReadOnly: true}.Read()
	if pause, ok := set.Pauses.Of(r.task.Name, r.task.EvenWhenPaused, now); ok {
		return pause.Text(now, r.zone())
	}
	reason, _ := pause.Maintenance(r.task.Maintenance, r.task.Folder)
	return reason
}

// took writes down what the run has, and for how long it waited.
func (r *Run) took(held mutex.Holding, waited time.Duration) error {
	err := r.write(func(ctx context.Context) error { return r.own.Took(ctx, r.row.ID, held.Mutex, held.Seat, waited) },
		func(row *state.Row) {
			row.Locked, row.Seat, row.Wait = held.Mutex, held.Seat, state.Wait{Waited: waited}
		})
	if err == nil {
		r.lock = held.Lock
		r.record.Locked, r.record.Seat, r.record.Waited = held.Mutex, held.Seat, waited
	}
	return err
}
