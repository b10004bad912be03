package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sched/schedule/outcome"
)

// Owned changes rows that one owner is responsible for. Each method is one small transaction, or a
// part of a Plan. It names the phase and the owner that its row must have. So a process that is
// late, and whose row another process has taken, changes nothing; the error is *StaleError or
// ErrGone.
//
//	    ┌──────── Wait ───────┐
//	waiting ── Take ──► ready ┴─ Start ──► running ── Finish ──► finishing ── End ──► ended
//	planned ── Begin ────┘                                           ▲
//	   └────── Begin, with an outcome ───────────────────────────────┘
//	   ▲                  ▲  └──────────────┼──────── End ──────────────────────────────▲
//	   └── Defer ─────────┼─────────────────┤
//	                      └───── AwaitRetry ─────┘
type Owned struct {
	store store
	ID    int64 // of the owner
}

// Take makes the row ours. It must be as the caller has read it: the same phase, the same owner (0
// for none). A waiting row is ready afterwards; a row in another phase stays in it.
func (o Owned) Take(ctx context.Context, r Row) error {
	return o.update(ctx, r.ID, `UPDATE run SET owner = ?2, phase = CASE phase WHEN 'waiting' THEN 'ready' ELSE phase END
		WHERE id = ?1 AND phase = ?3 AND coalesce(owner, 0) = ?4`, string(r.Phase), r.Owner)
}

// HandOver gives our rows to another owner, all or none, in the same phase.
func (o Owned) HandOver(ctx context.Context, to int64, runs ...string) error {
	return o.store.write(ctx, func(q querier) error {
		for _, run := range runs {
			if err := o.change(ctx, q, run, `UPDATE run SET owner = ?3 WHERE id = ?1 AND owner = ?2`, to); err != nil {
				return err
			}
		}
		return nil
	})
}

// Wait lets a ready row wait without an owner. The first w.Since stays until the row starts, so
// that the row that has waited longest goes first.
func (o Owned) Wait(ctx context.Context, run string, w Wait, why string) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'waiting', owner = NULL, waits_for = ?3, not_before = ?4, until = ?5,
			waiting_since = coalesce(waiting_since, ?6), reason = ?7
		WHERE id = ?1 AND owner = ?2 AND phase IN ('planned', 'ready')`,
		string(w.For), packTime(w.NotBefore), packTime(w.Until), packTime(w.Since), why)
}

// Begin adds rows, all or none: rows that we are about to start, and rows with an outcome, which we
// are about to finish. Each takes the place of a row that waited or was planned under the same id.
// A second run of a slot becomes a row that the schedule did not ask for. A slot that was taken for
// missed has run, after all.
func (o Owned) Begin(ctx context.Context, rows ...Row) error {
	return o.store.write(ctx, func(q querier) error {
		rec, err := newRecorder(ctx, q, rows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.Phase, r.Owner = Ready, o.ID
			if r.Outcome != "" {
				r.Phase = Finishing
			}
			if err := rec.begin(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// WaitFor changes what our queued row waits for (Row.Queued).
func (o Owned) WaitFor(ctx context.Context, run string, what WaitsFor) error {
	return o.update(ctx, run, "UPDATE run SET waits_for = ?3 WHERE id = ?1 AND owner = ?2 AND phase = 'ready' AND attempt = 0", string(what))
}

// Acquired says that our queued row has the mutex and the seat that it needs, and how long it
// waited for them.
func (o Owned) Acquired(ctx context.Context, run string, locked bool, seat string, waited time.Duration) error {
	return o.update(ctx, run, `UPDATE run SET locked = ?3, seat = ?4, waited = ?5, waiting_since = NULL, until = NULL, waits_for = '', reason = ''
		WHERE id = ?1 AND owner = ?2 AND phase = 'ready'`, locked, seat, waited.Microseconds())
}

// Start says that an attempt is about to begin. It must be committed before the command is forked:
// a row that is still ready has never been started.
func (o Owned) Start(ctx context.Context, run string, a Attempt) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'running', attempt = ?3, attempt_started = ?4, boot = ?5, pid = NULL,
			started = coalesce(started, ?4), not_before = NULL, until = NULL, waits_for = '', reason = '', kind = '',
			waited = waited + coalesce(max(?4 - waiting_since, 0), 0), waiting_since = NULL
		WHERE id = ?1 AND owner = ?2 AND phase = 'ready'`, a.Number, packTime(a.At), a.Boot)
}

// Forked writes down the process of the attempt that Start announced.
func (o Owned) Forked(ctx context.Context, run string, a Attempt) error {
	return o.update(ctx, run, `UPDATE run SET pid = ?4
		WHERE id = ?1 AND owner = ?2 AND phase = 'running' AND attempt = ?3`, a.Number, a.PID)
}

