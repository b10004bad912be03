package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// lastGivingWay returns the records with those at the end that give way (outcome.Record.GivesWay).
func lastGivingWay(records []outcome.Record) []outcome.Record {
	var first, last []outcome.Record
	for _, r := range records {
		if r.GivesWay() {
			last = append(last, r)
		} else {
			first = append(first, r)
		}
	}
	return append(first, last...)
}

const insertMissed = `INSERT INTO runs ` + insertColumns + ` SELECT ` + insertValues + `
	WHERE NOT EXISTS (SELECT 1 FROM runs WHERE task = ?2 AND slot = ?4 AND origin = '') ON CONFLICT (run) DO NOTHING`

// replaceMissed removes what gives way to the records that are added: the record of a slot that was missed, and the
// slot from a record that stands for several.
func replaceMissed(ctx context.Context, tx *sql.Tx, records []outcome.Record, counted tally) error {
	var settled []outcome.Record
	for _, r := range records {
		if r.Origin == "" && !r.GivesWay() {
			settled = append(settled, r)
		}
	}
	if len(settled) == 0 {
		return nil
	}
	if err := removeMissed(ctx, tx, settled, counted); err != nil {
		return err
	}
	return shrinkRanges(ctx, tx, settled, counted)
}

// removeMissed removes the records of single slots. There is hardly ever one, so it checks first whether anything was
// missed since then.
func removeMissed(ctx context.Context, tx *sql.Tx, records []outcome.Record, counted tally) error {
	first, _ := span(records)
	var any bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE outcome = 'missed' AND outcome <> 'succeeded' AND slot >= ?1)
		OR EXISTS (SELECT 1 FROM runs WHERE outcome = 'lost' AND outcome <> 'succeeded' AND slot >= ?1)`, first.UnixMicro()).Scan(&any)
	if err != nil || !any {
		return err
	}
	var missed []string
	for _, r := range records {
		missed = append(missed, outcome.MissedID(r.Task, r.Slot))
	}
	names, err := json.Marshal(missed)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `DELETE FROM runs WHERE run IN (SELECT value FROM json_each(?)) AND until IS NULL
		RETURNING task, outcome`, string(names))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key tallied
		if err := rows.Scan(&key.task, &key.outcome); err != nil {
			return err
		}
		counted.take(key)
	}
	return rows.Err()
}

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

// A rangeRow is the row of a record that stands for several slots.
type rangeRow struct {
	run, task, outcome, reason string
	slot, until                int64 // in microseconds
	slots                      int
}

// shrinkRanges takes the slots of the records from the records of several slots that they lie in. Those stand for the
// slots from the first through the last one that have no record of their own. A range without a slot is removed.
func shrinkRanges(ctx context.Context, tx *sql.Tx, records []outcome.Record, counted tally) error {
	ranges, err := rangesOver(ctx, tx, records)
	if err != nil || len(ranges) == 0 {
		return err
	}
	taken := map[Slot]bool{}
	for _, r := range records {
		i := slices.IndexFunc(ranges, func(row rangeRow) bool { return row.holds(r) })
		slot := Slot{Task: r.Task, At: r.Slot.UTC()}
		if i < 0 || taken[slot] {
			continue
		}
		taken[slot] = true
		own, err := hasOwn(ctx, tx, r) // it ran before, and was taken then
		if err == nil && !own {
			err = ranges[i].shrink(ctx, tx, counted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasOwn reports whether the slot of r has a record of its own.
func hasOwn(ctx context.Context, tx *sql.Tx, r outcome.Record) (own bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE task = ? AND slot = ? AND origin = '' AND until IS NULL)",
		r.Task, r.Slot.UnixMicro()).Scan(&own)
	return own, err
}

// withoutFirst takes the first slot from a range that is about to be added, if that slot has got a record of its own since
// the range was counted.
func withoutFirst(ctx context.Context, tx *sql.Tx, r *outcome.Record) error {
	own, err := hasOwn(ctx, tx, *r)
	if err == nil && own {
		r.Reason = fewer(r.Reason, r.Slots)
		r.Slots--
	}
	return err
}

// fewer is the reason of a range of that many slots when it has lost one.
func fewer(reason string, slots int) string {
	if rest, ok := strings.CutPrefix(reason, outcome.Several(slots)); ok {
		return outcome.Several(slots-1) + rest
	}
	return reason
}

// rangesOver returns the ranges that reach into the time of the records.
func rangesOver(ctx context.Context, tx *sql.Tx, records []outcome.Record) (ranges []rangeRow, err error) {
	first, last := span(records)
	rows, err := tx.QueryContext(ctx, `SELECT run, task, outcome, reason, slot, until, slots FROM runs INDEXED BY runs_until
		WHERE until >= ? AND slot <= ?`, first.UnixMicro(), last.UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row rangeRow
		if err := rows.Scan(&row.run, &row.task, &row.outcome, &row.reason, &row.slot, &row.until, &row.slots); err != nil {
			return nil, err
		}
		ranges = append(ranges, row)
	}
	return ranges, rows.Err()
}

func (row *rangeRow) holds(r outcome.Record) bool {
	at := r.Slot.UnixMicro()
	return row.slots > 0 && row.task == r.Task && row.slot <= at && at <= row.until
}

// shrink takes one slot from the range.
func (row *rangeRow) shrink(ctx context.Context, tx *sql.Tx, counted tally) (err error) {
	row.reason = fewer(row.reason, row.slots)
	row.slots--
	if row.slots == 0 {
		_, err = tx.ExecContext(ctx, "DELETE FROM runs WHERE run = ?", row.run)
	} else {
		_, err = tx.ExecContext(ctx, "UPDATE runs SET slots = ?, reason = ? WHERE run = ?", row.slots, row.reason, row.run)
	}
	counted.take(tallied{row.task, outcome.Outcome(row.outcome)})
	return err
}

// A Slot says that a slot has an outcome. One that stands for several has them from At through Until.
type Slot struct {
	Task      string
	At, Until time.Time // UTC
}

// Slots returns the slots from from to before to that have an outcome, in no order.
func (db *DB) Slots(ctx context.Context, from, to time.Time) (slots []Slot, err error) {
	err = db.do(func(conn *sql.DB) error {
		slots = nil
		rows, err := conn.QueryContext(ctx, `SELECT task, slot, until FROM runs WHERE slot >= ?1 AND slot < ?2 AND origin = ''
			UNION ALL SELECT task, slot, until FROM runs INDEXED BY runs_until WHERE until >= ?1 AND slot < ?1`, from.UnixMicro(), to.UnixMicro())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s Slot
			var at int64
			var until sql.Null[int64]
			if err := rows.Scan(&s.Task, &at, &until); err != nil {
				return err
			}
			if s.At, s.Until = time.UnixMicro(at).UTC(), unpackTime(until); s.Until.IsZero() {
				s.Until = s.At
			}
			slots = append(slots, s)
		}
		return rows.Err()
	})
	return slots, err
}
