package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Took is what a task's last successful runs took, at most 50 among its last 200 runs, as for Usual.
type Took struct {
	Runs     int // how many there were
	Median   time.Duration
	CPU      time.Duration   // the median, of all processors together
	Memory   int64           // the 95th percentile of their largest process, in bytes; 0 where it is not known
	Slot     time.Time       // the newest that its schedule asked for; zero where there is none
	Snapshot json.RawMessage // the task as it was in the newest run; nil where it is not known
}

// Took returns what runs of each recorded task took. A task without a successful run has no Runs.
func (db *DB) Took(ctx context.Context) (map[string]Took, error) {
	var took map[string]Took
	err := db.file.Do(func(conn *sql.DB) (err error) {
		took, err = allTook(ctx, conn)
		return err
	})
	return took, err
}

func allTook(ctx context.Context, conn *sql.DB) (map[string]Took, error) {
	rows, err := conn.QueryContext(ctx, `SELECT name.task, (SELECT json_group_array(json_array(took, cpu, memory)) FROM
			(SELECT took, cpu, memory FROM
				(SELECT outcome, ended - started AS took, user_cpu + system_cpu AS cpu, peak_memory AS memory
				FROM runs WHERE task = name.task AND `+ran+` ORDER BY run DESC LIMIT ?1)
			WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?2)),
		(SELECT slot FROM runs WHERE task = name.task AND `+ran+` AND origin = '' ORDER BY run DESC LIMIT 1),
		(SELECT body FROM snapshots WHERE id = (SELECT snapshot FROM runs WHERE task = name.task AND `+ran+` ORDER BY run DESC LIMIT 1))
		FROM (SELECT DISTINCT task FROM totals) AS name`, usualLooks, usualRuns)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]Took{}
	for rows.Next() {
		var task, runs string
		var slot sql.NullInt64
		var body sql.NullString
		if err := rows.Scan(&task, &runs, &slot, &body); err != nil {
			return nil, err
		}
		one, err := tookOf(runs)
		if slot.Valid {
			one.Slot = time.UnixMicro(slot.Int64).UTC()
		}
		if body.Valid {
			one.Snapshot = json.RawMessage(body.String)
		}
		if all[task] = one; err != nil {
			return nil, err
		}
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// tookOf reads the JSON of some runs: the microseconds that each took, those of its processors, and its bytes.
func tookOf(text string) (took Took, err error) {
	var runs [][3]int64
	if err := json.Unmarshal([]byte(text), &runs); err != nil || len(runs) == 0 {
		return took, err
	}
	column := func(i int) (all []int64) {
		for _, run := range runs {
			all = append(all, run[i])
		}
		slices.Sort(all)
		return all
	}
	times, cpu, memory := column(0), column(1), column(2)
	return Took{
		Runs: len(runs), Median: microseconds(percentile(times, 50)),
		CPU: microseconds(percentile(cpu, 50)), Memory: percentile(memory, 95),
	}, nil
}
