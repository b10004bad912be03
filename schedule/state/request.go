package state

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sched/schedule/outcome"
)

// This file has what people ask for. It changes rows that other processes may be responsible for.
// So it changes the phase only of rows that wait.

// Request adds runs that somebody asked for: all of them, or after an error none. A run waits for
// the next tick, unless its row has an owner already. Request returns false when all of the runs
// are there: to ask for a run twice with one id is to ask once.
func (r Runs) Request(ctx context.Context, rows ...Row) (added bool, err error) {
	waiting := slices.Clone(rows)
	for i := range waiting {
		waiting[i].Phase = cmp.Or(waiting[i].Phase, Waiting)
	}
	err = r.store.write(ctx, func(q querier) error {
		inserted, err := insert(ctx, q, waiting)
		added = len(inserted) > 0
		return err
	})
	return added, err
}

// An OverError says that a run has ended.
type OverError struct {
	Run     string
	Outcome outcome.Outcome
}

func (e *OverError) Error() string {
	return fmt.Sprintf("run %s has ended: it %s", e.Run, e.Outcome.Verb())
}

// AskStop asks the owner of a run to stop it (Owned.Stop). A run that waits has no owner: the
// caller may take it and end it, or the next tick does. The first request counts. The error is
// ErrGone for a run without a row, and *OverError for a run that has its outcome.
func (r Runs) AskStop(ctx context.Context, run string, stop Stop) error {
	text, err := json.Marshal(stop)
	if err != nil {
		return err
	}
	return r.store.write(ctx, func(q querier) error {
		found, err := rowsOf(ctx, q, selectRows+"WHERE id = ?", run)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return ErrGone
		case found[0].Outcome != "":
			return &OverError{run, found[0].Outcome}
		}
		_, err = q.ExecContext(ctx, "UPDATE run SET stop = coalesce(stop, ?) WHERE id = ?", string(text), run)
		return err
	})
}

// WaitOn changes what a row waits for, and why. It does nothing when the row does not wait any
// more.
func (r Runs) WaitOn(ctx context.Context, run string, w Wait, reason string) error {
	return execute(ctx, r.store, `UPDATE run SET waits_for = ?2, not_before = ?3, until = ?4,
			waiting_since = ?5, reason = ?6
		WHERE id = ?1 AND phase = 'waiting'`,
		run, string(w.For), packTime(w.NotBefore), packTime(w.Until), packTime(w.Since), reason)
}

// Settle gives a waiting row its outcome without an owner, as when its time is over or its task is
// gone. It reports false when the row does not wait any more.
func (r Runs) Settle(ctx context.Context, run string, result Result) (done bool, err error) {
	err = r.store.write(ctx, func(q querier) error {
		rows, err := wholeRows(ctx, q, selectRows+"WHERE id = ? AND phase = 'waiting'", run)
		if err != nil || len(rows) == 0 {
			return err
		}
		if _, err := q.ExecContext(ctx, "DELETE FROM run WHERE id = ?", run); err != nil {
			return err
		}
		rows[0].Phase, rows[0].Result, rows[0].Wait = Ended, result, Wait{Waited: rows[0].Wait.Waited}
		added, err := insert(ctx, q, rows) // anew: the newest rows are found by when they were added (Added)
		done = len(added) > 0
		return err
	})
	return done, err
}