// Ending says that we are about to end the command of the attempt, and why. A reader of the exit
// code then knows that the command did not end by itself.
func (o Owned) Ending(ctx context.Context, run string, attempt int, kind outcome.Kind, reason string) error {
	return o.update(ctx, run, "UPDATE run SET kind = ?4, reason = ?5 WHERE id = ?1 AND owner = ?2 AND phase = 'running' AND attempt = ?3",
		attempt, string(kind), reason)
}

// AwaitRetry says that an attempt has ended, and that we will start the next one, not before then.
// r is the result of the attempts so far.
func (o Owned) AwaitRetry(ctx context.Context, run string, r Result, then time.Time) error {
	return o.store.write(ctx, func(q querier) error {
		return o.change(ctx, q, run, `UPDATE run SET phase = 'ready', not_before = ?3, waits_for = 'time', reason = ?4, pid = NULL,
				exit_code = ?5, user_cpu = ?6, system_cpu = ?7, peak_memory = ?8, output = ?9, limits = ?10, kind = ''
			WHERE id = ?1 AND owner = ?2 AND phase = 'running'`, append([]any{packTime(then)}, r.soFar(q)...)...)
	})
}

// Defer leaves the next attempt to a tick, not before then: until that the row has no owner, no
// mutex and no seat. If a run was lost before its first attempt, that attempt counts as lost.
func (o Owned) Defer(ctx context.Context, run string, r Result, then time.Time, notes []string) error {
	return o.store.write(ctx, func(q querier) error {
		err := o.change(ctx, q, run, `UPDATE run SET phase = 'waiting', owner = NULL, attempt = max(attempt, 1), not_before = ?3, waits_for = 'time',
			reason = ?4, kind = '', pid = NULL, exit_code = ?5, user_cpu = ?6, system_cpu = ?7, peak_memory = ?8, output = ?9, limits = ?10,
			background = 1, locked = 0, seat = '', until = NULL, waiting_since = NULL
			WHERE id = ?1 AND owner = ?2 AND phase IN ('ready', 'running')`, append([]any{packTime(then)}, r.soFar(q)...)...)
		if err == nil {
			err = addNotes(ctx, q, run, notes)
		}
		if err == nil { // hooks that were fired before the first attempt are fired again
			_, err = q.ExecContext(ctx, "DELETE FROM hook WHERE run = ?1 AND EXISTS (SELECT 1 FROM run WHERE id = ?1 AND started IS NULL)", run)
		}
		return err
	})
}

func (r Result) soFar(q querier) []any {
	return []any{r.Reason, r.ExitCode, r.UserCPU.Microseconds(), r.SystemCPU.Microseconds(), r.PeakMemory, q.relative(r.Output), r.Limits}
}

// Finish says what became of the run. Its hooks are still to be fired.
func (o Owned) Finish(ctx context.Context, run string, r Result, notes []string) error {
	return o.store.write(ctx, func(q querier) error {
		err := o.change(ctx, q, run, `UPDATE run SET phase = 'finishing', `+setResult+`
			WHERE id = ?1 AND owner = ?2 AND phase IN ('ready', 'running')`, r.settled(q)...)
		if err == nil {
			err = addNotes(ctx, q, run, notes)
		}
		return err
	})
}

// setResult sets the values of Result.settled, from the third parameter on.
const setResult = `reason = ?3, exit_code = ?4, user_cpu = ?5, system_cpu = ?6, peak_memory = ?7, output = ?8, limits = ?9, outcome = ?10, kind = ?11, ended = ?12,
	waited = waited + coalesce(max(?12 - waiting_since, 0), 0), waiting_since = NULL, not_before = NULL, until = NULL, waits_for = ''`

func (r Result) settled(q querier) []any {
	return append(r.soFar(q), string(r.Outcome), string(r.Kind), packTime(r.Ended))
}

func addNotes(ctx context.Context, q querier, run string, notes []string) error {
	if len(notes) == 0 {
		return nil
	}
	var text sql.NullString
	err := q.QueryRowContext(ctx, "SELECT notes FROM run WHERE id = ?", run).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrGone
	}
	var all []string
	if err == nil {
		err = unpackJSON(text, &all)
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		if !slices.Contains(all, note) {
			all = append(all, note)
		}
	}
	packed, err := json.Marshal(all)
	if err == nil {
		_, err = q.ExecContext(ctx, "UPDATE run SET notes = ? WHERE id = ?", string(packed), run)
	}
	return err
}

