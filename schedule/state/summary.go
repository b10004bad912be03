package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// Past adds rows up, for many tasks at once. Runs of sched test count nowhere.
type Past struct{ store store }

// Past returns what the rows of the database add up to.
func (db *DB) Past() Past { return Past{db} }

// A Summary is what the rows of one task in a time add up to.
type Summary struct {
	Task     string
	Slots    map[outcome.Outcome]int // how many slots had which outcome
	Took     Spread                  // from start to end, of the runs that succeeded
	Late     Spread                  // from slot to start, of the runs of the schedule
	Failed   time.Time               // the slot of the newest failure; zero when no run failed
	FailedAs outcome.Outcome         // the outcome of that failure
	FailedID string                  // and its run
}

// A Spread is how long some runs took.
type Spread struct {
	Runs             int // 0: the other fields mean nothing
	Median, P95, Max time.Duration
}

// Ran returns how many slots ran, whatever their outcome.
func (s Summary) Ran() int {
	n := s.Slots[outcome.Succeeded]
	for outcome, slots := range s.Slots {
		if outcome.Failure() {
			n += slots
		}
	}
	return n
}

// SuccessRate returns the share of the slots that ran which succeeded, from 0 to 1. It returns
// false when no slot ran.
func (s Summary) SuccessRate() (rate float64, ok bool) {
	ran := s.Ran()
	if ran == 0 {
		return 0, false
	}
	return float64(s.Slots[outcome.Succeeded]) / float64(ran), true
}

// Summaries adds up the ended rows, by task, of slots from since to before until. It adds up all
// tasks if task is "", and a zero time is no bound. It reads each of these rows, and the matching
// rows of more. A row of several slots counts at its first slot.
func (p Past) Summaries(ctx context.Context, task string, since, until time.Time, more ...Row) (all []Summary, err error) {
	query := `SELECT task, outcome, slot, slots, started, ended, id, scheduled FROM run WHERE phase = 'ended' AND test = 0`
	var args []any
	if task != "" {
		query, args = query+" AND task = ?", append(args, task)
	}
	query, args = query+" AND slot >= ? AND slot < ?", append(args, sinceMicro(since), untilMicro(until))
	sums := map[string]*sum{}
	err = p.store.read(ctx, func(q querier) error {
		clear(sums)
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var one summed
			if err := rows.Scan(&one.task, &one.outcome, &one.slot, &one.slots, &one.started, &one.ended, &one.id, &one.scheduled); err != nil {
				return err
			}
			one.addTo(sums)
		}
		return rows.Err()
	})
	for _, r := range more {
		if err == nil && (Query{Task: task, Since: since, Until: until}).Matches(r) {
			summedOf(r).addTo(sums)
		}
	}
	for _, task := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, sums[task].summary())
	}
	return all, err
}

// A sum is a Summary in the making; durations are microseconds.
type sum struct {
	Summary
	took, late []int64
}

// summed has the columns of a row that a Summary needs.
type summed struct {
	task, id       string
	outcome        outcome.Outcome
	slot           int64
	slots          int
	scheduled      bool
	started, ended sql.NullInt64
}

func summedOf(r Row) summed {
	one := summed{task: r.Task, id: r.ID, outcome: r.Outcome, slot: r.Slot.UnixMicro(), slots: max(r.Slots, 1), scheduled: r.Scheduled}
	one.started = sql.NullInt64{Int64: r.Started.UnixMicro(), Valid: !r.Started.IsZero()}
	one.ended = sql.NullInt64{Int64: r.Ended.UnixMicro(), Valid: !r.Ended.IsZero()}
	return one
}

func (r summed) addTo(sums map[string]*sum) {
	s := sums[r.task]
	if s == nil {
		s = &sum{Summary: Summary{Task: r.task, Slots: map[outcome.Outcome]int{}}}
		sums[r.task] = s
	}
	s.Slots[r.outcome] += r.slots
	if slot := time.UnixMicro(r.slot).UTC(); r.outcome.Failure() && !slot.Before(s.Failed) {
		s.Failed, s.FailedAs, s.FailedID = slot, r.outcome, r.id
	}
	if r.outcome == outcome.Succeeded && r.started.Valid && r.ended.Valid {
		s.took = append(s.took, max(0, r.ended.Int64-r.started.Int64))
	}
	if r.scheduled && r.started.Valid {
		s.late = append(s.late, max(0, r.started.Int64-r.slot))
	}
}

func (s *sum) summary() Summary {
	s.Took, s.Late = spread(s.took), spread(s.late)
	return s.Summary
}

func spread(all []int64) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	return Spread{len(all), micros(percentile(all, 50)), micros(percentile(all, 95)), micros(all[len(all)-1])}
}

// percentile returns the smallest of the sorted values that at least percent of them do not exceed
// (nearest rank). There must be at least one value.
func percentile[T cmp.Ordered](sorted []T, percent int) T {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// A Total is how many slots of a task ended with one outcome, pruned rows included. Slots never
// goes down, unless a slot that was missed turns out to have run.
type Total struct {
	Task    string
	Outcome outcome.Outcome
	Slots   int64

	// The newest of these runs; its row may have been pruned, too.
	Run                  string
	Slot, Started, Ended time.Time
	ExitCode             *int
}

// Totals returns the totals of every task. Its cost does not depend on the number of rows.
func (p Past) Totals(ctx context.Context) (totals map[string][]Total, err error) {
	totals = map[string][]Total{}
	err = p.store.read(ctx, func(q querier) error {
		clear(totals)
		rows, err := q.QueryContext(ctx, "SELECT task, outcome, slots, run, slot, started, ended, exit_code FROM total")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var t Total
			var slot int64
			var started, ended sql.NullInt64
			var exit sql.Null[int]
			if err := rows.Scan(&t.Task, &t.Outcome, &t.Slots, &t.Run, &slot, &started, &ended, &exit); err != nil {
				return err
			}
			t.Slot, t.Started, t.Ended = time.UnixMicro(slot).UTC(), unpackTime(started), unpackTime(ended)
			if exit.Valid {
				t.ExitCode = &exit.V
			}
			totals[t.Task] = append(totals[t.Task], t)
		}
		return rows.Err()
	})
	return totals, err
}

