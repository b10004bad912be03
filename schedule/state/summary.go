package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// Summaries adds up the slots that have an outcome, by task, from since to before until. It adds up
// all tasks if task is "", and a zero time is no bound. A row of several slots counts at its first
// slot.
//
// Rows of one slot come from an index alone: what a task and an outcome need as one text, because
// reading a million rows in columns would take seconds. Parts of the tasks are read side by side.
func (p Past) Summaries(ctx context.Context, task string, since, until time.Time) (all []Summary, err error) {
	sums := map[string]*Summary{}
	from, to := sinceMicro(since), untilMicro(until)
	err = p.store.read(ctx, func(q querier) error {
		clear(sums)
		tasks := []string{task}
		if task == "" {
			if tasks, err = column[string](ctx, q, everyTask+" SELECT task FROM name WHERE task IS NOT NULL"); err != nil {
				return err
			}
		}
		if err := addSingles(ctx, q, sums, tasks, from, to); err != nil {
			return err
		}
		return addRanges(ctx, q, sums, from, to, task)
	})
	for _, task := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, *sums[task])
	}
	return all, err
}

// everyTask begins a query with the table name, which has each task that has rows. Its last row is
// NULL.
const everyTask = `WITH RECURSIVE name (task) AS (SELECT min(task) FROM run
	UNION ALL SELECT (SELECT min(task) FROM run WHERE run.task > name.task) FROM name WHERE name.task IS NOT NULL)`

// addSingles adds the rows of one slot, on as many connections as there are processors. Each takes
// every n-th task, because tasks with much history often have names that are alike.
func addSingles(ctx context.Context, q querier, sums map[string]*Summary, tasks []string, from, to any) error {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	parts := make([][]string, min(runtime.GOMAXPROCS(0), readers, len(tasks)))
	for i, task := range tasks {
		parts[i%len(parts)] = append(parts[i%len(parts)], task)
	}
	for _, part := range parts {
		all.Go(func() {
			added := map[string]*Summary{}
			err := addPart(ctx, q, added, jsonList(part), from, to)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(sums, added)
			failed = cmp.Or(failed, err)
		})
	}
	all.Wait()
	return failed
}

// single is the condition of the index run_sum, in its very words: a row of one slot that counts in
// statistics.
const single = "outcome IS NOT NULL AND last_slot IS NULL AND test = 0"

// addPart adds the rows of one slot of some tasks.
func addPart(ctx context.Context, q querier, sums map[string]*Summary, args ...any) error {
	const these = "FROM run INDEXED BY run_sum WHERE task = name.value AND outcome = became.value AND slot >= ?2 AND slot < ?3 AND " + single
	var of durations
	err := each(ctx, q, func(rows *sql.Rows) error {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil || !text.Valid {
			return err
		}
		f := strings.Split(text.String, "\t") // no task has a tab in its name
		n, nerr := strconv.Atoi(f[2])
		newest, serr := strconv.ParseInt(f[3], 10, 64)
		if err := cmp.Or(nerr, serr); err != nil {
			return err
		}
		s, became := sumOf(sums, f[0]), outcome.Outcome(f[1])
		s.Slots[became] += n
		if slot := time.UnixMicro(newest).UTC(); became.Failure() && slot.After(s.Failed) {
			s.Failed, s.FailedAs, s.FailedID = slot, became, f[4]
		}
		of.add(s, became, f[5], f[6])
		return nil
	}, `SELECT (SELECT concat_ws(char(9), name.value, became.value, count(*),
				(SELECT concat(slot, char(9), id) `+these+` ORDER BY slot DESC, id DESC LIMIT 1),
				coalesce(group_concat(ended - started), ''), coalesce(group_concat(iif(scheduled, started - slot, NULL)), ''))
			`+these+` HAVING count(*) > 0)
		FROM json_each(?1) AS name CROSS JOIN json_each(?4) AS became`, append(args, jsonList(outcome.All))...)
	of.settle()
	return err
}

// durations are how long the runs of one task took, and how late they started, in microseconds. The
// rows of a task lie side by side, so the numbers of one task are held at a time.
type durations struct {
	sum        *Summary
	took, late []int64
}

func (d *durations) add(sum *Summary, became outcome.Outcome, took, late string) {
	if sum != d.sum {
		d.settle()
		d.sum, d.took, d.late = sum, d.took[:0], d.late[:0]
	}
	if became == outcome.Succeeded {
		d.took = appendNumbers(d.took, took)
	}
	d.late = appendNumbers(d.late, late)
}

