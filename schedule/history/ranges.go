package history

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// span returns the first and the last slot of the records, of which there must be one.
func span(records []outcome.Record) (first, last time.Time) {
	first, last = records[0].Slot, records[0].Slot
	for _, r := range records {
		if r.Slot.Before(first) {
			first = r.Slot
		}
		if r.Slot.After(last) {
			last = r.Slot
		}
	}
	return first, last
}

// A rangeRow is the row of a record that stands for several slots: those from slot through until that have no record of
// their own.
type rangeRow struct {
	run, task, outcome, reason string
	slot, until                int64 // in microseconds
	slots                      int
	lost                       int // how many of them get a record of their own now
}

// shrinkRanges takes the slots of the records from the ranges that they lie in.
func (f *replaced) shrinkRanges(ctx context.Context, tx *sql.Tx) error {
	ranges, err := rangesOver(ctx, tx, f.records)
	if err != nil || len(ranges) == 0 {
		return err
	}
	f.ranges = ranges
	taken := map[Slot]bool{}
	for _, r := range f.records {
		i := slices.IndexFunc(ranges, func(row *rangeRow) bool { return row.holds(r) })
		slot := Slot{Task: r.Task, At: r.Slot.UTC()}
		if i < 0 || taken[slot] {
			continue
		}
		taken[slot] = true
		own, err := hasOwn(ctx, tx, r) // it ran before, and was taken then
		if err != nil {
			return err
		}
		if !own {
			ranges[i].lost++
		}
	}
	return nil
}

func hasOwn(ctx context.Context, tx *sql.Tx, r outcome.Record) (own bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE task = ? AND slot = ? AND origin = '' AND until IS NULL)",
		r.Task, r.Slot.UnixMicro()).Scan(&own)
	return own, err
}

// withoutOwn takes the slots that have a record of their own from a range that is about to be added, but for those that
// lie in another range, which the range does not count.
func withoutOwn(ctx context.Context, tx *sql.Tx, r *outcome.Record) error {
	var own int
	err := tx.QueryRowContext(ctx, `SELECT count(DISTINCT slot) FROM runs AS own WHERE task = ?1 AND slot >= ?2 AND slot <= ?3
		AND origin = '' AND until IS NULL AND NOT EXISTS
			(SELECT 1 FROM runs INDEXED BY runs_until WHERE until >= own.slot AND slot <= own.slot AND task = ?1 AND run <> ?4)`,
		r.Task, r.Slot.UnixMicro(), r.Until.UnixMicro(), r.Run).Scan(&own)
	if err == nil {
		left := max(0, r.Slots-own)
		r.Reason, r.Slots = fewer(r.Reason, r.Slots, left), left
	}
	return err
}

// fewer returns the reason of a range of that many slots when only some are left.
func fewer(reason string, slots, left int) string {
	if rest, ok := strings.CutPrefix(reason, outcome.Several(slots)); ok {
		return outcome.Several(left) + rest
	}
	return reason
}

// rangesOver returns the ranges that reach into the time of the records, the shortest first: a slot is counted by the shortest
// range that it lies in.
func rangesOver(ctx context.Context, tx *sql.Tx, records []outcome.Record) (ranges []*rangeRow, err error) {
	first, last := span(records)
	rows, err := tx.QueryContext(ctx, `SELECT run, task, outcome, reason, slot, until, slots FROM runs INDEXED BY runs_until
		WHERE until >= ? AND slot <= ? ORDER BY until - slot`, first.UnixMicro(), last.UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row := &rangeRow{}
		if err := rows.Scan(&row.run, &row.task, &row.outcome, &row.reason, &row.slot, &row.until, &row.slots); err != nil {
			return nil, err
		}
		ranges = append(ranges, row)
	}
	return ranges, rows.Err()
}

func (row *rangeRow) holds(r outcome.Record) bool {
	at := r.Slot.UnixMicro()
	return row.slots > row.lost && row.task == r.Task && row.slot <= at && at <= row.until
}

// write writes down what the range has lost. A range without a slot is removed.
func (row *rangeRow) write(ctx context.Context, tx *sql.Tx, counted tally) (err error) {
	switch left := row.slots - row.lost; {
	case row.lost == 0:
		return nil
	case left == 0:
		_, err = tx.ExecContext(ctx, "DELETE FROM runs WHERE run = ?", row.run)
	default:
		_, err = tx.ExecContext(ctx, "UPDATE runs SET slots = ?, reason = ? WHERE run = ?", left, fewer(row.reason, row.slots, left), row.run)
	}
	counted.take(tallied{row.task, outcome.Outcome(row.outcome)}, int64(row.lost))
	return err
}
