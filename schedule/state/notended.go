package state

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/outcome"
)

// This file has the rows that have not ended, whoever is responsible for them: what is going on,
// and what people ask for. Other processes may be responsible for a row. So it changes the phase
// only of rows that wait.
//
// Methods of DB, and not of Runs, look which owners live.

// BegunOrWaiting returns the rows that wait, are ready, run or finish, but not the rows that are
// planned, with their snapshots. It does not ask whether their owners live: see LiveAndLost. The
// oldest slot comes first.
func (r Runs) BegunOrWaiting(ctx context.Context) ([]Row, error) {
	return r.listNotEnded(ctx, "phase <> 'planned' ORDER BY slot, id")
}

// Waiting returns the rows that wait, with their snapshots. The row that has waited longest comes
// first.
func (r Runs) Waiting(ctx context.Context) ([]Row, error) {
	return r.listNotEnded(ctx, "phase = 'waiting'"+longestWaitingFirst)
}

// longestWaitingFirst orders rows that wait: by Wait.Since if it is set, else by when the row is
// due.
const longestWaitingFirst = ` ORDER BY coalesce(waiting_since, not_before, slot), slot, id`

// NewestQueued returns the newest run of a task that waits for its turn (Row.Queued); false for
// none.
func (r Runs) NewestQueued(ctx context.Context, task string) (newest Row, ok bool, err error) {
	rows, err := r.listNotEnded(ctx, `phase = 'ready' AND attempt = 0
		AND waits_for IN ('mutex', 'seat', 'pause') AND task = ? ORDER BY slot DESC, id DESC LIMIT 1`, task)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

// LiveAndLost returns the rows of BegunOrWaiting in two parts, each with the oldest id first. A
// live row waits, or a living process looks after it. The process of a lost row is dead, and the
// next tick will finish the row.
func (db *DB) LiveAndLost(ctx context.Context) (live, lost []Row, err error) {
	rows, err := db.Runs().listNotEnded(ctx, "phase <> 'planned' ORDER BY id")
	if err != nil {
		return nil, nil, err
	}
	alive := db.Owners().aliveOnce()
	for _, r := range rows {
		if r.Owner == 0 || alive(r.Owner) || r.Waits() {
			live = append(live, r)
		} else {
			lost = append(lost, r)
		}
	}
	return live, lost, nil
}

// LiveQueue returns the rows that wait for a mutex or a seat (Row.Queued) and that a living process
// looks after, with their snapshots. The row that has waited longest comes first.
func (db *DB) LiveQueue(ctx context.Context) ([]Row, error) {
	rows, err := db.Runs().listNotEnded(ctx, "phase = 'ready' AND attempt = 0 AND waits_for IN ('mutex', 'seat')")
	if err != nil {
		return nil, err
	}
	alive := db.Owners().aliveOnce()
	rows = slices.DeleteFunc(rows, func(r Row) bool { return !alive(r.Owner) })
	slices.SortFunc(rows, InOrder)
	return rows, nil
}

// InOrder orders rows that wait for a mutex or a seat: by the time at which each began to wait,
// then by id.
func InOrder(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Wait.Since.UnixMicro(), b.Wait.Since.UnixMicro()), strings.Compare(a.ID, b.ID))
}

// listNotEnded reads the index of rows that have not ended.
func (r Runs) listNotEnded(ctx context.Context, condition string, args ...any) ([]Row, error) {
	return ask(ctx, r.store, func(q querier) ([]Row, error) {
		return wholeRows(ctx, q, selectRows+"INDEXED BY run_live WHERE "+notEnded+" AND "+condition, args...)
	})
}

// anyNotBegun reports whether a row waits or is planned.
func anyNotBegun(ctx context.Context, q querier) (found bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM run INDEXED BY run_live
		WHERE phase IN ('waiting', 'planned') AND `+notEnded+`)`).Scan(&found)
	return found, err
}

// HasWork reports whether the database has work for a later tick: a run that has not ended, a run
// that nobody has reported or published, or a message.
func (r Runs) HasWork(ctx context.Context) (bool, error) {
	return askOne[bool](ctx, r.store, `SELECT EXISTS (SELECT 1 FROM run INDEXED BY run_live WHERE `+notEnded+`)
		OR EXISTS (SELECT 1 FROM run INDEXED BY run_unreported WHERE unreported = 1)
		OR EXISTS (SELECT 1 FROM run INDEXED BY run_unpublished WHERE unpublished = 1)
		OR EXISTS (SELECT 1 FROM message WHERE status <> 'sent')`)
}

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
