package past

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
	"sched/schedule/state"
	"sched/schedule/state/sqltype"
)

// A Summary is what the rows of one task in a time add up to.
type Summary struct {
	Task     string
	Slots    map[outcome.Outcome]int // how many slots had which outcome
	Wanted   int                     // how many of the stopped ones a person or a pause stopped: no failures
	Took     Spread                  // from start to end, of the runs that succeeded
	Late     Spread                  // from slot to start, of the runs of the schedule
	Failed   time.Time               // the slot of the newest failure; zero when no run failed
	FailedAs outcome.Outcome         // the outcome of that failure
	FailedID string                  // the run of that failure
}

// A Spread is how long some runs took.
type Spread struct {
	Runs             int // 0: the other fields mean nothing
	Median, P95, Max time.Duration
}

// Ran returns how many slots ran, whatever their outcome.
func (s Summary) Ran() int {
	n := s.Slots[outcome.Succeeded]
	for became, slots := range s.Slots {
		if became.Failure() {
			n += slots
		}
	}
	return n
}

// SuccessRate returns the share of succeeded slots among the slots that ran, from 0 to 1, without
// the Wanted ones. It returns false when no such slot ran.
func (s Summary) SuccessRate() (rate float64, ok bool) {
	ran := s.Ran() - s.Wanted
	if ran == 0 {
		return 0, false
	}
	return float64(s.Slots[outcome.Succeeded]) / float64(ran), true
}

// everyTask begins a query with a table called "name": each task that has rows, and NULL at the
// end.
const everyTask = `WITH RECURSIVE name (task) AS (SELECT min(task) FROM run
	UNION ALL SELECT (SELECT min(task) FROM run WHERE run.task > name.task) FROM name WHERE name.task IS NOT NULL)`

// addSingles adds the rows of one slot, on as many connections as there are processors. Each takes
// every n-th task, because tasks with much history often have names that are alike.
func addSingles(ctx context.Context, q state.Querier, sums map[string]*Summary, tasks []string, from, to int64) error {
	var mu sync.Mutex // protects sums and failed
	var failed error
	var reading sync.WaitGroup
	parts := make([][]string, min(runtime.GOMAXPROCS(0), state.MaxReaders, len(tasks)))
	for i, task := range tasks {
		parts[i%len(parts)] = append(parts[i%len(parts)], task)
	}
	for _, part := range parts {
		reading.Go(func() {
			added := map[string]*Summary{}
			err := addPart(ctx, q, added, part, from, to)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(sums, added)
			failed = cmp.Or(failed, err)
		})
	}
	reading.Wait()
	return failed
}

// The fields of a text of sumSingles, with a tab between two fields. No task has a tab in its name.
const (
	fieldTask = iota
	fieldOutcome
	fieldSlots      // how many rows
	fieldNewestSlot // in microseconds
	fieldNewestRun
	fieldDurations // in microseconds, with commas
	fieldLateness  // in microseconds, with commas
)

// sumSingles sums up the rows of one slot from ?2 to before ?3. It has a text for each of the tasks
// (?1) and the outcomes (?4); the text is NULL for an outcome that the task does not have.
const sumSingles = `SELECT
	(SELECT concat_ws(char(9), name.value, became.value, count(*),
		(SELECT concat(slot, char(9), id)` + singleRows + ` ORDER BY slot DESC, id DESC LIMIT 1),
		coalesce(group_concat(ended - started), ''),
		coalesce(group_concat(iif(scheduled, started - slot, NULL)), ''))
	` + singleRows + ` HAVING count(*) > 0)
	FROM json_each(?1) AS name CROSS JOIN json_each(?4) AS became`

const singleRows = ` FROM run INDEXED BY run_sum
	WHERE task = name.value AND outcome = became.value AND slot >= ?2 AND slot < ?3 AND ` + state.Single

