package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A Query says which records to find; a field that is zero asks for nothing.
type Query struct {
	Task     string
	Mutex    string
	Outcomes []Outcome
	Since    time.Time // slots at or after it
	Until    time.Time // slots before it
	Slot     time.Time // exactly this slot
	Limit    int
}

// Find returns the records that q asks for, the newest slot first, and the newest run of a slot first.
func (db *DB) Find(ctx context.Context, q Query) ([]Record, error) {
	var records []Record
	text, args := q.sql()
	err := db.do(func(conn *sql.DB) (err error) {
		records, err = db.find(ctx, conn, text, args...)
		return err
	})
	return records, err
}

// sql states the query so that an index gives the rows in order, and a limit ends the work early.
// Outcomes of all tasks are looked up one by one (see runs_trouble) and merged.
func (q Query) sql() (string, []any) {
	var arms []string
	var args []any
	where, values := q.where()
	if q.Task == "" && q.Mutex == "" && q.Slot.IsZero() && len(q.Outcomes) > 0 {
		for _, o := range distinct(q.Outcomes) {
			arms = append(arms, selectRuns+strings.Join(append([]string{equalOutcome(o)}, where...), " AND "))
			args = append(append(args, string(o)), values...)
		}
	} else {
		if len(q.Outcomes) > 0 {
			where = append(where, "outcome IN (?"+strings.Repeat(", ?", len(q.Outcomes)-1)+")")
			for _, o := range q.Outcomes {
				values = append(values, string(o))
			}
		}
		arms, args = []string{selectRuns + strings.Join(append(where, "TRUE"), " AND ")}, values
	}
	text := strings.Join(arms, " UNION ALL ") + " ORDER BY slot DESC, run DESC"
	if q.Limit > 0 {
		text, args = text+" LIMIT ?", append(args, q.Limit)
	}
	return text, args
}

// where lists the conditions on everything but the outcome. A unary plus keeps a column from choosing
// the index (https://www.sqlite.org/optoverview.html).
func (q Query) where() (where []string, args []any) {
	add := func(condition string, value any) {
		where, args = append(where, condition), append(args, value)
	}
	if q.Task != "" {
		add("task = ?", q.Task)
	}
	if q.Mutex != "" && q.Task != "" {
		add("+mutex = ?", q.Mutex)
	} else if q.Mutex != "" {
		add("mutex = ?", q.Mutex)
	}
	if !q.Slot.IsZero() {
		add("slot = ?", q.Slot.UnixMicro())
	}
	if !q.Since.IsZero() {
		add("slot >= ?", ceilMicro(q.Since))
	}
	if !q.Until.IsZero() {
		add("slot < ?", ceilMicro(q.Until))
	}
	return where, args
}

// ceilMicro is the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 {
	return t.Add(time.Microsecond - time.Nanosecond).UnixMicro()
}

// equalOutcome repeats the condition of runs_trouble where it holds, or SQLite would not use it.
func equalOutcome(o Outcome) string {
	if o == Succeeded {
		return "outcome = ?"
	}
	return "outcome = ? AND outcome <> 'succeeded'"
}

func distinct(outcomes []Outcome) []Outcome {
	sorted := slices.Sorted(slices.Values(outcomes))
	return slices.Compact(sorted)
}

// Last returns, for each of the tasks that has one, its newest record that tells how its command went:
// neither skipped nor missed. Prune keeps these.
func (db *DB) Last(ctx context.Context, tasks []string) (map[string]Record, error) {
	names, err := json.Marshal(tasks)
	if err != nil {
		return nil, err
	}
	last := make(map[string]Record, len(tasks))
	err = db.do(func(conn *sql.DB) error {
		clear(last)
		records, err := db.find(ctx, conn, `SELECT `+columns+` FROM json_each(?) AS name CROSS JOIN runs ON runs.rowid =
			(SELECT r.rowid FROM runs AS r WHERE r.task = name.value AND r.`+ran+` ORDER BY r.run DESC LIMIT 1)`, string(names))
		for _, r := range records {
			last[r.Task] = r
		}
		return err
	})
	return last, err
}

// Previous returns the newest record of the task that is older than run and tells how its command
// went, and false when there is none. The run itself need not be recorded yet.
func (db *DB) Previous(ctx context.Context, task, run string) (Record, bool, error) {
	var records []Record
	err := db.do(func(conn *sql.DB) (err error) {
		records, err = db.find(ctx, conn, selectRuns+`task = ? AND `+ran+` AND run < ? ORDER BY run DESC LIMIT 1`, task, run)
		return err
	})
	if err != nil || len(records) == 0 {
		return Record{}, false, err
	}
	return records[0], true, nil
}
