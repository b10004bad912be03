package state

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sched/schedule/outcome"
)

// Owned changes rows that one owner is responsible for. Each method is one small transaction, or a
// part of a Plan. It names the phase and the owner that its row must have. So a process that is
// late, and whose row another process has taken, changes nothing; the error is *StaleError or
// ErrGone.
//
//	method      from                          to
//	Begin       no row, waiting or planned    ready; finishing if the row has an outcome
//	Take        waiting                       ready; a row in another phase stays in it
//	Wait        planned or ready              waiting
//	Start       ready                         running
//	AwaitRetry  running                       ready
//	Defer       ready or running              waiting
//	Finish      ready or running              finishing
//	End         ready, running or finishing   ended
type Owned struct {
	store store
	ID    int64 // of the owner
}

// Take makes the row ours. It must be as the caller has read it: the same phase, the same owner (0
// for none). A waiting row is ready afterwards; a row in another phase stays in it.
func (o Owned) Take(ctx context.Context, r Row) error {
	return o.update(ctx, r.ID, `UPDATE run SET owner = :owner,
			phase = CASE phase WHEN 'waiting' THEN 'ready' ELSE phase END
		WHERE id = :run AND phase = :phase AND coalesce(owner, 0) = :before`,
		named{"phase": string(r.Phase), "before": r.Owner})
}

