package hours

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// packed is the SQL of many hours of a task as one text: a week of thirty tasks has some seven thousand, and a row of the result for each
// would cost as much as finding it.
const packed = `group_concat(hour || ' ' || minutes || ' ' || runs || ' ' || took || ' ' || outcome, ';')`

// Read returns the hours of the tasks from that of from to that of to: one task after another, the earliest first.
func Read(ctx context.Context, conn *sql.DB, tasks []string, from, to time.Time) ([]Hour, error) {
	var all []int64
	for at := max(from.UnixMicro(), 0) / hour; at <= to.UnixMicro()/hour; at++ {
		all = append(all, at)
	}
	return read(ctx, conn, `SELECT name.value, (SELECT `+packed+` FROM json_each(?1) AS one CROSS JOIN hours ON hour = one.value AND task = name.value)
		FROM json_each(?2) AS name`, listed(all), listed(tasks))
}

// ReadRuns is Read of a file that does not have the table yet: it takes as long as reading every record.
func ReadRuns(ctx context.Context, conn *sql.DB, tasks []string, from, to time.Time) ([]Hour, error) {
	first, last := max(from.UnixMicro(), 0)/hour, to.UnixMicro()/hour
	return read(ctx, conn, `WITH made (hour, task, outcome, minutes, runs, took) AS (`+ofRuns+
		` AND task IN (SELECT value FROM json_each(?)) AND slot >= ? AND slot < ?`+grouped+`)
		SELECT task, `+packed+` FROM made GROUP BY task`, listed(tasks), first*hour, (last+1)*hour)
}

// read reads rows of a task and its packed hours.
func read(ctx context.Context, conn *sql.DB, query string, args ...any) (all []Hour, err error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var task string
		var text sql.NullString // NULL for a task without an hour
		if err := rows.Scan(&task, &text); err != nil {
			return nil, err
		}
		if all, err = unpack(all, task, text.String); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

// unpack adds the hours of a task to all.
func unpack(all []Hour, task, text string) ([]Hour, error) {
	first := len(all)
	for text != "" {
		var rest string
		rest, text, _ = strings.Cut(text, ";")
		var n [4]int64
		for i := range n {
			word, behind, _ := strings.Cut(rest, " ")
			number, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("an hour of %s: %w", task, err)
			}
			n[i], rest = number, behind
		}
		all = append(all, Hour{
			Task: task, Outcome: outcome.Outcome(rest), Begin: time.UnixMicro(n[0] * hour).UTC(), Minutes: uint64(n[1]),
			Runs: int(n[2]), Took: time.Duration(n[3]) * time.Microsecond,
		})
	}
	slices.SortStableFunc(all[first:], func(a, b Hour) int { return a.Begin.Compare(b.Begin) })
	return all, nil
}

// listed is a list as json_each reads it.
func listed[T any](all []T) string {
	if len(all) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(all) // of numbers or strings
	return string(text)
}
