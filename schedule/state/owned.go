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
// part of a Plan. It names the phase and the owner that its row must have: a process that has been
// late, and whose row another one has taken, changes nothing. Then the error is *StaleError, or
// ErrGone.
//
//	    ┌──────── Wait ───────┐
//	waiting ── Take ──► ready ┴─ Start ──► running ── Finish ──► finishing ── End ──► ended
//	   ▲                  ▲  └──────────────┼──────── End ──────────────────────────────▲
//	   └── Defer ─────────┼─────────────────┤
//	                      └───── Again ─────┘
type Owned struct {
	store store
	owner int64
}

// ID returns the owner.
func (o Owned) ID() int64 { return o.owner }

// Take makes the row ours. It must be as the caller has read it: the same phase, the same owner (0
// for none). A waiting row is ready afterwards; a row in another phase stays in it.
func (o Owned) Take(ctx context.Context, r Row) error {
	return o.update(ctx, r.ID, `UPDATE run SET owner = ?2, phase = CASE phase WHEN 'waiting' THEN 'ready' ELSE phase END
		WHERE id = ?1 AND phase = ?3 AND coalesce(owner, 0) = ?4`, string(r.Phase), r.Owner)
}

// HandOver gives our row to another owner, in the same phase.
func (o Owned) HandOver(ctx context.Context, run string, to int64) error {
	return o.update(ctx, run, `UPDATE run SET owner = ?3 WHERE id = ?1 AND owner = ?2`, to)
}

// Wait has a ready row wait without an owner. Since says when it began to wait for what others
// have: that stays from the first time on, until the row starts, so that the row that has waited
// longest goes first.
func (o Owned) Wait(ctx context.Context, run string, w Wait, why string) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'waiting', owner = NULL, waits_for = ?3, not_before = ?4, until = ?5,
			waiting_since = coalesce(waiting_since, ?6), reason = ?7
		WHERE id = ?1 AND owner = ?2 AND phase = 'ready'`,
		string(w.For), packTime(w.NotBefore), packTime(w.Until), packTime(w.Since), why)
}

// Start says that an attempt is about to begin. It must be committed before the command is forked:
// a row that is still ready has never been started.
func (o Owned) Start(ctx context.Context, run string, a Attempt) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'running', attempt = ?3, attempt_started = ?4, boot = ?5, pid = NULL, pid_started = NULL,
			started = coalesce(started, ?4), not_before = NULL, until = NULL, waits_for = '', reason = '',
			waited = waited + coalesce(max(?4 - waiting_since, 0), 0), waiting_since = NULL
		WHERE id = ?1 AND owner = ?2 AND phase = 'ready'`, a.Number, packTime(a.At), a.Boot)
}

// Forked writes down the process of the attempt that Start announced.
func (o Owned) Forked(ctx context.Context, run string, a Attempt) error {
	return o.update(ctx, run, `UPDATE run SET pid = ?4, pid_started = ?5
		WHERE id = ?1 AND owner = ?2 AND phase = 'running' AND attempt = ?3`, a.Number, a.PID, orNull(a.PIDStarted))
}

// Again says that an attempt has ended and that we start the next one, not before then. r is what
// the attempts so far came to.
func (o Owned) Again(ctx context.Context, run string, r Result, then time.Time) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'ready', not_before = ?3, waits_for = 'time', reason = ?4, pid = NULL, pid_started = NULL,
			exit_code = ?5, user_cpu = ?6, system_cpu = ?7, peak_memory = ?8, output = ?9
		WHERE id = ?1 AND owner = ?2 AND phase = 'running'`, append([]any{packTime(then)}, r.soFar()...)...)
}

// Defer is Again for a next attempt that any tick starts: until then the row has no owner.
func (o Owned) Defer(ctx context.Context, run string, r Result, then time.Time) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'waiting', owner = NULL, not_before = ?3, waits_for = 'time', reason = ?4,
			pid = NULL, pid_started = NULL, exit_code = ?5, user_cpu = ?6, system_cpu = ?7, peak_memory = ?8, output = ?9, seat = ''
		WHERE id = ?1 AND owner = ?2 AND phase = 'running'`, append([]any{packTime(then)}, r.soFar()...)...)
}

func (r Result) soFar() []any {
	return []any{r.Reason, r.ExitCode, r.UserCPU.Microseconds(), r.SystemCPU.Microseconds(), r.PeakMemory, r.Output}
}

