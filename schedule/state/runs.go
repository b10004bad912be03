package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sched/schedule/judge"
	"sched/schedule/outcome"
	"sched/schedule/state/sqltype"
)

// Runs answers questions about rows, and takes what people ask for.
type Runs struct{ store store }

// A RecordedSlot says that a slot of the schedule has a row. For a row of several slots it stands
// for the slots from At through Until.
type RecordedSlot struct {
	Task      string
	At, Until time.Time // UTC
	Missed    bool      // whether the outcome is missed
	Lacking   bool      // it was skipped because its task lacked a variable or a file
}

// Slots returns the slots from start to before end that have a row, in no order. It leaves out
// slots that wait and have not begun, and planned rows that somebody has asked for (not Scheduled).
func (r Runs) Slots(ctx context.Context, start, end time.Time) ([]RecordedSlot, error) {
	const slotsBy = `SELECT task, slot, coalesce(last_slot, slot), coalesce(outcome = 'missed', 0), kind = 'lacking'
		FROM run INDEXED BY `
	scan := func(rows *sql.Rows) (s RecordedSlot, err error) {
		err = rows.Scan(&s.Task, sqltype.Time(&s.At), sqltype.Time(&s.Until), &s.Missed, &s.Lacking)
		return s, err
	}
	return ask(ctx, r.store, func(q querier) ([]RecordedSlot, error) {
		return listed(ctx, q, scan, slotsBy+`run_slot WHERE slot >= ?1 AND slot < ?2 AND origin = ''
				AND (phase <> 'waiting' OR attempt > 0) AND (phase <> 'planned' OR scheduled = 1)
			UNION ALL `+slotsBy+`run_range WHERE last_slot >= ?1 AND slot < ?1 AND outcome IS NOT NULL`,
			sqltype.Ceil(start), sqltype.Ceil(end))
	})
}

// Unknown returns the runs, of those given by their whole ids, that have no ended row.
func (r Runs) Unknown(ctx context.Context, runs []string) (unknown []string, err error) {
	return ask(ctx, r.store, func(q querier) ([]string, error) {
		return Only[string](ctx, q, `SELECT value FROM json_each(?)
			WHERE NOT EXISTS (SELECT 1 FROM run WHERE id = value AND phase = 'ended')`, sqltype.Texts(runs))
	})
}

// Row returns the row of a run with its snapshot, by its whole id. The error is ErrNotFound when
// the run has no row.
func (r Runs) Row(ctx context.Context, id string) (Row, error) {
	return ask(ctx, r.store, func(q querier) (Row, error) {
		found, err := wholeRows(ctx, q, SelectRows()+"WHERE id = ?", id)
		switch {
		case err != nil:
			return Row{}, err
		case len(found) == 0:
			return Row{}, ErrNotFound
		}
		return found[0], nil
	})
}

// LastWith returns the newest run with the mutex that has ended, if there was one. A skip is no
// run, nor is a missed slot.
func (r Runs) LastWith(ctx context.Context, mutex string) ([]Row, error) {
	ran := SelectRows() + "INDEXED BY %s WHERE %s = ?1 AND +mutex = ?1 AND +phase = 'ended' " +
		"AND +outcome NOT IN ('skipped', 'missed')"
	return askRows(ctx, r.store, fmt.Sprintf(ran, "run_task", "task")+" UNION ALL "+
		fmt.Sprintf(ran, "run_mutex", "mutex")+" AND mutex <> task ORDER BY slot DESC, id DESC LIMIT 1", mutex)
}

// Last returns the newest row of each task that says how its command went. A task without such a
// row is not in the map. Prune keeps these rows.
func (r Runs) Last(ctx context.Context, tasks []string) (map[string]Row, error) {
	rows, err := askRows(ctx, r.store, `SELECT `+columnNames("run.")+`
		FROM json_each(?) AS name CROSS JOIN run ON run.rowid =
			(SELECT r.rowid FROM run AS r
			WHERE r.task = name.value AND r.outcome NOT IN ('skipped', 'missed') AND r.test = 0
			ORDER BY r.id DESC LIMIT 1)`, sqltype.Texts(tasks))
	last := make(map[string]Row, len(rows))
	for _, row := range rows {
		last[row.Task] = row
	}
	return last, err
}

