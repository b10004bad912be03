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

// A replaced is what gives way to records that are added: the records of slots that were missed, and slots of records that
// stand for several.
type replaced struct {
	records []outcome.Record // by which it is replaced
	ranges  []*rangeRow      // that lose slots
}

// findReplaced returns what gives way to the records. Call it before they are added, and remove afterwards: the number of a
// row must not be free before the new rows have theirs (see metaPublished).
func findReplaced(ctx context.Context, tx *sql.Tx, records []outcome.Record) (*replaced, error) {
	found := &replaced{}
	for _, r := range records {
		if r.Origin == "" && !r.GivesWay() {
			found.records = append(found.records, r)
		}
	}
	if len(found.records) == 0 {
		return found, nil
	}
	return found, found.shrinkRanges(ctx, tx)
}

// remove removes what findReplaced has found.
func (f *replaced) remove(ctx context.Context, tx *sql.Tx, counted tally) error {
	if len(f.records) == 0 {
		return nil
	}
	for _, row := range f.ranges {
		if err := row.write(ctx, tx, counted); err != nil {
			return err
		}
	}
	return f.removeMissed(ctx, tx, counted)
}

// removeMissed removes the records of single slots. There is hardly ever one, so it checks first whether anything was
// missed since then.
func (f *replaced) removeMissed(ctx context.Context, tx *sql.Tx, counted tally) error {
	first, _ := span(f.records)
	var any bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE outcome = 'missed' AND outcome <> 'succeeded' AND slot >= ?1)
		OR EXISTS (SELECT 1 FROM runs WHERE outcome = 'lost' AND outcome <> 'succeeded' AND slot >= ?1)`, first.UnixMicro()).Scan(&any)
	if err != nil || !any {
		return err
	}
	var missed []string
	for _, r := range f.records {
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
		counted.take(key, 1)
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
		r.Reason = fewer(r.Reason, r.Slots, r.Slots-1)
		r.Slots--
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

// rangesOver returns the ranges that reach into the time of the records.
func rangesOver(ctx context.Context, tx *sql.Tx, records []outcome.Record) (ranges []*rangeRow, err error) {
	first, last := span(records)
	rows, err := tx.QueryContext(ctx, `SELECT run, task, outcome, reason, slot, until, slots FROM runs INDEXED BY runs_until
		WHERE until >= ? AND slot <= ?`, first.UnixMicro(), last.UnixMicro())
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

// holds reports whether the range stands for the slot of r.
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