// Finish says what became of the run. Its hooks are left.
func (o Owned) Finish(ctx context.Context, run string, r Result) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'finishing', `+setResult+`
		WHERE id = ?1 AND owner = ?2 AND phase IN ('ready', 'running')`, r.settled()...)
}

// setResult sets the values of Result.settled, from the third parameter on.
const setResult = `reason = ?3, exit_code = ?4, user_cpu = ?5, system_cpu = ?6, peak_memory = ?7, output = ?8, outcome = ?9, kind = ?10, ended = ?11,
	waited = waited + coalesce(max(?11 - waiting_since, 0), 0), waiting_since = NULL, not_before = NULL, until = NULL, waits_for = ''`

func (r Result) settled() []any {
	return append(r.soFar(), string(r.Outcome), string(r.Kind), packTime(r.Ended))
}

// Also is what a change of a row brings with it.
type Also struct {
	Notes    []string
	Messages []Message
	Runs     []Row // that come after it, ready or waiting; those whose id is known already are left as they are
}

func (a Also) add(ctx context.Context, q querier, run string) error {
	if err := addNotes(ctx, q, run, a.Notes); err != nil {
		return err
	}
	added, err := insert(ctx, q, a.Runs)
	if err != nil {
		return err
	}
	for _, r := range added {
		_, err := q.ExecContext(ctx, `UPDATE run SET triggered = json_insert(coalesce(triggered, '[]'), '$[#]', json_object('task', ?2, 'run', ?3))
			WHERE id = ?1`, run, r.Task, r.ID)
		if err != nil {
			return err
		}
	}
	for _, m := range a.Messages {
		if err := m.put(ctx, q); err != nil {
			return err
		}
	}
	return nil
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

// End ends a run that has nothing left to do: one that is finishing, with a zero Result, or one
// that ran, was skipped, missed or lost and has no hooks to fire, with its Result. Messages and the
// runs that come after it are added in the same transaction.
func (o Owned) End(ctx context.Context, run string, r Result, also Also) error {
	return o.store.write(ctx, func(q querier) error {
		err := o.end(ctx, q, run, r)
		if err != nil {
			return err
		}
		if err := also.add(ctx, q, run); err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, "DELETE FROM hook WHERE run = ?", run)
		return err
	})
}

func (o Owned) end(ctx context.Context, q querier, run string, r Result) error {
	if r.Outcome == "" {
		return o.change(ctx, q, run, `UPDATE run SET phase = 'ended', owner = NULL, seat = '' WHERE id = ?1 AND owner = ?2 AND phase = 'finishing'`)
	}
	return o.change(ctx, q, run, `UPDATE run SET phase = 'ended', owner = NULL, seat = '', `+setResult+`
		WHERE id = ?1 AND owner = ?2 AND phase IN ('ready', 'running')`, r.settled()...)
}

// Restore adds our row as it is to a database that has lost it (ErrGone). It does nothing when the
// row is there.
func (o Owned) Restore(ctx context.Context, r Row) error {
	return o.store.write(ctx, func(q querier) error {
		r.Owner = o.owner
		if _, err := q.ExecContext(ctx, "INSERT OR IGNORE INTO owner (id, kind, pid, since) VALUES (?1, 'restored', 0, ?1)", o.owner); err != nil {
			return err
		}
		_, err := insert(ctx, q, []Row{r})
		return err
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

// Hold writes down what the run has: the claim of its slot in the store, and a seat of its pool.
func (o Owned) Hold(ctx context.Context, run string, claimed bool, seat string) error {
	return o.update(ctx, run, "UPDATE run SET claimed = ?3, seat = ?4 WHERE id = ?1 AND owner = ?2", claimed, seat)
}

// Rows returns our rows, with their snapshots, the oldest first.
func (o Owned) Rows(ctx context.Context) (rows []Row, err error) {
	err = o.store.read(ctx, func(q querier) error {
		rows, err = rowsOf(ctx, q, `SELECT `+columns+` FROM run INDEXED BY run_live WHERE phase IN ('ready', 'running', 'finishing') AND phase <> 'ended'
			AND owner = ? ORDER BY slot, id`, o.owner)
		if err == nil {
			err = addSnapshots(ctx, q, rows)
		}
		return err
	})
	return rows, err
}

// Stops returns who asked to stop which of our rows.
func (o Owned) Stops(ctx context.Context) (stops map[string]Stop, err error) {
	stops = map[string]Stop{}
	err = o.store.read(ctx, func(q querier) error {
		clear(stops)
		rows, err := rowsOf(ctx, q, `SELECT `+columns+` FROM run INDEXED BY run_live WHERE phase IN ('ready', 'running', 'finishing') AND phase <> 'ended'
			AND owner = ? AND stop IS NOT NULL`, o.owner)
		for _, r := range rows {
			stops[r.ID] = *r.Stop
		}
		return err
	})
	return stops, err
}

// update is one change in a transaction of its own. The first parameter of its text is the run, the
// second the owner.
func (o Owned) update(ctx context.Context, run, text string, args ...any) error {
	return o.store.write(ctx, func(q querier) error { return o.change(ctx, q, run, text, args...) })
}

// change runs an UPDATE of one row. Where it finds no such row, it says what has become of the row.
func (o Owned) change(ctx context.Context, q querier, run, text string, args ...any) error {
	did, err := q.ExecContext(ctx, text, append([]any{run, o.owner}, args...)...)
	if err != nil {
		return err
	}
	n, err := did.RowsAffected()
	if err == nil && n == 0 {
		err = stale(ctx, q, run)
	}
	return err
}

// stale says why a row could not be changed.
func stale(ctx context.Context, q querier, run string) error {
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

// Missed returns the Result of a slot that nobody ran.
func Missed(kind outcome.Kind, reason string, at time.Time) Result {
	return Result{Outcome: outcome.Missed, Kind: kind, Reason: reason, Ended: at}
}

// Skipped returns the Result of a slot that was not to run.
func Skipped(kind outcome.Kind, reason string, at time.Time) Result {
	return Result{Outcome: outcome.Skipped, Kind: kind, Reason: reason, Ended: at}
}
