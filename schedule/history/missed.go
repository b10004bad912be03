package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"sched/schedule/outcome"
)

// lastGivingWay returns the records with those at the end that give way (outcome.Record.GivesWay), and ranges, which count
// what is there.
func lastGivingWay(records []outcome.Record) []outcome.Record {
	var first, last []outcome.Record
	for _, r := range records {
		if r.GivesWay() || r.IsRange() {
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
		if r.Origin == "" && !r.IsRange() && (!r.GivesWay() || r.Outcome == outcome.Lost) {
			found.records = append(found.records, r)
		}
	}
	if len(found.records) == 0 {
		return found, nil
	}
	return found, found.shrinkRanges(ctx, tx)
}

func (f *replaced) remove(ctx context.Context, tx *sql.Tx, counted tally, perHour *hourTally) error {
	if len(f.records) == 0 {
		return nil
	}
	for _, row := range f.ranges {
		if err := row.write(ctx, tx, counted); err != nil {
			return err
		}
	}
	return f.removeMissed(ctx, tx, counted, perHour)
}

// removeMissed removes the records of single slots. There is hardly ever one, so it checks first whether anything was
// missed since then.
func (f *replaced) removeMissed(ctx context.Context, tx *sql.Tx, counted tally, perHour *hourTally) error {
	first, _ := span(f.records)
	var any bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE outcome = 'missed' AND outcome <> 'succeeded' AND slot >= ?1)
		OR EXISTS (SELECT 1 FROM runs WHERE outcome = 'lost' AND outcome <> 'succeeded' AND slot >= ?1)`, first.UnixMicro()).Scan(&any)
	if err != nil || !any {
		return err
	}
	var missed []string
	for _, r := range f.records {
		if !r.GivesWay() { // else that is its own id
			missed = append(missed, outcome.MissedID(r.Task, r.Slot))
		}
	}
	names, err := json.Marshal(missed)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `DELETE FROM runs WHERE run IN (SELECT value FROM json_each(?)) AND until IS NULL
		RETURNING task, outcome, slot`, string(names))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key tallied
		var slot int64
		if err := rows.Scan(&key.task, &key.outcome, &slot); err != nil {
			return err
		}
		counted.take(key, 1)
		perHour.remove(key.task, time.UnixMicro(slot))
	}
	return rows.Err()
}

// A Slot says that a slot has an outcome. One that stands for several has them from At through Until.
type Slot struct {
	Task      string
	At, Until time.Time // UTC
	Missed    bool      // that is the outcome
}

// Slots returns the slots from from to before to that have an outcome, in no order.
func (db *DB) Slots(ctx context.Context, from, to time.Time) (slots []Slot, err error) {
	err = db.file.Do(func(conn *sql.DB) error {
		slots = nil
		rows, err := conn.QueryContext(ctx, `SELECT task, slot, until, outcome = 'missed' FROM runs WHERE slot >= ?1 AND slot < ?2 AND origin = ''
			UNION ALL SELECT task, slot, until, outcome = 'missed' FROM runs INDEXED BY runs_until WHERE until >= ?1 AND slot < ?1`, from.UnixMicro(), to.UnixMicro())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s Slot
			var at int64
			var until sql.Null[int64]
			if err := rows.Scan(&s.Task, &at, &until, &s.Missed); err != nil {
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
