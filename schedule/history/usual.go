package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"
)

// Usual is how long a task's last successful runs took.
type Usual struct {
	Runs     int           // how many there were, at most 50
	Duration time.Duration // their median
}

// usualRuns bounds the successful runs of each task that Usual counts; usualLooks bounds those it reads for
// them, so that a task that has failed ten thousand times costs no more than one that did not.
const (
	usualRuns  = 50
	usualLooks = 200
)

// Usual returns the median duration of each task's last 50 successes among its last 200 runs.
// A task without any is not in the map.
func (db *DB) Usual(ctx context.Context, tasks []string) (map[string]Usual, error) {
	if len(tasks) == 0 { // null would be a task for json_each
		return map[string]Usual{}, nil
	}
	names, err := json.Marshal(tasks)
	if err != nil {
		return nil, err
	}
	usual := make(map[string]Usual, len(tasks))
	err = db.file.Do(func(conn *sql.DB) error {
		clear(usual)
		return usuals(ctx, conn, string(names), usual)
	})
	return usual, err
}

func usuals(ctx context.Context, conn *sql.DB, names string, usual map[string]Usual) error {
	rows, err := conn.QueryContext(ctx, `SELECT name.value, (SELECT json_group_array(took) FROM
			(SELECT took FROM
				(SELECT outcome, ended - started AS took FROM runs WHERE task = name.value AND `+ran+` ORDER BY run DESC LIMIT ?2)
			WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?3))
		FROM json_each(?1) AS name`, names, usualLooks, usualRuns)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var task string
		var text sql.RawBytes
		if err := rows.Scan(&task, &text); err != nil {
			return err
		}
		var took []int64
		if err := json.Unmarshal(text, &took); err != nil {
			return err
		}
		if len(took) > 0 {
			slices.Sort(took)
			usual[task] = Usual{len(took), microseconds(percentile(took, 50))}
		}
	}
	return rows.Err()
}

// percentile is by the nearest-rank definition: always a measured value. sorted must not be empty.
func percentile[T cmp.Ordered](sorted []T, percent int) T {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