// Previous returns the newest row of the task that is older than run and says how its command went.
// It returns false when the task has no such row. The run itself need not have a row.
func (r Runs) Previous(ctx context.Context, task, run string) (Row, bool, error) {
	return neighbour(ctx, r.store, task, "id < ? ORDER BY id DESC", run)
}

// Following is like Previous for the oldest row that is newer than run.
func (r Runs) Following(ctx context.Context, task, run string) (Row, bool, error) {
	return neighbour(ctx, r.store, task, "id > ? ORDER BY id", run)
}

// LastSuccess returns the newest slot of the task before a slot for which a command succeeded; zero
// without such a slot. Retries count for the slot that they repeat.
func (r Runs) LastSuccess(ctx context.Context, task string, before time.Time) (slot time.Time, err error) {
	err = r.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, `SELECT max(slot) FROM (
			SELECT * FROM (SELECT slot FROM run INDEXED BY run_sum
				WHERE task = ?1 AND outcome = 'succeeded' AND slot < ?2 AND `+Single+` AND repeats IS NULL
				ORDER BY slot DESC LIMIT 1)
			UNION ALL SELECT max(repeats) FROM run INDEXED BY run_repeats
				WHERE task = ?1 AND outcome = 'succeeded' AND repeats < ?2 AND `+Single+`)`, task, before.UnixMicro()).
			Scan(sqltype.Time(&slot))
	})
	return slot, err
}

// FailuresBefore returns how many runs of the task failed in a row before the run, and ended after
// since. It stops counting at limit. The run itself need not have a row.
func (r Runs) FailuresBefore(ctx context.Context, task, run string, since time.Time, limit int) (int, error) {
	return askOne[int](ctx, r.store, `SELECT count(*) FROM (SELECT id, outcome, ended FROM run INDEXED BY run_ran
		WHERE task = ?1 AND `+Ran+` AND id < ?2 ORDER BY id DESC LIMIT ?4) AS r
		WHERE ended > ?3 AND id > coalesce((SELECT id FROM run INDEXED BY run_ran
			WHERE task = ?1 AND `+Ran+` AND id < ?2 AND outcome = 'succeeded' ORDER BY id DESC LIMIT 1), '')`,
		task, run, since.UnixMicro(), limit)
}

// SucceededSince reports whether the last run of the task succeeded after the time, or failed and a
// later success on another server was told here.
func (r Runs) SucceededSince(ctx context.Context, task string, at time.Time) (bool, error) {
	return askOne[bool](ctx, r.store, `SELECT EXISTS (SELECT 1 FROM
		(SELECT * FROM run INDEXED BY run_ran WHERE task = ?1 AND `+Ran+` ORDER BY id DESC LIMIT 1) AS last
		LEFT JOIN hook ON run = last.id AND name LIKE 'on_recovery %'
		WHERE outcome = 'succeeded' AND last.ended > ?2 OR begun > ?2)`, task, at.UnixMicro())
}

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

// listNotEnded reads the index of rows that have not ended.
func (r Runs) listNotEnded(ctx context.Context, condition string, args ...any) ([]Row, error) {
	return ask(ctx, r.store, func(q querier) ([]Row, error) {
		return wholeRows(ctx, q, SelectRows()+"INDEXED BY run_live WHERE "+notEnded+" AND "+condition, args...)
	})
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

// AskStop asks the owner of a run to stop it (Owned.Stop). A run that waits has no owner: the
// caller may take it and end it, or the next tick does. The first request counts. The error is
// ErrGone for a run without a row, and *OverError for a run that has its outcome.
func (r Runs) AskStop(ctx context.Context, run string, stop Stop) error {
	text, err := json.Marshal(stop)
	if err != nil {
		return err
	}
	return r.store.write(ctx, func(q querier) error {
		found, err := RowsOf(ctx, q, SelectRows()+"WHERE id = ?", run)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return ErrGone
		case found[0].Outcome != "":
			return &OverError{run, found[0].Outcome}
		}
		q.do(ctx, "UPDATE run SET stop = coalesce(stop, ?) WHERE id = ?", string(text), run)
		return nil
	})
}