func (d *durations) settle() {
	if d.sum != nil {
		d.sum.Took, d.sum.Late = spread(d.took), spread(d.late)
	}
}

// addRanges adds the rows of several slots: none of these slots ran.
func addRanges(ctx context.Context, q querier, sums map[string]*Summary, args ...any) error {
	return each(ctx, q, func(rows *sql.Rows) error {
		var task string
		var became outcome.Outcome
		var slots int
		if err := rows.Scan(&task, &became, &slots); err != nil {
			return err
		}
		sumOf(sums, task).Slots[became] += slots
		return nil
	}, `SELECT task, outcome, slots FROM run INDEXED BY run_range
		WHERE last_slot >= ?1 AND slot >= ?1 AND slot < ?2 AND ?3 IN ('', task) AND outcome IS NOT NULL AND test = 0`, args...)
}

func sumOf(sums map[string]*Summary, task string) *Summary {
	if sums[task] == nil {
		sums[task] = &Summary{Task: task, Slots: map[outcome.Outcome]int{}}
	}
	return sums[task]
}

func spread(all []int64) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	for i := range all {
		all[i] = max(0, all[i]) // a clock that was set back
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
		return each(ctx, q, func(rows *sql.Rows) error {
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
			return nil
		}, "SELECT task, outcome, slots, run, slot, started, ended, exit_code FROM total")
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
	usual = make(map[string]Usual, len(tasks))
	err = p.store.read(ctx, func(q querier) error {
		clear(usual)
		return each(ctx, q, func(rows *sql.Rows) error {
			var task string
			var list sql.NullString
			err := rows.Scan(&task, &list)
			if took := appendNumbers(nil, list.String); len(took) > 0 {
				slices.Sort(took)
				usual[task] = Usual{len(took), micros(percentile(took, 50))}
			}
			return err
		}, `SELECT name.value, (SELECT group_concat(took) FROM
				(SELECT took FROM
					(SELECT outcome, ended - started AS took FROM run INDEXED BY run_ran WHERE task = name.value AND `+ran+` ORDER BY id DESC LIMIT ?2)
				WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?3))
			FROM json_each(?1) AS name`, jsonList(tasks), usualLooks, usualRuns)
	})
	return usual, err
}

// appendNumbers adds the numbers in a text that group_concat wrote.
func appendNumbers(all []int64, list string) []int64 {
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
		return each(ctx, q, func(rows *sql.Rows) error {
			var task, runs string
			var slot sql.NullInt64
			var body sql.NullString
			if err := rows.Scan(&task, &runs, &slot, &body); err != nil {
				return err
			}
			one, err := tookOf(runs)
			one.Slot = unpackTime(slot)
			if body.Valid {
				one.Snapshot = json.RawMessage(body.String)
			}
			all[task] = one
			return err
		}, everyTask+`
			SELECT name.task,
				(SELECT json_group_array(json_array(took, cpu, memory)) FROM
					(SELECT took, cpu, memory FROM
						(SELECT outcome, ended - started AS took, user_cpu + system_cpu AS cpu, peak_memory AS memory
						FROM run WHERE task = name.task AND `+ran+` ORDER BY id DESC LIMIT ?1)
					WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?2)),
				(SELECT slot FROM run WHERE task = name.task AND `+ran+` AND scheduled = 1 ORDER BY id DESC LIMIT 1),
				(SELECT body FROM definition WHERE id = (SELECT definition FROM run WHERE task = name.task AND `+ran+` ORDER BY id DESC LIMIT 1))
			FROM name WHERE name.task IS NOT NULL AND EXISTS (SELECT 1 FROM run WHERE task = name.task AND `+ran+`)`, usualLooks, usualRuns)
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

// FailuresBefore returns how many runs of the task failed in a row before the run, and ended after
// a time. It counts to most. The run itself need not have a row.
func (p Past) FailuresBefore(ctx context.Context, task, run string, since time.Time, most int) (n int, err error) {
	err = p.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT id, outcome, ended FROM run INDEXED BY run_ran
			WHERE task = ?1 AND `+ran+` AND id < ?2 ORDER BY id DESC LIMIT ?4) AS r
			WHERE ended > ?3 AND id > coalesce((SELECT id FROM run INDEXED BY run_ran
				WHERE task = ?1 AND `+ran+` AND id < ?2 AND outcome = 'succeeded' ORDER BY id DESC LIMIT 1), '')`,
			task, run, since.UnixMicro(), most).Scan(&n)
	})
	return n, err
}
