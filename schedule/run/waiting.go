package run

import (
	"context"
	"errors"
	"time"

	"sched/mutex/pool"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/turn"
)

// This file is about runs that began to wait for what others have (`without_overlapping: wait`). Their supervisor waits, in package turn.

// errStopAsked says that `sched stop` ended the wait; the result has it from the run's row.
var errStopAsked = errors.New("stopped while it waited")

// awaitTurn waits until the run has what it must hold. A result with an outcome is that of a run whose command will not start.
func (r *Run) awaitTurn(terminate context.Context) (result outcome.Record) {
	record := r.record
	if !record.Queued() {
		return result
	}
	r.begun()
	since := record.Wait.Since
	holder := NewHolder(record)
	holder.Since = since
	w := turn.Wait{
		Need: NeedOf(&r.task), Store: r.Mutexes(), Shared: r.Store != nil, Queue: &queue{run: r}, Holder: holder,
		Waited: max(0, clock.Now().Sub(since)), AtMost: record.Wait.Until.Sub(since),
		Ended:   func() error { return r.stopError() },
		Refused: r.refused,
		Patient: r.task.RunAfterPause,
		Took:    r.took,
	}
	waited, err := w.For(terminate)
	if err == nil {
		r.left = nil // nothing of it had started before
		return result
	}
	result = r.soFar()
	result.Waited, result.Ended = waited, clock.Now()
	var skip *turn.SkipError
	switch {
	case errors.As(err, &skip):
		result.Outcome, result.Reason = outcome.Skipped, skip.Reason
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

// refused returns why the run must not start now that its turn has come: a pause, or maintenance. What cannot be found out is no reason.
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
func (r *Run) took(held pool.Holding, waited time.Duration) error {
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
