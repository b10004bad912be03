package history

import (
	"context"
	"database/sql"

	"sched/schedule/outcome"
)

// Added returns the records that were added after a mark, in the order in which they were: at most limit. It also returns the mark behind
// them, for the next call. The mark 0 returns no records, and the mark behind all of them. A history that was moved aside since begins
// anew: its mark is smaller than the one that was given.
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
