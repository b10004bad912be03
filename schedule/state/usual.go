package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"
)

// This file says how the last runs of a task went: what they took, and how many failed in a row.

// Usual is how long the last successful runs of a task took.
type Usual struct {
	Runs     int           // how many there were, at most 50
	Duration time.Duration // their median
}

// usualRuns bounds the successful runs of each task that Usual and Costs count. usualWindow bounds
// the runs that they read for these. So a task with ten thousand failures costs no more than a task
// without failures.
const (
	usualRuns   = 50
	usualWindow = 200
)

// Usual returns how long a run of each of the tasks usually takes: the median of its last 50
// successful runs, as far as these are among its last 200 runs. A task without a successful run is
// not in the map. Usual reads an index alone.
func (p Past) Usual(ctx context.Context, tasks []string) (map[string]Usual, error) {
	return ask(ctx, p.store, func(q querier) (map[string]Usual, error) {
		usual := make(map[string]Usual, len(tasks))
		return usual, each(ctx, q, func(rows *sql.Rows) error {
			var task, list string
			err := rows.Scan(&task, orZero(&list))
			if took := appendNumbers(nil, list); len(took) > 0 {
				slices.Sort(took)
				usual[task] = Usual{len(took), micros(percentile(took, 50))}
			}
			return err
		}, `SELECT name.value, (SELECT group_concat(took) FROM
				(SELECT took FROM
					(SELECT outcome, ended - started AS took FROM run INDEXED BY run_ran
					WHERE task = name.value AND `+ran+` ORDER BY id DESC LIMIT ?2)
				WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?3))
			FROM json_each(?1) AS name`, jsonTexts(tasks), usualWindow, usualRuns)
	})
}

// A Cost is what the last successful runs of a task took: at most 50 runs among its last 200 runs.
type Cost struct {
	Runs        int // how many there were
	Median, P95 time.Duration
	CPU         time.Duration   // the median, of all processors together
	Memory      int64           // bytes: the 95th percentile of their largest process; 0 when it is not known
	Slot        time.Time       // the newest slot of the schedule that ran; zero when none has run
	Snapshot    json.RawMessage // the task as it was in its newest run; nil when it is not known
}

// Costs returns what runs took, for each task that has a row of a run, even if no schedule has the
// task any more. A task without a successful run has no Runs.
func (p Past) Costs(ctx context.Context) (map[string]Cost, error) {
	return ask(ctx, p.store, func(q querier) (map[string]Cost, error) {
		costs := map[string]Cost{}
		return costs, each(ctx, q, func(rows *sql.Rows) error {
			var task string
			var runs [][3]int64
			var slot time.Time
			var snapshot json.RawMessage
			err := rows.Scan(&task, asJSON(&runs), asTime(&slot), asJSON(&snapshot))
			cost := costOf(runs)
			cost.Slot, cost.Snapshot = slot, snapshot
			costs[task] = cost
			return err
		}, everyTask+`
			SELECT name.task,
				(SELECT json_group_array(json_array(took, cpu, memory)) FROM
					(SELECT took, cpu, memory FROM
						(SELECT outcome, ended - started AS took, user_cpu + system_cpu AS cpu, peak_memory AS memory
						FROM run WHERE task = name.task AND `+ran+` ORDER BY id DESC LIMIT ?1)
					WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?2)),
				(SELECT slot FROM run WHERE task = name.task AND `+ran+` AND scheduled = 1 ORDER BY id DESC LIMIT 1),
				(SELECT body FROM definition WHERE id =
					(SELECT definition FROM run WHERE task = name.task AND `+ran+` ORDER BY id DESC LIMIT 1))
			FROM name WHERE name.task IS NOT NULL AND EXISTS (SELECT 1 FROM run WHERE task = name.task AND `+ran+`)`,
			usualWindow, usualRuns)
	})
}

// costOf sums up runs. Each has its duration and its processor time, both in microseconds, and its
// memory in bytes.
func costOf(runs [][3]int64) Cost {
	if len(runs) == 0 {
		return Cost{}
	}
	column := func(i int) (all []int64) {
		for _, run := range runs {
			all = append(all, run[i])
		}
		slices.Sort(all)
		return all
	}
	durations, cpu, memory := column(0), column(1), column(2)
	return Cost{
		Runs:   len(runs),
		Median: micros(percentile(durations, 50)),
		P95:    micros(percentile(durations, 95)),
		CPU:    micros(percentile(cpu, 50)),
		Memory: percentile(memory, 95),
	}
}

// FailuresBefore returns how many runs of the task failed in a row before the run, and ended after
// since. It stops counting at limit. The run itself need not have a row.
func (p Past) FailuresBefore(ctx context.Context, task, run string, since time.Time, limit int) (int, error) {
	return askOne[int](ctx, p.store, `SELECT count(*) FROM (SELECT id, outcome, ended FROM run INDEXED BY run_ran
		WHERE task = ?1 AND `+ran+` AND id < ?2 ORDER BY id DESC LIMIT ?4) AS r
		WHERE ended > ?3 AND id > coalesce((SELECT id FROM run INDEXED BY run_ran
			WHERE task = ?1 AND `+ran+` AND id < ?2 AND outcome = 'succeeded' ORDER BY id DESC LIMIT 1), '')`,
		task, run, since.UnixMicro(), limit)
}