// WaitOn changes what a row waits for, and why. It does nothing when the row does not wait any
// more.
func (r Runs) WaitOn(ctx context.Context, run string, w Wait, reason string) error {
	return execute(ctx, r.store, `UPDATE run SET waits_for = ?2, not_before = ?3, until = ?4,
			waiting_since = ?5, reason = ?6
		WHERE id = ?1 AND phase = 'waiting'`,
		run, string(w.For), sqltype.PackTime(w.NotBefore), sqltype.PackTime(w.Until), sqltype.PackTime(w.Since), reason)
}

// Settle gives a waiting row its outcome without an owner, as when its time is over or its task is
// gone. It reports false when the row does not wait any more.
func (r Runs) Settle(ctx context.Context, run string, result Result) (done bool, err error) {
	err = r.store.write(ctx, func(q querier) error {
		rows, err := wholeRows(ctx, q, SelectRows()+"WHERE id = ? AND phase = 'waiting'", run)
		if err != nil || len(rows) == 0 {
			return err
		}
		q.do(ctx, "DELETE FROM run WHERE id = ?", run)
		rows[0].Phase, rows[0].Result, rows[0].Wait = Ended, result, Wait{Waited: rows[0].Wait.Waited}
		added, err := insert(ctx, q, rows) // anew: the newest rows are found by when they were added (Added)
		done = len(added) > 0
		return err
	})
	return done, err
}