// HandOver gives our rows to another owner, all or none, in the same phase.
func (o Owned) HandOver(ctx context.Context, to int64, runs ...string) error {
	return o.store.write(ctx, func(q querier) error {
		for _, run := range runs {
			err := o.change(ctx, q, run, "UPDATE run SET owner = :to WHERE id = :run AND owner = :owner",
				named{"to": to})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Wait lets a planned or ready row wait without an owner. The first w.Since stays until the row
// starts, so that the row that has waited longest goes first.
func (o Owned) Wait(ctx context.Context, run string, w Wait, why string) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'waiting', owner = NULL, waits_for = :for,
			not_before = :not_before, until = :until,
			waiting_since = coalesce(waiting_since, :since), reason = :why
		WHERE id = :run AND owner = :owner AND phase IN ('planned', 'ready')`,
		named{
			"for":        string(w.For),
			"not_before": packTime(w.NotBefore),
			"until":      packTime(w.Until),
			"since":      packTime(w.Since),
			"why":        why,
		})
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
			if err := rec.record(r); err != nil {
				return err
			}
			if err := mustOwn(ctx, q, o.ID, r.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// WaitFor changes what our queued row waits for (Row.Queued).
func (o Owned) WaitFor(ctx context.Context, run string, waitsFor WaitsFor) error {
	return o.update(ctx, run, `UPDATE run SET waits_for = :for
		WHERE id = :run AND owner = :owner AND phase = 'ready' AND attempt = 0`, named{"for": string(waitsFor)})
}

// Acquired says that our queued row has the mutex and the seat that it needs, and how long it
// waited for them.
func (o Owned) Acquired(ctx context.Context, run string, locked bool, seat string, waited time.Duration) error {
	return o.update(ctx, run, `UPDATE run SET locked = :locked, seat = :seat, waited = :waited,
			waiting_since = NULL, until = NULL, waits_for = '', reason = ''
		WHERE id = :run AND owner = :owner AND phase = 'ready'`,
		named{"locked": locked, "seat": seat, "waited": waited.Microseconds()})
}

// Start says that an attempt is about to begin. It must be committed before the command is forked:
// a row that is still ready has never been started.
func (o Owned) Start(ctx context.Context, run string, a Attempt) error {
	return o.update(ctx, run, `UPDATE run SET phase = 'running',
			attempt = :attempt, attempt_started = :at, boot = :boot, leased = :leased, pid = NULL,
			started = coalesce(started, :at),
			not_before = NULL, until = NULL, waits_for = '', reason = '', kind = '',
			waited = waited + coalesce(max(:at - waiting_since, 0), 0), waiting_since = NULL
		WHERE id = :run AND owner = :owner AND phase = 'ready'`,
		named{"attempt": a.Number, "at": packTime(a.At), "boot": a.Boot, "leased": packTime(a.Leased)})
}

// Amend writes down what was not known when Start announced the attempt: its process, or a later
// renewal of the lease.
func (o Owned) Amend(ctx context.Context, run string, a Attempt) error {
	return o.update(ctx, run, `UPDATE run SET
			pid = coalesce(:pid, pid), leased = coalesce(max(leased, :leased), :leased, leased)
		WHERE id = :run AND owner = :owner AND phase = 'running' AND attempt = :attempt`,
		named{"pid": orNull(a.PID), "leased": packTime(a.Leased), "attempt": a.Number})
}

// Ending says that we are about to end the command of the attempt, and why. A reader of the exit
// code then knows that the command did not end by itself.
func (o Owned) Ending(ctx context.Context, run string, attempt int, kind outcome.Kind, reason string) error {
	return o.update(ctx, run, `UPDATE run SET kind = :kind, reason = :reason
		WHERE id = :run AND owner = :owner AND phase = 'running' AND attempt = :attempt`,
		named{"kind": string(kind), "reason": reason, "attempt": attempt})
}

// AwaitRetry says that an attempt has ended, and that we will start the next one, not before then.
// r is the result of the attempts so far.
func (o Owned) AwaitRetry(ctx context.Context, run string, r Result, then time.Time) error {
	return o.store.write(ctx, func(q querier) error {
		values := r.soFar(q)
		values["then"] = packTime(then)
		return o.change(ctx, q, run, `UPDATE run SET phase = 'ready', not_before = :then, waits_for = 'time',
				kind = '', pid = NULL, `+setSoFar+`
			WHERE id = :run AND owner = :owner AND phase = 'running'`, values)
	})
}

// Defer leaves the next attempt to a tick, not before then: until that the row has no owner, no
// mutex and no seat. If a run was lost before its first attempt, that attempt counts as lost.
func (o Owned) Defer(ctx context.Context, run string, r Result, then time.Time, notes []string) error {
	return o.store.write(ctx, func(q querier) error {
		values := r.soFar(q)
		values["then"] = packTime(then)
		err := o.change(ctx, q, run, `UPDATE run SET phase = 'waiting', owner = NULL, attempt = max(attempt, 1),
				not_before = :then, waits_for = 'time', kind = '', pid = NULL, `+setSoFar+`,
				background = 1, locked = 0, seat = '', until = NULL, waiting_since = NULL
			WHERE id = :run AND owner = :owner AND phase IN ('ready', 'running')`, values)
		if err == nil {
			err = addNotes(ctx, q, run, notes)
		}
		if err == nil { // hooks that were fired before the first attempt are fired again
			_, err = q.ExecContext(ctx, `DELETE FROM hook WHERE run = ?1
				AND EXISTS (SELECT 1 FROM run WHERE id = ?1 AND started IS NULL)`, run)
		}
		return err
	})
}

// setSoFar sets the values of Result.soFar.
const setSoFar = `reason = :reason, exit_code = :exit_code, user_cpu = :user_cpu, system_cpu = :system_cpu,
	peak_memory = :peak_memory, output = :output, limits = :limits, survivors = :survivors`

func (r Result) soFar(q querier) named {
	return named{
		"reason":      r.Reason,
		"exit_code":   r.ExitCode,
		"user_cpu":    r.UserCPU.Microseconds(),
		"system_cpu":  r.SystemCPU.Microseconds(),
		"peak_memory": r.PeakMemory,
		"output":      q.relative(r.Output),
		"limits":      r.Limits,
		"survivors":   r.Survivors,
	}
}

// Finish says what became of the run. Its hooks are still to be fired.
func (o Owned) Finish(ctx context.Context, run string, r Result, notes []string) error {
	return o.store.write(ctx, func(q querier) error {
		err := o.change(ctx, q, run, `UPDATE run SET phase = 'finishing', `+setResult+`
			WHERE id = :run AND owner = :owner AND phase IN ('ready', 'running')`, r.settled(q))
		if err == nil {
			err = addNotes(ctx, q, run, notes)
		}
		return err
	})
}

// setResult sets the values of Result.settled.
const setResult = setSoFar + `, outcome = :outcome, kind = :kind, ended = :ended,
	waited = waited + coalesce(max(:ended - waiting_since, 0), 0), waiting_since = NULL,
	not_before = NULL, until = NULL, waits_for = ''`

func (r Result) settled(q querier) named {
	values := r.soFar(q)
	values["outcome"], values["kind"], values["ended"] = string(r.Outcome), string(r.Kind), packTime(r.Ended)
	return values
}

// End ends a run that has nothing left to do: a run that is finishing, or a run that ran, was
// skipped, missed or lost and has no hooks to fire.
func (o Owned) End(ctx context.Context, run string, e End) error {
	return o.store.write(ctx, func(q querier) error {
		shared, err := beginSharing(ctx, q, e.Share)
		if err != nil {
			return err
		}
		values := e.settled(q)
		values["triggered"] = packJSON(e.Triggered)
		values["unpublished"] = shared && Row{Result: e.Result}.Ran()
		values["unreported"] = e.Unreported
		err = o.change(ctx, q, run, `UPDATE run SET phase = 'ended', owner = NULL, seat = '', locked = 0,
				triggered = coalesce(:triggered, triggered),
				unpublished = :unpublished, unreported = :unreported, `+setResult+`
			WHERE id = :run AND owner = :owner AND phase IN ('ready', 'running', 'finishing')`, values)
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
// row is there. If a tick has recorded the slot as missed meanwhile, that row is removed.
func (o Owned) Restore(ctx context.Context, r Row, self *Owner) error {
	return o.store.write(ctx, func(q querier) error {
		r.Owner = o.ID
		device, inode := self.fileID()
		_, err := q.ExecContext(ctx, `INSERT INTO owner (id, kind, pid, since, device, inode, boot)
			VALUES (?1, 'restored', 0, ?1, ?2, ?3, ?4)
			ON CONFLICT DO UPDATE SET device = ?2, inode = ?3, boot = ?4`, o.ID, device, inode, thisBoot())
		if err != nil {
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
	return o.writeOwned(ctx, run, func(q querier) error { return addNotes(ctx, q, run, notes) })
}

// Hold writes down what the run holds: its mutex, and a seat of its pool.
func (o Owned) Hold(ctx context.Context, run string, locked bool, seat string) error {
	return o.update(ctx, run, "UPDATE run SET locked = :locked, seat = :seat WHERE id = :run AND owner = :owner",
		named{"locked": locked, "seat": seat})
}

// Rows returns our rows, with their snapshots, the oldest first: only rows that are ready, or all
// rows that have begun.
func (o Owned) Rows(ctx context.Context, ready bool) (rows []Row, err error) {
	phases := "'ready', 'running', 'finishing'"
	if ready {
		phases = "'ready'"
	}
	return Runs{o.store}.listNotEnded(ctx, "phase IN ("+phases+") AND owner = ? ORDER BY slot, id", o.ID)
}

// Stop returns who asked to stop our row; nil when nobody did.
func (o Owned) Stop(ctx context.Context, run string) (stop *Stop, err error) {
	err = o.store.read(ctx, func(q querier) error {
		err := q.QueryRowContext(ctx, "SELECT stop FROM run WHERE id = ? AND stop IS NOT NULL", run).Scan(asJSON(&stop))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return stop, err
}

// update makes one change in a transaction of its own.
func (o Owned) update(ctx context.Context, run, text string, values named) error {
	return o.store.write(ctx, func(q querier) error { return o.change(ctx, q, run, text, values) })
}

// change runs an UPDATE of one row, with the values and with :run and :owner. If it finds no such
// row, its error says what has become of the row.
func (o Owned) change(ctx context.Context, q querier, run, text string, values named) error {
	n, err := changed(ctx, q, text, append(values.args(), sql.Named("run", run), sql.Named("owner", o.ID))...)
	if err == nil && n == 0 {
		err = staleError(ctx, q, run)
	}
	return err
}

// mustOwn returns a *StaleError or ErrGone unless the row belongs to the owner.
func mustOwn(ctx context.Context, q querier, owner int64, run string) error {
	var ours bool
	err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM run WHERE id = ? AND owner = ?)", run, owner).
		Scan(&ours)
	if err == nil && !ours {
		err = staleError(ctx, q, run)
	}
	return err
}

// staleError says why a row could not be changed.
func staleError(ctx context.Context, q querier, run string) error {
	stale := &StaleError{Run: run}
	err := q.QueryRowContext(ctx, "SELECT phase, coalesce(owner, 0) FROM run WHERE id = ?", run).
		Scan(&stale.Phase, &stale.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrGone
	case err != nil:
		return err
	}
	return stale
}

// HookBegun says that a hook is about to be fired. It must be committed before the hook is fired.
// It returns false for a hook that has ended already, or was fired twice: then the hook must not be
// fired. A hook that has begun and not ended is fired again, because the process that fired it was
// killed.
func (o Owned) HookBegun(ctx context.Context, run, name string, at time.Time) (fire bool, err error) {
	err = o.writeOwned(ctx, run, func(q querier) error {
		n, err := changed(ctx, q, `INSERT INTO hook (run, name, begun) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET begun = ?3, pid = NULL, tries = tries + 1
				WHERE ended IS NULL AND tries < ?4`, run, name, at.UnixMicro(), hookTries)
		fire = n > 0
		return err
	})
	return fire, err
}

// HookForked writes down the process of a hook.
func (o Owned) HookForked(ctx context.Context, run, name string, pid int) error {
	return o.writeOwned(ctx, run, func(q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE hook SET pid = ? WHERE run = ? AND name = ? AND ended IS NULL",
			pid, run, name)
		return err
	})
}

// HookEnded says that a hook has ended, and adds a note to the run if the hook failed.
func (o Owned) HookEnded(ctx context.Context, run, name string, at time.Time, note string) error {
	return o.writeOwned(ctx, run, func(q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE hook SET ended = ?, note = ? WHERE run = ? AND name = ?",
			at.UnixMicro(), note, run, name)
		if err != nil || note == "" || o.ID == nobody {
			return err
		}
		return addNotes(ctx, q, run, []string{note})
	})
}

// writeOwned runs op in a transaction if the row of the run is ours. Otherwise it returns a
// *StaleError or ErrGone. Hooks of nobody belong to no row.
func (o Owned) writeOwned(ctx context.Context, run string, op func(querier) error) error {
	return o.store.write(ctx, func(q querier) error {
		if o.ID != nobody {
			if err := mustOwn(ctx, q, o.ID, run); err != nil {
				return err
			}
		}
		return op(q)
	})
}

// Hooks returns which hooks of a run have begun, and which of them have ended.
func (o Owned) Hooks(ctx context.Context, run string) ([]Hook, error) {
	return ask(ctx, o.store, func(q querier) ([]Hook, error) { return hooksOf(ctx, q, run) })
}
