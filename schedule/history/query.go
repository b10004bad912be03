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

// A Query says which records to find; a field that is zero restricts nothing. A record of several slots
// is found where any of them may lie between Since and Until.
type Query struct {
	Task     string
	Mutex    string
	Outcomes []outcome.Outcome
	Since    time.Time // slots at or after it
	Until    time.Time // slots before it
	Slot     time.Time // exactly this slot
	Below    Position  // records that stand below it: older ones
	Limit    int
	Short    bool // records come with their times, outcome, reason, attempts and origin alone: for who asks for very many
}

// A Position is a place in the order of Find, just below one record. The zero Position is above all of them.
type Position struct {
	Slot time.Time
	Run  string
}

// PositionOf is the place below a record.
func PositionOf(r outcome.Record) Position { return Position{r.Slot, r.Run} }

func (p Position) holds(r outcome.Record) bool {
	return p == Position{} || r.Slot.Before(p.Slot) || r.Slot.Equal(p.Slot) && r.Run < p.Run
}

// Matches reports whether a record is one that q says, whatever its Limit.
func (q Query) Matches(r outcome.Record) bool {
	return (q.Task == "" || q.Task == r.Task) &&
		(q.Mutex == "" || q.Mutex == r.Mutex) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, r.Outcome)) &&
		(q.Since.IsZero() || !r.Slot.Before(q.Since)) &&
		(q.Until.IsZero() || r.Slot.Before(q.Until)) &&
		(q.Slot.IsZero() || r.Slot.Equal(q.Slot)) &&
		q.Below.holds(r)
}

// Find returns the records that q says, the newest slot first, and the newest run of a slot first.
func (db *DB) Find(ctx context.Context, q Query) ([]outcome.Record, error) {
	var records []outcome.Record
	text, args := q.sql()
	err := db.file.Do(func(conn *sql.DB) (err error) {
		if q.Short {
			records, err = findShort(ctx, conn, text, args...)
		} else {
			records, err = db.find(ctx, conn, text, args...)
		}
		return err
	})
	return records, err
}

// sql states the query so that an index gives the rows in order, and a limit ends the work early.
// Outcomes of all tasks are looked up one by one (see runs_trouble) and merged; so are the two kinds of
// rows of a mutex (see runs_mutex), and ranges that began before Since (see runs_until).
func (q Query) sql() (string, []any) {
	var arms []string
	var args []any
	columns := columns
	if q.Short {
		columns = fewColumns
	}
	where, values := q.where()
	arm := func(condition string, value ...any) {
		if !q.Since.IsZero() {
			condition, value = condition+" AND slot >= ?", append(value, ceilMicro(q.Since))
		}
		arms = append(arms, "SELECT "+columns+" FROM runs "+condition+where)
		args = append(append(args, value...), values...)
	}
	switch {
	case q.Task != "":
		arm("WHERE task = ?", q.Task)
	case q.Mutex != "":
		arm("WHERE task = ?", q.Mutex)
		arm("WHERE mutex = ? AND mutex <> task", q.Mutex)
	case len(q.Outcomes) > 0 && q.Slot.IsZero():
		for _, o := range distinct(q.Outcomes) {
			arm(withOutcome(o), string(o))
		}
	default:
		arm(inOrder + "TRUE")
	}
	if !q.Since.IsZero() {
		condition, value := q.reaching()
		arms = append(arms, "SELECT "+columns+" FROM runs INDEXED BY runs_until WHERE "+condition+where)
		args = append(append(args, value...), values...)
	}
	text := strings.Join(arms, " UNION ALL ") + " ORDER BY slot DESC, run DESC"
	if q.Limit > 0 {
		text, args = text+" LIMIT ?", append(args, q.Limit)
	}
	return text, args
}

// reaching is the condition of ranges that began before Since and reach into it.
func (q Query) reaching() (condition string, args []any) {
	condition, args = "until >= ? AND slot < ?", []any{ceilMicro(q.Since), ceilMicro(q.Since)}
	if q.Task != "" {
		condition, args = condition+" AND task = ?", append(args, q.Task)
	}
	return condition, args
}

// where is the conditions of all arms, each after an AND; those that must not choose the index carry a unary plus
// (https://www.sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_).
func (q Query) where() (where string, args []any) {
	add := func(condition string, value ...any) {
		where, args = where+" AND "+condition, append(args, value...)
	}
	if q.Mutex != "" {
		add("+mutex = ?", q.Mutex)
	}
	if len(q.Outcomes) > 0 {
		add("+outcome IN (?"+strings.Repeat(", ?", len(q.Outcomes)-1)+")", anys(q.Outcomes)...)
	}
	if !q.Slot.IsZero() {
		add("slot = ?", q.Slot.UnixMicro())
	}
	if !q.Until.IsZero() {
		add("slot < ?", ceilMicro(q.Until))
	}
	if q.Below != (Position{}) {
		at := q.Below.Slot.UnixMicro()
		add("slot <= ? AND (slot < ? OR run < ?)", at, at, q.Below.Run)
	}
	return where, args
}