// Record adds rows that have ended, all or none. A row whose id has ended stays as it was but for
// new notes, so a process that was killed may record it again.
//
//   - A row that waits gives way to the end of its run, and to any other row of its slot.
//   - A slot that left no trace (GivesWay) gives way to any other row of the slot, whichever
//     comes first.
//   - A range, a row of several slots (IsRange), stands for the slots without a row of their own: it
//     loses a slot when the slot gets a row.
//   - A second run of a slot is a row that the schedule did not ask for.
//
// If share is true, these runs count as unpublished until Published, and so do the runs of all
// later calls, whatever their share. Unshare ends that.
func (r Runs) Record(ctx context.Context, rows []Row, share bool) error {
	if len(rows) == 0 {
		return nil
	}
	return r.store.write(ctx, func(q querier) error {
		shared, err := beginSharing(ctx, q, share)
		if err != nil {
			return err
		}
		rec, err := newRecorder(ctx, q, rows)
		if err != nil {
			return err
		}
		for _, row := range slices.SortedStableFunc(slices.Values(rows), recordFirst) {
			row.Phase, row.Owner, row.Locked, row.Seat, row.Wait = Ended, 0, false, "", Wait{Waited: row.Wait.Waited}
			row.Slots, row.Scheduled, row.Unpublished = max(row.Slots, 1), row.Origin == "", shared && row.Ran()
			if err := rec.record(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unshare undoes share in Record: no run waits to be published any more.
func (r Runs) Unshare(ctx context.Context) error {
	shared := false
	err := r.store.read(ctx, func(q querier) error { return readValue(ctx, q, keyShared, &shared) })
	if err != nil || !shared {
		return err
	}
	return r.store.write(ctx, func(q querier) error {
		q.do(ctx, "UPDATE run SET unpublished = 0 WHERE unpublished = 1")
		q.do(ctx, "DELETE FROM meta WHERE key = ?", keyShared)
		return nil
	})
}

// Unpublished returns the ended runs that other servers do not know of yet, in the order in which
// they were added, at most limit.
func (r Runs) Unpublished(ctx context.Context, limit int) ([]Row, error) {
	return askRows(ctx, r.store, SelectRows()+`INDEXED BY run_unpublished
		WHERE unpublished = 1 AND phase = 'ended' ORDER BY rowid LIMIT ?`, limit)
}

// Published writes down that other servers know of the runs.
func (r Runs) Published(ctx context.Context, runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	return execute(ctx, r.store, "UPDATE run SET unpublished = 0 WHERE id IN (SELECT value FROM json_each(?))",
		sqltype.Texts(runs))
}

// Unreported returns the runs that ended badly and that no tick has printed yet, in the order in
// which they ended.
func (r Runs) Unreported(ctx context.Context) ([]Row, error) {
	return askRows(ctx, r.store, SelectRows()+"INDEXED BY run_unreported WHERE unreported = 1 ORDER BY ended, id")
}

// ClaimReport makes the caller the one that prints a run. It returns false when another tick has
// done so.
func (r Runs) ClaimReport(ctx context.Context, run string) (ours bool, err error) {
	err = r.store.write(ctx, func(q querier) error {
		n, err := changed(ctx, q, "UPDATE run SET unreported = 0 WHERE id = ? AND unreported = 1", run)
		ours = n > 0
		return err
	})
	return ours, err
}

// Note adds notes to rows, each once, by the ids of their runs. A run that is not there is left
// out.
func (r Runs) Note(ctx context.Context, notes map[string][]string) error {
	if len(notes) == 0 {
		return nil
	}
	return r.store.write(ctx, func(q querier) error {
		for run, more := range notes {
			if err := addNotes(ctx, q, run, more); err != nil && !errors.Is(err, ErrGone) {
				return err
			}
		}
		return nil
	})
}

// longestWaitingFirst orders rows that wait: by Wait.Since if it is set, else by when the row is
// due.
const longestWaitingFirst = ` ORDER BY coalesce(waiting_since, not_before, slot), slot, id`

func neighbour(ctx context.Context, s store, task, where, run string) (Row, bool, error) {
	rows, err := askRows(ctx, s,
		SelectRows()+"INDEXED BY run_ran WHERE task = ? AND "+Ran+" AND "+where+" LIMIT 1", task, run)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

// AddValues adds to rows the values that their last attempts reported. Rows that have values keep
// them.
func (r Runs) AddValues(ctx context.Context, rows []Row) error {
	index, runs := map[string]int{}, []string{}
	for i, row := range rows {
		if row.Attempted() && row.Values == nil {
			index[row.ID], runs = i, append(runs, row.ID)
		}
	}
	return r.store.read(ctx, func(q querier) error {
		return Each(ctx, q, func(found *sql.Rows) error {
			var run, name string
			var value float64
			err := found.Scan(&run, &name, &value)
			if row := &rows[index[run]]; row.Values == nil {
				row.Values = map[string]float64{name: value}
			} else {
				row.Values[name] = value
			}
			return err
		}, `SELECT run, name, own.value FROM json_each(?) AS asked CROSS JOIN value AS own ON own.run = asked.value
			AND attempt = (SELECT attempt FROM run WHERE id = own.run)`, sqltype.Texts(runs))
	})
}

// UsualValues returns a value of the last successes of a task that came before the run, the newest
// first: of judge.MaxHistory successes. Tests do not count.
func (r Runs) UsualValues(ctx context.Context, task, name, run string) ([]float64, error) {
	return ask(ctx, r.store, func(q querier) ([]float64, error) {
		return Only[float64](ctx, q, `SELECT value FROM (SELECT id, attempt FROM run INDEXED BY run_ran
				WHERE task = ?1 AND `+Ran+` AND outcome = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4) AS success
			JOIN value ON value.run = success.id AND value.attempt = success.attempt AND value.name = ?5`,
			task, outcome.Succeeded, run, judge.MaxHistory, name)
	})
}

// Spent returns what the attempts of a task's runs have reported of a value since that time, the
// oldest first. The runs may have been pruned.
func (r Runs) Spent(ctx context.Context, task, name string, since time.Time) ([]judge.Spending, error) {
	return ask(ctx, r.store, func(q querier) ([]judge.Spending, error) {
		return listed(ctx, q, func(rows *sql.Rows) (s judge.Spending, err error) {
			err = rows.Scan(&s.Run, &s.Attempt, sqltype.Time(&s.At), &s.Value)
			return s, err
		}, `SELECT run, attempt, at, value FROM value INDEXED BY value_spent
			WHERE task = ? AND name = ? AND at > ? ORDER BY at`, task, name, since.UnixMicro())
	})
}
