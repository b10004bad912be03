package state

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// This file adds rows that have ended already, such as slots that did not run. It also notes who
// was told of a row: other servers (Published), and the people who read what a tick prints
// (ClaimReport).

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

// recordFirst orders rows so that rows which depend on other rows come last.
func recordFirst(a, b Row) int {
	rank := func(r Row) int {
		switch {
		case r.IsRange():
			return 2
		case r.GivesWay():
			return 1
		}
		return 0
	}
	return rank(a) - rank(b)
}

// A recorder adds rows in one transaction, with which its statements end.
type recorder struct {
	*inserter
	findKnown         *statement
	deleteWaiting     *statement // of the row that waits for a run, or was planned for it
	deleteWaitingSlot *statement // of the row that waits for a slot
	ranges            []rangeRow // the shortest first: if several hold a slot, the shortest counts it
	hasNotBegun       bool       // a row waits, or is planned
}

func newRecorder(ctx context.Context, q querier, rows []Row) (*recorder, error) {
	ranges, err := rangesOver(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	hasNotBegun, err := anyNotBegun(ctx, q)
	if err != nil {
		return nil, err
	}
	rec := &recorder{ranges: ranges, hasNotBegun: hasNotBegun}
	if rec.inserter, err = newInserter(ctx, q); err != nil {
		return nil, err
	}
	prepare := func(text string) (statement *statement) {
		if err == nil {
			statement, err = q.prepare(ctx, text)
		}
		return statement
	}
	rec.findKnown = prepare(`SELECT EXISTS (SELECT 1 FROM run WHERE id = ?1),
		EXISTS (SELECT 1 FROM run INDEXED BY run_task
			WHERE task = ?2 AND slot = ?3 AND origin = '' AND last_slot IS NULL
			AND (phase <> 'planned' OR scheduled = 1))`)
	rec.deleteWaiting = prepare(`DELETE FROM run
		WHERE id = ? AND phase IN ('waiting', 'planned') AND attempt = 0`)
	rec.deleteWaitingSlot = prepare(`DELETE FROM run INDEXED BY run_task
		WHERE task = ? AND slot = ? AND scheduled = 1 AND phase = 'waiting' AND attempt = 0`)
	return rec, err
}

// record adds a row by the rules of Record. A run that has a row already only gets new notes.
func (rec *recorder) record(row Row) error {
	if err := rec.endWaiting(row); err != nil {
		return err
	}
	var known, slotKnown bool // the run has a row; the slot has a row of its own
	err := rec.findKnown.QueryRowContext(rec.ctx, row.ID, row.Task, row.Slot.UnixMicro()).Scan(&known, &slotKnown)
	if err != nil {
		return err
	}
	// A row that is known only gets notes. A range loses the slots that are known. The row of a
	// slot takes the place of another row of the slot, or gives way to it.
	switch {
	case known:
		return addNotes(rec.ctx, rec.q, row.ID, row.Notes)
	case row.IsRange():
		if err := rec.subtractKnown(&row); err != nil || row.Slots == 0 {
			return err
		}
	case row.Origin == "":
		if wanted, err := rec.replaceSlot(&row, slotKnown); err != nil || !wanted {
			return err
		}
	}
	_, err = rec.insert(row)
	return err
}

// replaceSlot makes room for the row of a slot, and reports false if the slot has a better row.
// slotKnown says that the slot has a row of its own.
func (rec *recorder) replaceSlot(row *Row, slotKnown bool) (wanted bool, err error) {
	inRange := rec.rangeOf(*row)
	switch {
	case slotKnown && row.GivesWay(), inRange != nil && row.Outcome == outcome.Missed:
		return false, nil
	case slotKnown:
		gaveWay, err := rec.removeUncounted(outcome.MissedID(row.Task, row.Slot), "last_slot IS NULL")
		row.Scheduled = gaveWay // else this is a second run of the slot
		return true, err
	case inRange != nil:
		err = rec.shrink(inRange)
	}
	row.Scheduled = true
	return true, err
}

// endWaiting removes the row that was planned for the run or has waited for it. It also removes a
// row that has waited for another run of the slot.
func (rec *recorder) endWaiting(row Row) error {
	if !rec.hasNotBegun {
		return nil
	}
	_, err := rec.deleteWaiting.ExecContext(rec.ctx, row.ID)
	if err != nil || row.Origin != "" || row.IsRange() {
		return err
	}
	_, err = rec.deleteWaitingSlot.ExecContext(rec.ctx, row.Task, row.Slot.UnixMicro())
	return err
}

// removeUncounted removes a row that has given way, and reports whether there was one. It sets
// slots to 0 first, so that the trigger total_changed subtracts them from the total of the task.
func (rec *recorder) removeUncounted(id, condition string) (removed bool, err error) {
	where := " WHERE id = ? AND " + condition
	if _, err = rec.q.ExecContext(rec.ctx, "UPDATE run SET slots = 0"+where, id); err != nil {
		return false, err
	}
	n, err := changed(rec.ctx, rec.q, "DELETE FROM run"+where, id)
	return n > 0, err
}

// subtractKnown takes the slots that have a row of their own out of a range. A planned slot is
// taken out when it begins. Slots that lie in another range are not counted.
func (rec *recorder) subtractKnown(row *Row) error {
	var known int
	err := rec.q.QueryRowContext(rec.ctx, `SELECT count(DISTINCT slot) FROM run AS known INDEXED BY run_task
		WHERE task = ?1 AND slot >= ?2 AND slot <= ?3 AND origin = '' AND last_slot IS NULL AND phase <> 'planned'
		AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_range
			WHERE last_slot >= known.slot AND slot <= known.slot AND task = ?1 AND id <> ?4)`,
		row.Task, row.Slot.UnixMicro(), row.LastSlot.UnixMicro(), row.ID).Scan(&known)
	left := max(0, row.Slots-known)
	row.Reason, row.Slots = reasonFor(row.Reason, row.Slots, left), left
	return err
}

// A rangeRow has some fields of a range.
type rangeRow struct {
	id, task    string
	first, last time.Time
	slots       int
	reason      string
}

// has reports whether the slot of a row is one of the slots.
func (r rangeRow) has(row Row) bool {
	return r.task == row.Task && !row.Slot.Before(r.first) && !row.Slot.After(r.last)
}

// rangesOver returns the ranges that reach into the time of the new rows. There is hardly ever one.
func rangesOver(ctx context.Context, q querier, news []Row) ([]rangeRow, error) {
	bySlot := func(a, b Row) int { return a.Slot.Compare(b.Slot) }
	first, last := slices.MinFunc(news, bySlot).Slot, slices.MaxFunc(news, bySlot).Slot
	return listed(ctx, q, func(rows *sql.Rows) (r rangeRow, err error) {
		err = rows.Scan(&r.id, &r.reason, &r.slots, &r.task, asTime(&r.first), asTime(&r.last))
		return r, err
	}, `SELECT id, reason, slots, task, slot, last_slot FROM run INDEXED BY run_range
		WHERE last_slot >= ? AND slot <= ? ORDER BY last_slot - slot`, first.UnixMicro(), last.UnixMicro())
}

// rangeOf returns the range that counts the slot of a row; nil for none.
func (rec *recorder) rangeOf(row Row) *rangeRow {
	i := slices.IndexFunc(rec.ranges, func(r rangeRow) bool { return r.slots > 0 && r.has(row) })
	if i < 0 {
		return nil
	}
	return &rec.ranges[i]
}

// shrink takes a slot out of a range. A range whose last slot is taken out is removed.
func (rec *recorder) shrink(r *rangeRow) error {
	r.reason, r.slots = reasonFor(r.reason, r.slots, r.slots-1), r.slots-1
	if r.slots == 0 {
		_, err := rec.removeUncounted(r.id, "last_slot IS NOT NULL")
		return err
	}
	_, err := rec.q.ExecContext(rec.ctx, "UPDATE run SET slots = ?, reason = ? WHERE id = ?", r.slots, r.reason, r.id)
	return err
}

// reasonFor returns the reason of a range of so many slots when only some are left.
func reasonFor(reason string, slots, left int) string {
	if rest, ok := strings.CutPrefix(reason, outcome.Several(slots)); ok {
		return outcome.Several(left) + rest
	}
	return reason
}

const (
	keyShared = "shared" // a row of meta: runs are published

	// maxFirstShare is how many runs of the past are published when sharing begins.
	maxFirstShare = 1000
)

// beginSharing reports whether runs are published. If sharing begins with this call, the newest
// runs of the past wait to be published, too.
func beginSharing(ctx context.Context, q querier, share bool) (shared bool, err error) {
	if err := readValue(ctx, q, keyShared, &shared); err != nil || shared || !share {
		return shared, err
	}
	_, err = q.ExecContext(ctx, `UPDATE run SET unpublished = 1 WHERE rowid IN
		(SELECT rowid FROM run INDEXED BY run_slot WHERE phase = 'ended' AND outcome NOT IN ('skipped', 'missed')
			ORDER BY slot DESC LIMIT ?)`, maxFirstShare)
	return true, errors.Join(err, writeValue(ctx, q, keyShared, true))
}

// Unshare undoes share in Record: no run waits to be published any more.
func (r Runs) Unshare(ctx context.Context) error {
	shared := false
	err := r.store.read(ctx, func(q querier) error { return readValue(ctx, q, keyShared, &shared) })
	if err != nil || !shared {
		return err
	}
	return r.store.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE run SET unpublished = 0 WHERE unpublished = 1")
		if err == nil {
			_, err = q.ExecContext(ctx, "DELETE FROM meta WHERE key = ?", keyShared)
		}
		return err
	})
}

// Unpublished returns the ended runs that other servers do not know of yet, in the order in which
// they were added, at most limit.
func (r Runs) Unpublished(ctx context.Context, limit int) ([]Row, error) {
	return askRows(ctx, r.store, selectRows+`INDEXED BY run_unpublished
		WHERE unpublished = 1 AND phase = 'ended' ORDER BY rowid LIMIT ?`, limit)
}

// Published writes down that other servers know of the runs.
func (r Runs) Published(ctx context.Context, runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	return execute(ctx, r.store, "UPDATE run SET unpublished = 0 WHERE id IN (SELECT value FROM json_each(?))",
		jsonTexts(runs))
}

// Unreported returns the runs that ended badly and that no tick has printed yet, in the order in
// which they ended.
func (r Runs) Unreported(ctx context.Context) ([]Row, error) {
	return askRows(ctx, r.store, selectRows+"INDEXED BY run_unreported WHERE unreported = 1 ORDER BY ended, id")
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