func anys(outcomes []outcome.Outcome) []any {
	var all []any
	for _, o := range outcomes {
		all = append(all, string(o))
	}
	return all
}

// ceilMicro is the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 {
	return t.Add(time.Microsecond - time.Nanosecond).UnixMicro()
}

// inOrder has the rows read in the order of the result, so that a small limit ends the work early.
const inOrder = "INDEXED BY runs_slot WHERE "

// withOutcome repeats the condition of runs_trouble where it holds, or SQLite would not use it.
func withOutcome(o outcome.Outcome) string {
	if o == outcome.Succeeded {
		return inOrder + "outcome = ?"
	}
	return "WHERE outcome = ? AND outcome <> 'succeeded'"
}

func distinct(outcomes []outcome.Outcome) []outcome.Outcome {
	sorted := slices.Sorted(slices.Values(outcomes))
	return slices.Compact(sorted)
}

// Last returns, without snapshots, each task's newest record that is neither skipped nor missed.
// Prune keeps these records.
func (db *DB) Last(ctx context.Context, tasks []string) (map[string]outcome.Record, error) {
	names, err := json.Marshal(tasks)
	if err != nil {
		return nil, err
	}
	last := make(map[string]outcome.Record, len(tasks))
	err = db.file.Do(func(conn *sql.DB) error {
		clear(last)
		records, err := db.find(ctx, conn, `SELECT `+columnsAlone+`NULL FROM json_each(?) AS name CROSS JOIN runs ON runs.rowid =
			(SELECT r.rowid FROM runs AS r WHERE r.task = name.value AND r.`+ran+` ORDER BY r.run DESC LIMIT 1)`, string(names))
		for _, r := range records {
			last[r.Task] = r
		}
		return err
	})
	return last, err
}

// Previous returns the task's newest run older than run, if any. run itself may be unrecorded.
func (db *DB) Previous(ctx context.Context, task, run string) (outcome.Record, bool, error) {
	var records []outcome.Record
	err := db.file.Do(func(conn *sql.DB) (err error) {
		records, err = db.find(ctx, conn, selectRuns+`task = ? AND `+ran+` AND run < ? ORDER BY run DESC LIMIT 1`, task, run)
		return err
	})
	if err != nil || len(records) == 0 {
		return outcome.Record{}, false, err
	}
	return records[0], true, nil
}

// Around is what was recorded around a moment, for `sched why`. A time is zero for no record.
type Around struct {
	First     time.Time // the oldest slot of all tasks
	Before    time.Time // the newest slot of any task before the moment
	After     time.Time // the oldest slot of any task at or after it
	TaskFirst time.Time // the oldest slot of the task
	TaskSince int       // how many records the task has at or after the moment, counted up to a limit
}

// Around returns what was recorded around at, of the task and of all. It counts no more than limit.
func (db *DB) Around(ctx context.Context, task string, at time.Time, limit int) (Around, error) {
	var a Around
	err := db.file.Do(func(conn *sql.DB) error {
		var first, before, after, taskFirst sql.Null[int64]
		err := conn.QueryRowContext(ctx, `SELECT
			(SELECT min(slot) FROM runs),
			(SELECT max(slot) FROM runs WHERE slot < ?1),
			(SELECT min(slot) FROM runs WHERE slot >= ?1),
			(SELECT min(slot) FROM runs WHERE task = ?2),
			(SELECT count(*) FROM (SELECT 1 FROM runs WHERE task = ?2 AND slot >= ?1 LIMIT ?3))`, ceilMicro(at), task, limit).
			Scan(&first, &before, &after, &taskFirst, &a.TaskSince)
		a.First, a.Before, a.After, a.TaskFirst = unpackTime(first), unpackTime(before), unpackTime(after), unpackTime(taskFirst)
		return err
	})
	return a, err
}

// Added returns at most limit records after a mark, in the order of adding, and the next mark. The
// mark 0 returns none, and the newest mark. After a history was moved aside, marks are smaller.
func (db *DB) Added(ctx context.Context, mark int64, limit int) (records []outcome.Record, behind int64, err error) {
	err = db.file.Do(func(conn *sql.DB) error {
		var last sql.Null[int64]
		if err := conn.QueryRowContext(ctx, "SELECT max(rowid) FROM runs").Scan(&last); err != nil {
			return err
		}
		records, behind = nil, last.V
		if mark == 0 || last.V <= mark {
			return nil
		}
		if last.V > mark+int64(limit) {
			behind = mark + int64(limit)
		}
		records, err = db.find(ctx, conn, selectRuns+"rowid > ? AND rowid <= ? ORDER BY rowid", mark, behind)
		return err
	})
	return records, behind, err
}