// LastRan returns the newest total of a task that is neither skipped nor missed; nil if there is no
// such total.
func LastRan(totals []Total) (last *Total) {
	for i, t := range totals {
		if t.Outcome != outcome.Skipped && t.Outcome != outcome.Missed && (last == nil || t.Run > last.Run) {
			last = &totals[i]
		}
	}
	return last
}

// Usual is how long the last successful runs of a task took.
type Usual struct {
	Runs     int           // how many there were, at most 50
	Duration time.Duration // their median
}

// usualRuns bounds the successful runs of each task that Usual counts. usualLooks bounds the runs
// that it reads for them. So a task with ten thousand failures costs no more than a task without
// failures.
const (
	usualRuns  = 50
	usualLooks = 200
)

// Usual returns how long a run of each of the tasks usually takes: the median of its last 50
// successful runs, as far as these are among its last 200 runs. A task without a successful run is
// not in the map. Usual reads an index alone.
func (p Past) Usual(ctx context.Context, tasks []string) (usual map[string]Usual, err error) {
	names, err := json.Marshal(tasks)
	if err != nil || len(tasks) == 0 {
		return map[string]Usual{}, err
	}
	usual = make(map[string]Usual, len(tasks))
	err = p.store.read(ctx, func(q querier) error {
		clear(usual)
		rows, err := q.QueryContext(ctx, `SELECT name.value, (SELECT group_concat(took) FROM
				(SELECT took FROM
					(SELECT outcome, ended - started AS took FROM run INDEXED BY run_ran WHERE task = name.value AND `+ran+` ORDER BY id DESC LIMIT ?2)
				WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?3))
			FROM json_each(?1) AS name`, string(names), usualLooks, usualRuns)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var task string
			var list sql.NullString
			if err := rows.Scan(&task, &list); err != nil {
				return err
			}
			if took := numbers(list.String); len(took) > 0 {
				slices.Sort(took)
				usual[task] = Usual{len(took), micros(percentile(took, 50))}
			}
		}
		return rows.Err()
	})
	return usual, err
}

// numbers reads the text that group_concat wrote.
func numbers(list string) (all []int64) {
	for text := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// Took is what the last successful runs of a task took, at most 50 among its last 200 runs.
type Took struct {
	Runs        int // how many there were
	Median, P95 time.Duration
	CPU         time.Duration   // the median, of all processors together
	Memory      int64           // bytes: the 95th percentile of their largest process; 0 when it is not known
	Slot        time.Time       // the newest slot of the schedule that ran; zero when none has run
	Snapshot    json.RawMessage // the task as it was in its newest run; nil when it is not known
}

// Took returns what runs took, for each task that has a row of a run, even if no schedule has the
// task any more. A task without a successful run has no Runs.
func (p Past) Took(ctx context.Context) (all map[string]Took, err error) {
	all = map[string]Took{}
	err = p.store.read(ctx, func(q querier) error {
		clear(all)
		rows, err := q.QueryContext(ctx, `WITH RECURSIVE name (task) AS (
				SELECT min(task) FROM run
				UNION ALL SELECT (SELECT min(task) FROM run WHERE run.task > name.task) FROM name WHERE name.task IS NOT NULL)
			SELECT name.task,
				(SELECT json_group_array(json_array(took, cpu, memory)) FROM
					(SELECT took, cpu, memory FROM
						(SELECT outcome, ended - started AS took, user_cpu + system_cpu AS cpu, peak_memory AS memory
						FROM run WHERE task = name.task AND `+ran+` ORDER BY id DESC LIMIT ?1)
					WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?2)),
				(SELECT slot FROM run WHERE task = name.task AND `+ran+` AND scheduled = 1 ORDER BY id DESC LIMIT 1),
				(SELECT body FROM definition WHERE id = (SELECT definition FROM run WHERE task = name.task AND `+ran+` ORDER BY id DESC LIMIT 1))
			FROM name WHERE name.task IS NOT NULL AND EXISTS (SELECT 1 FROM run WHERE task = name.task AND `+ran+`)`, usualLooks, usualRuns)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var task, runs string
			var slot sql.NullInt64
			var body sql.NullString
			if err := rows.Scan(&task, &runs, &slot, &body); err != nil {
				return err
			}
			one, err := tookOf(runs)
			if err != nil {
				return err
			}
			one.Slot = unpackTime(slot)
			if body.Valid {
				one.Snapshot = json.RawMessage(body.String)
			}
			all[task] = one
		}
		return rows.Err()
	})
	return all, err
}

// tookOf reads the JSON of some runs: for each run its duration and its processor time, both in
// microseconds, and its memory in bytes.
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
		Runs: len(runs), Median: micros(percentile(times, 50)), P95: micros(percentile(times, 95)),
		CPU: micros(percentile(cpu, 50)), Memory: percentile(memory, 95),
	}, nil
}