// addPart adds the rows of one slot of some tasks.
func addPart(ctx context.Context, q state.Querier, sums map[string]*Summary, tasks []string, from, to int64) error {
	var spreads durations
	err := state.Each(ctx, q, func(rows *sql.Rows) error {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil || !text.Valid {
			return err
		}
		fields := strings.Split(text.String, "\t")
		slots, err := strconv.Atoi(fields[fieldSlots])
		if err != nil {
			return err
		}
		newest, err := strconv.ParseInt(fields[fieldNewestSlot], 10, 64)
		if err != nil {
			return err
		}
		sum, became := sumOf(sums, fields[fieldTask]), outcome.Outcome(fields[fieldOutcome])
		sum.Slots[became] += slots
		if became.Failure() && became != outcome.Stopped { // addStopped
			sum.addFailure(became, time.UnixMicro(newest).UTC(), fields[fieldNewestRun])
		}
		spreads.add(sum, became, fields[fieldDurations], fields[fieldLateness])
		return nil
	}, sumSingles, sqltype.Texts(tasks), from, to, sqltype.Texts(outcome.All))
	spreads.settle()
	return err
}

// addFailure adds a failed run, unless a newer one is known.
func (s *Summary) addFailure(became outcome.Outcome, slot time.Time, run string) {
	if slot.After(s.Failed) {
		s.Failed, s.FailedAs, s.FailedID = slot, became, run
	}
}

// isWanted is true for runs that were stopped because somebody wanted that.
const isWanted = "kind IN ('paused', 'by hand')"

// addStopped adds which of the stopped runs are failures. There are few of them.
func addStopped(ctx context.Context, q state.Querier, sums map[string]*Summary, task string, from, to int64) error {
	return state.Each(ctx, q, func(rows *sql.Rows) error {
		var name, run string // name of the task
		var slot time.Time
		var wanted bool
		if err := rows.Scan(&name, &run, sqltype.Time(&slot), &wanted); err != nil {
			return err
		}
		if sum := sumOf(sums, name); wanted {
			sum.Wanted++
		} else {
			sum.addFailure(outcome.Stopped, slot, run)
		}
		return nil
	}, `SELECT task, id, slot, `+isWanted+` FROM run INDEXED BY run_bad
		WHERE outcome = 'stopped' AND outcome <> 'succeeded' AND slot >= ?2 AND slot < ?3 AND ?1 IN ('', task)
			AND `+state.Single, task, from, to)
}

// durations are how long the runs of one task took, and how late they started, in microseconds. The
// rows of a task lie side by side, so durations holds the numbers of one task at a time.
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
func addRanges(ctx context.Context, q state.Querier, sums map[string]*Summary, task string, from, to int64) error {
	return state.Each(ctx, q, func(rows *sql.Rows) error {
		var name string // of the task
		var became outcome.Outcome
		var slots int
		if err := rows.Scan(&name, &became, &slots); err != nil {
			return err
		}
		sumOf(sums, name).Slots[became] += slots
		return nil
	}, `SELECT task, outcome, slots FROM run INDEXED BY run_range
		WHERE last_slot >= ?2 AND slot >= ?2 AND slot < ?3 AND ?1 IN ('', task)
			AND outcome IS NOT NULL AND test = 0`, task, from, to)
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
	return Spread{
		Runs:   len(all),
		Median: sqltype.Micros(percentile(all, 50)),
		P95:    sqltype.Micros(percentile(all, 95)),
		Max:    sqltype.Micros(all[len(all)-1]),
	}
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

// LastRan returns the newest total of a task that is neither skipped nor missed; nil if there is no
// such total. The ids of runs sort by the time at which they began.
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

// usualRuns bounds the successful runs of each task that Usual and Costs count. usualWindow bounds
// the runs that they read for these. So a task with ten thousand failures costs no more than a task
// without failures.
const (
	usualRuns   = 50
	usualWindow = 200
)

// A Cost is what the last successful runs of a task took: at most 50 runs among its last 200 runs.
type Cost struct {
	Runs        int // how many there were
	Median, P95 time.Duration
	CPU         time.Duration   // the median, of all processors together
	Memory      int64           // bytes: the 95th percentile of their largest process; 0 when it is not known
	Slot        time.Time       // the newest slot of the schedule that ran; zero when none has run
	Snapshot    json.RawMessage // the task as it was in its newest run; nil when it is not known
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
		Median: sqltype.Micros(percentile(durations, 50)),
		P95:    sqltype.Micros(percentile(durations, 95)),
		CPU:    sqltype.Micros(percentile(cpu, 50)),
		Memory: percentile(memory, 95),
	}
}