// End ends a run that has nothing left to do: a run that is finishing, or a run that ran, was
// skipped, missed or lost and has no hooks to fire.
func (o Owned) End(ctx context.Context, run string, e End) error {
	triggered, err := packJSON(e.Triggered, len(e.Triggered) == 0)
	if err != nil {
		return err
	}
	return o.store.write(ctx, func(q querier) error {
		shared, err := beginSharing(ctx, q, e.Share)
		if err != nil {
			return err
		}
		err = o.change(ctx, q, run, `UPDATE run SET phase = 'ended', owner = NULL, seat = '', locked = 0, triggered = coalesce(?13, triggered), unpublished = ?14,
			unreported = ?15, `+setResult+` WHERE id = ?1 AND owner = ?2 AND phase IN ('ready', 'running', 'finishing')`,
			append(e.settled(q), triggered, shared && Row{Result: e.Result}.Ran(), e.Unreported)...)
		if err != nil {
			return err
		}
		if err := addNotes(ctx, q, run, e.Notes); err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, "DELETE FROM hook WHERE run = ?", run)
		return err
	})
}

// An End says how a run ended, and what follows from it.
type End struct {
	Result
	Notes      []string
	Triggered  []outcome.Triggered // the runs that its hooks asked for
	Share      bool                // from now on other servers are told of runs
	Unreported bool                // the next tick is to print it
}

// Restore adds our row as it is to a database that has lost it (ErrGone). It does nothing when the
// row is there. A tick may have found meanwhile that the slot left no trace; that row gives way.
func (o Owned) Restore(ctx context.Context, r Row) error {
	return o.store.write(ctx, func(q querier) error {
		r.Owner = o.ID
		if _, err := q.ExecContext(ctx, "INSERT OR IGNORE INTO owner (id, kind, pid, since) VALUES (?1, 'restored', 0, ?1)", o.ID); err != nil {
			return err
		}
		rec, err := newRecorder(ctx, q, []Row{r})
		if err != nil {
			return err
		}
		return rec.record(r)
	})
}

// Note adds notes to a row that is ours.
func (o Owned) Note(ctx context.Context, run string, notes ...string) error {
	return o.store.write(ctx, func(q querier) error {
		if err := o.change(ctx, q, run, "UPDATE run SET owner = owner WHERE id = ?1 AND owner = ?2"); err != nil {
			return err
		}
		return addNotes(ctx, q, run, notes)
	})
}

// Hold writes down what the run holds: its mutex, and a seat of its pool.
func (o Owned) Hold(ctx context.Context, run string, locked bool, seat string) error {
	return o.update(ctx, run, "UPDATE run SET locked = ?3, seat = ?4 WHERE id = ?1 AND owner = ?2", locked, seat)
}

// Rows returns our rows, with their snapshots, the oldest first: only rows that are ready, or all
// rows that have begun.
func (o Owned) Rows(ctx context.Context, ready bool) (rows []Row, err error) {
	phases := "'ready', 'running', 'finishing'"
	if ready {
		phases = "'ready'"
	}
	return Runs{o.store}.list(ctx, "phase IN ("+phases+") AND phase <> 'ended' AND owner = ? ORDER BY slot, id", o.ID)
}

// Stop returns who asked to stop our row; nil when nobody did.
func (o Owned) Stop(ctx context.Context, run string) (stop *Stop, err error) {
	err = o.store.read(ctx, func(q querier) error {
		var text sql.NullString
		err := q.QueryRowContext(ctx, "SELECT stop FROM run WHERE id = ? AND stop IS NOT NULL", run).Scan(&text)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = unpackJSON(text, &stop)
		}
		return err
	})
	return stop, err
}

// update makes one change in a transaction of its own. The first parameter of its text is the run,
// the second the owner.
func (o Owned) update(ctx context.Context, run, text string, args ...any) error {
	return o.store.write(ctx, func(q querier) error { return o.change(ctx, q, run, text, args...) })
}

// change runs an UPDATE of one row. If it finds no such row, its error says what has become of the
// row.
func (o Owned) change(ctx context.Context, q querier, run, text string, args ...any) error {
	n, err := changed(ctx, q, text, append([]any{run, o.ID}, args...)...)
	if err == nil && n == 0 {
		err = staleError(ctx, q, run)
	}
	return err
}

// staleError says why a row could not be changed.
func staleError(ctx context.Context, q querier, run string) error {
	e := &StaleError{Run: run}
	err := q.QueryRowContext(ctx, "SELECT phase, coalesce(owner, 0) FROM run WHERE id = ?", run).Scan(&e.Phase, &e.Owner)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	return e
}
