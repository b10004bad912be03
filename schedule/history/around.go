package history

import (
	"context"
	"database/sql"
	"time"
)

// Around is what was recorded around a moment, from which `sched why` finds out why there is no record of the moment
// itself. A time is zero where there is no such record.
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
