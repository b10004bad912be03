package state

import (
	"context"
	"database/sql"
	"time"

	"sched/schedule/clock"
)

// This file has the values that runs report. They are written with the step that says what came of
// an attempt.

// KeepSpent is how long a value is kept at least, also without its run: no budget counts longer.
const KeepSpent = 31 * 24 * time.Hour

// writeReported writes the values of the last attempt of a row. A value that is there already
// stays, and counts from the time at which it was written first.
func writeReported(ctx context.Context, q querier, r Row) error {
	for name, value := range r.Values {
		_, err := q.ExecContext(ctx, `INSERT INTO value (run, attempt, name, task, at, value) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, r.ID, r.Attempt.Number, name, r.Task, clock.Now().UnixMicro(), value)
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedBy returns the values that an attempt of a run reported.
func reportedBy(ctx context.Context, q querier, run string, attempt int) (values map[string]float64, err error) {
	err = Each(ctx, q, func(rows *sql.Rows) error {
		var name string
		var value float64
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		if values == nil {
			values = map[string]float64{}
		}
		values[name] = value
		return nil
	}, "SELECT name, value FROM value WHERE run = ? AND attempt = ?", run, attempt)
	return values, err
}

// forgetReported removes a part of the values that no budget counts any more, and whose runs are
// gone, the oldest first.
func forgetReported(ctx context.Context, q querier, now time.Time) error {
	_, err := q.ExecContext(ctx, `DELETE FROM value WHERE (run, attempt, name) IN
		(SELECT run, attempt, name FROM value INDEXED BY value_at WHERE at < ?
			AND NOT EXISTS (SELECT 1 FROM run WHERE id = value.run) ORDER BY at LIMIT 5000)`,
		now.Add(-KeepSpent).UnixMicro())
	return err
}
