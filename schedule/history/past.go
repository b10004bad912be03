package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"time"

	"sched/schedule/outcome"
)

// This file is what pictures of many tasks are made of: each method asks for all of them at once.

// A Span is a task and a time: slots at or after Since (the zero time is before all) that the task has.
type Span struct {
	Task  string
	Since time.Time
}

// Newest returns of each span its newest records before until (zero is after all), at most n, the newest first. They are Short.
func (db *DB) Newest(ctx context.Context, spans []Span, until time.Time, n int) (map[string][]outcome.Record, error) {
	return db.past(ctx, `SELECT `+fewColumns+` FROM json_each(?1) AS span CROSS JOIN runs ON runs.rowid IN (SELECT r.rowid FROM runs AS r
		WHERE r.task = span.value ->> 0 AND r.slot >= span.value ->> 1 AND r.slot < ?2 ORDER BY r.slot DESC, r.run DESC LIMIT ?3)`,
		listOf(spans), untilMicro(until), n)
}

// Ranges returns of each span the records of several slots that reach into it before until, the newest first. They are Short.
func (db *DB) Ranges(ctx context.Context, spans []Span, until time.Time) (map[string][]outcome.Record, error) {
	return db.past(ctx, `SELECT `+fewColumns+` FROM runs INDEXED BY runs_until CROSS JOIN json_each(?1) AS span
		WHERE until >= ?2 AND slot < ?3 AND task = span.value ->> 0 AND until >= span.value ->> 1`,
		listOf(spans), earliest(spans), untilMicro(until))
}

func (db *DB) past(ctx context.Context, query string, args ...any) (map[string][]outcome.Record, error) {
	past := map[string][]outcome.Record{}
	err := db.file.Do(func(conn *sql.DB) error {
		clear(past)
		records, err := findShort(ctx, conn, query, args...)
		for _, r := range records {
			past[r.Task] = append(past[r.Task], r)
		}
		return err
	})
	for _, records := range past {
		slices.SortFunc(records, outcome.NewestFirst)
	}
	return past, err
}

// Counts returns how many records each span has before until, at most most: it reads an index alone.
func (db *DB) Counts(ctx context.Context, spans []Span, until time.Time, most int) (map[string]int, error) {
	counts := map[string]int{}
	err := db.file.Do(func(conn *sql.DB) error {
		clear(counts)
		rows, err := conn.QueryContext(ctx, `SELECT span.value ->> 0, (SELECT count(*) FROM (SELECT 1 FROM runs
			WHERE task = span.value ->> 0 AND slot >= span.value ->> 1 AND slot < ?2 LIMIT ?3)) FROM json_each(?1) AS span`,
			listOf(spans), untilMicro(until), most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var task string
			var n int
			if err := rows.Scan(&task, &n); err != nil {
				return err
			}
			counts[task] = n
		}
		return rows.Err()
	})
	return counts, err
}

// Hours returns the hours of the tasks from that of since to that of until, the earliest first.
func (db *DB) Hours(ctx context.Context, tasks []string, since, until time.Time) (found []Hour, err error) {
	err = db.file.Do(func(conn *sql.DB) (err error) {
		found, err = readHours(ctx, conn, tasks, since, until)
		return err
	})
	return found, err
}

// listOf is a list as json_each reads it: of tasks, each with the first microsecond of its time.
func listOf(spans []Span) string {
	all := make([][2]any, len(spans))
	for i, s := range spans {
		all[i] = [2]any{s.Task, sinceMicro(s.Since)}
	}
	text, _ := json.Marshal(all) // of strings and numbers
	return string(text)
}

func earliest(spans []Span) int64 {
	first := int64(math.MaxInt64)
	for _, s := range spans {
		first = min(first, sinceMicro(s.Since))
	}
	return first
}

func sinceMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return ceilMicro(t)
}

func untilMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return ceilMicro(t)
}
