// Package past answers questions about runs that have ended, for lists, charts, statistics and
// `sched why`: which rows a query finds, which lie in a span, what they add up to, and what runs
// usually take. It only reads; no tick depends on it. Runs of sched test are found, but count
// nowhere.
package past

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/state/sqltype"
)

// Past asks the rows of a database. Newest and Ranges return rows with few of their fields, because
// a page asks for 20,000 rows: the ID, the task, the slots, the phase, the times, the outcome, the
// kind, the reason and the number of the last attempt.
type Past struct{ db *state.DB }

// Of returns the past in a database.
func Of(db *state.DB) Past { return Past{db} }

// Find returns the ended rows that q says, the newest slot first, and the newest run of a slot
// first.
func (p Past) Find(ctx context.Context, q Query) ([]state.Row, error) {
	text, args := q.sql()
	return state.Ask(ctx, p.db, func(c state.Querier) ([]state.Row, error) {
		return state.RowsOf(ctx, c, text, args...)
	})
}

// Get returns the ended run with that id and its snapshot. If there is no such run, it returns the
// only run whose id begins with the text, or ends with it (from four characters on). People copy
// the end, because the ids of one minute begin alike. Otherwise it returns state.ErrNotFound or an
// *AmbiguousError.
func (p Past) Get(ctx context.Context, id string) (state.Row, error) {
	ids, err := state.Ask(ctx, p.db, func(q state.Querier) ([]string, error) { return candidates(ctx, q, id) })
	switch {
	case err != nil:
		return state.Row{}, err
	case len(ids) > 1:
		slices.Reverse(ids)
		return state.Row{}, ambiguous(id, ids)
	case len(ids) == 1:
		found, err := p.db.Runs().Row(ctx, ids[0])
		if err == nil && found.Phase == state.Ended || !errors.Is(err, state.ErrNotFound) && err != nil {
			return found, err
		}
	}
	return state.Row{}, fmt.Errorf("%w: %q", state.ErrNotFound, id)
}

// Added returns ended rows that were added from a mark on, at most limit, in the order of adding,
// and the next mark. The mark 0 returns no row, and the mark of now, which is never 0. After the
// file was set aside marks are smaller.
func (p Past) Added(ctx context.Context, mark int64, limit int) (rows []state.Row, next int64, err error) {
	rows, err = state.Ask(ctx, p.db, func(q state.Querier) (rows []state.Row, err error) {
		err = q.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) + 1 FROM run").Scan(&next)
		if err != nil || mark == 0 || next <= mark {
			return nil, err
		}
		next = min(next, mark+int64(limit))
		return state.RowsOf(ctx, q,
			state.SelectRows()+"WHERE rowid >= ? AND rowid < ? AND phase = 'ended' ORDER BY rowid", mark, next)
	})
	return rows, next, err
}

const chartColumns = `run.id, run.task, run.slot, run.last_slot, run.slots, run.phase, run.attempt,
	run.started, run.ended, run.outcome, run.kind, run.reason`

// A Span stands for the slots of a task at or after Since (zero: all).
type Span struct {
	Task  string
	Since time.Time
}

// Newest returns the newest rows of each span before until (zero: all), at most n of each span, the
// newest first. Runs of sched test are not among them: they count in no statistic.
func (p Past) Newest(ctx context.Context, spans []Span, until time.Time, n int) (map[string][]state.Row, error) {
	return p.byTask(ctx, `SELECT `+chartColumns+` FROM json_each(?1) AS span CROSS JOIN run ON run.rowid IN
		(SELECT r.rowid FROM run AS r WHERE r.task = span.value ->> 0 AND r.slot >= span.value ->> 1 AND r.slot < ?2
			AND r.test = 0 ORDER BY r.slot DESC, r.id DESC LIMIT ?3)`, jsonSpans(spans), sqltype.Until(until), n)
}

// Ranges returns the rows of several slots that reach into each span before until (zero: all), the
// newest first.
func (p Past) Ranges(ctx context.Context, spans []Span, until time.Time) (map[string][]state.Row, error) {
	first := int64(math.MaxInt64)
	for _, s := range spans {
		first = min(first, sqltype.Since(s.Since))
	}
	return p.byTask(ctx, `SELECT `+chartColumns+` FROM run INDEXED BY run_range CROSS JOIN json_each(?1) AS span
		WHERE last_slot >= ?2 AND slot < ?3 AND task = span.value ->> 0 AND last_slot >= span.value ->> 1`,
		jsonSpans(spans), first, sqltype.Until(until))
}

func (p Past) byTask(ctx context.Context, query string, args ...any) (map[string][]state.Row, error) {
	past, err := state.Ask(ctx, p.db, func(q state.Querier) (map[string][]state.Row, error) {
		past := map[string][]state.Row{}
		return past, state.Each(ctx, q, func(rows *sql.Rows) error {
			var r state.Row
			err := rows.Scan(&r.ID, &r.Task, sqltype.Time(&r.Slot), sqltype.Time(&r.LastSlot), &r.Slots,
				&r.Phase, &r.Attempt.Number, sqltype.Time(&r.Started), sqltype.Time(&r.Ended),
				sqltype.OrZero(&r.Outcome), &r.Kind, &r.Reason)
			r.SayCount()
			past[r.Task] = append(past[r.Task], r)
			return err
		}, query, args...)
	})
	for _, rows := range past {
		slices.SortFunc(rows, NewestFirst)
	}
	return past, err
}

// Counts returns how many rows each span has before until (zero: all). It stops counting at limit,
// and reads only an index.
func (p Past) Counts(ctx context.Context, spans []Span, until time.Time, limit int) (map[string]int, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (map[string]int, error) {
		counts := map[string]int{}
		return counts, state.Each(ctx, q, func(rows *sql.Rows) error {
			var task string
			var n int
			err := rows.Scan(&task, &n)
			counts[task] = n
			return err
		}, `SELECT span.value ->> 0, (SELECT count(*) FROM (SELECT 1 FROM run
				WHERE task = span.value ->> 0 AND slot >= span.value ->> 1 AND slot < ?2 LIMIT ?3))
			FROM json_each(?1) AS span`, jsonSpans(spans), sqltype.Until(until), limit)
	})
}

// An Hour says in which minutes of an hour a task had slots that ended with one outcome. Rows of
// several slots are not in it: see Ranges.
type Hour struct {
	Task    string
	Outcome outcome.Outcome
	Begin   time.Time     // UTC
	Minutes uint64        // bit n stands for minute n; at least one bit is set
	Runs    int           // how many rows
	Took    time.Duration // all of their runs together
}

// Usual returns how long a run of the hour took on average.
func (h Hour) Usual() time.Duration { return h.Took / time.Duration(max(h.Runs, 1)) }

const hour = int64(time.Hour / time.Microsecond)

// Hours returns the hours of the tasks that have slots from since to before until: one task after
// another, the earliest first. It rounds since down, and until up, to a full hour of UTC.
//
// It reads only an index. The hours of a task and an outcome come as one text, because separate
// columns would cost more than the query. Minutes are powers of two, so the sum of the distinct
// ones has their bits.
func (p Past) Hours(ctx context.Context, tasks []string, since, until time.Time) ([]Hour, error) {
	from := max(since.UnixMicro(), 0) / hour * hour
	to := (until.UnixMicro() + hour - 1) / hour * hour
	return state.Ask(ctx, p.db, func(q state.Querier) (hours []Hour, err error) {
		lines, err := state.Only[string](ctx, q, `SELECT coalesce((SELECT group_concat(line, char(10)) FROM
				(SELECT concat_ws(char(9), task, outcome, slot / 3600000000,
					sum(DISTINCT 1 << (slot / 60000000 % 60)),
					count(*),
					coalesce(sum(max(ended - started, 0)), 0)) AS line
				FROM run INDEXED BY run_sum
				WHERE task = tasks.value AND outcome = outcomes.value AND slot >= ?3 AND slot < ?4 AND `+state.Single+`
				GROUP BY slot / 3600000000)), '')
			FROM json_each(?1) AS tasks CROSS JOIN json_each(?2) AS outcomes`,
			sqltype.Texts(tasks), sqltype.Texts(outcome.All), from, to)
		for _, several := range lines {
			for line := range strings.Lines(several) {
				h, ok := hourOf(strings.TrimSuffix(line, "\n"))
				if !ok {
					return nil, fmt.Errorf("the hours have a line that is not an hour: %q", line)
				}
				hours = append(hours, h)
			}
		}
		sortHours(hours)
		return hours, err
	})
}

// sortHours puts the hours of each task, which lie side by side, in the order of time.
func sortHours(hours []Hour) {
	for len(hours) > 0 {
		n := slices.IndexFunc(hours, func(h Hour) bool { return h.Task != hours[0].Task })
		if n < 0 {
			n = len(hours)
		}
		slices.SortFunc(hours[:n], func(a, b Hour) int {
			return cmp.Or(a.Begin.Compare(b.Begin), strings.Compare(string(a.Outcome), string(b.Outcome)))
		})
		hours = hours[n:]
	}
}

// hourOf reads a line of Hours. No task has a tab or a line break in its name.
func hourOf(line string) (h Hour, ok bool) {
	fields := strings.Split(line, "\t")
	if len(fields) != 6 {
		return h, false
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[2+i], 10, 64)
		if err != nil {
			return h, false
		}
		numbers[i] = n
	}
	return Hour{
		Task: fields[0], Outcome: outcome.Outcome(fields[1]), Begin: time.UnixMicro(numbers[0] * hour).UTC(),
		Minutes: uint64(numbers[1]), Runs: int(numbers[2]), Took: sqltype.Micros(numbers[3]),
	}, true
}

// A Bucket is how many runs had their slots in a stretch of time, and one outcome.
type Bucket struct {
	Begin   time.Time // UTC
	Outcome outcome.Outcome
	Runs    int
	Tasks   []string // of runs that failed, by name; else nil
	Run     string   // the newest of the runs that failed
}

// Buckets counts the runs of the tasks from since to before until, in stretches of a width: those
// that succeeded, and the failures, all tasks together. A run that a person or a pause stopped is
// no failure. Buckets lie at multiples of the width, and come in the order of time. Successes are
// read from an index alone.
func (p Past) Buckets(
	ctx context.Context, tasks []string, since, until time.Time, width time.Duration,
) ([]Bucket, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (all []Bucket, err error) {
		err = state.Each(ctx, q, func(rows *sql.Rows) error {
			var n int64
			var names string
			var b Bucket
			err := rows.Scan(&n, &b.Outcome, &b.Runs, &names, &b.Run)
			b.Begin = time.UnixMicro(n * width.Microseconds()).UTC()
			if names != "" {
				b.Tasks = strings.Split(names, "\t")
				slices.Sort(b.Tasks)
				b.Tasks = slices.Compact(b.Tasks)
			}
			all = append(all, b)
			return err
		}, `SELECT slot / ?5 AS bucket, 'succeeded', count(*), '', ''
				FROM json_each(?1) AS name CROSS JOIN run INDEXED BY run_sum
				WHERE task = name.value AND outcome = 'succeeded' AND slot >= ?3 AND slot < ?4 AND `+state.Single+`
				GROUP BY bucket
			UNION ALL
			SELECT slot / ?5 AS bucket, outcome, count(*), group_concat(task, char(9)), max(run.id)
				FROM json_each(?2) AS became CROSS JOIN run INDEXED BY run_bad
				WHERE outcome = became.value AND slot >= ?3 AND slot < ?4 AND `+isFailure+`
					AND task IN (SELECT value FROM json_each(?1))
				GROUP BY bucket, outcome
			ORDER BY bucket`,
			sqltype.Texts(tasks), sqltype.Texts(outcome.Failures), since.UnixMicro(), until.UnixMicro(),
			width.Microseconds())
		return all, err
	})
}

// isFailure is true for rows of run_bad that count: no tests, and nothing that a person or a pause
// stopped (state.Result.Wrong).
const isFailure = "outcome <> 'succeeded' AND NOT " + isWanted + " AND test = 0"

// A Tally is how often a task succeeded and failed.
type Tally struct{ Succeeded, Failed int }

// Tallies counts the runs of the tasks with slots at or after since. A task without such a run is
// not in the map. A run that a person or a pause stopped is no failure.
func (p Past) Tallies(ctx context.Context, tasks []string, since time.Time) (map[string]Tally, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (map[string]Tally, error) {
		tallies := map[string]Tally{}
		return tallies, state.Each(ctx, q, func(rows *sql.Rows) error {
			var task string
			var add Tally
			err := rows.Scan(&task, &add.Succeeded, &add.Failed)
			if add != (Tally{}) {
				before := tallies[task]
				tallies[task] = Tally{before.Succeeded + add.Succeeded, before.Failed + add.Failed}
			}
			return err
		}, `SELECT name.value, (SELECT count(*) FROM run INDEXED BY run_sum
					WHERE task = name.value AND outcome = 'succeeded' AND slot >= ?3 AND `+state.Single+`), 0
				FROM json_each(?1) AS name
			UNION ALL
			SELECT task, 0, count(*) FROM json_each(?2) AS became CROSS JOIN run INDEXED BY run_bad
				WHERE outcome = became.value AND slot >= ?3 AND `+isFailure+` AND task IN (SELECT value FROM json_each(?1))
				GROUP BY task`, sqltype.Texts(tasks), sqltype.Texts(outcome.Failures), sqltype.Since(since))
	})
}

// Around is what was recorded around a moment. `sched why` uses it to find out why the moment
// itself has no row. A time is zero when there is no such row.
type Around struct {
	First     time.Time // the oldest slot of all tasks
	Before    time.Time // the newest slot of any task before the moment
	After     time.Time // the oldest slot of any task at or after it
	TaskFirst time.Time // the oldest slot of the task
	TaskSince int       // how many rows the task has at or after the moment, counted up to a limit
}

// Around returns what was recorded around at, of the task and of all tasks. It counts rows up to
// limit.
func (p Past) Around(ctx context.Context, task string, at time.Time, limit int) (Around, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (a Around, err error) {
		err = q.QueryRowContext(ctx, `SELECT
			(SELECT slot FROM run INDEXED BY run_slot WHERE phase = 'ended' ORDER BY slot LIMIT 1),
			(SELECT slot FROM run INDEXED BY run_slot WHERE slot < ?1 AND phase = 'ended' ORDER BY slot DESC LIMIT 1),
			(SELECT slot FROM run INDEXED BY run_slot WHERE slot >= ?1 AND phase = 'ended' ORDER BY slot LIMIT 1),
			(SELECT slot FROM run INDEXED BY run_task WHERE task = ?2 AND phase = 'ended' ORDER BY slot LIMIT 1),
			(SELECT count(*) FROM (SELECT 1 FROM run INDEXED BY run_task
				WHERE task = ?2 AND slot >= ?1 AND phase = 'ended' LIMIT ?3))`, sqltype.Ceil(at), task, limit).
			Scan(sqltype.Time(&a.First), sqltype.Time(&a.Before), sqltype.Time(&a.After),
				sqltype.Time(&a.TaskFirst), &a.TaskSince)
		return a, err
	})
}

// Summaries adds up the slots that have an outcome, by task, from since to before until. It adds up
// all tasks if task is "", and a zero time is no bound. A row of several slots counts at its first
// slot.
//
// Rows of one slot are read from an index alone. The database joins the values of a task and an
// outcome into one text, because reading a million rows in columns takes seconds. Parts of the
// tasks are read side by side.
func (p Past) Summaries(ctx context.Context, task string, since, until time.Time) ([]Summary, error) {
	from, to := sqltype.Since(since), sqltype.Until(until)
	return state.Ask(ctx, p.db, func(q state.Querier) (all []Summary, err error) {
		sums := map[string]*Summary{}
		tasks := []string{task}
		if task == "" {
			tasks, err = state.Only[string](ctx, q, everyTask+" SELECT task FROM name WHERE task IS NOT NULL")
			if err != nil {
				return nil, err
			}
		}
		if err := addSingles(ctx, q, sums, tasks, from, to); err != nil {
			return nil, err
		}
		if err := addStopped(ctx, q, sums, task, from, to); err != nil {
			return nil, err
		}
		err = addRanges(ctx, q, sums, task, from, to)
		for _, task := range slices.Sorted(maps.Keys(sums)) {
			all = append(all, *sums[task])
		}
		return all, err
	})
}

// Totals returns the totals of every task. Its cost does not depend on the number of rows.
func (p Past) Totals(ctx context.Context) (map[string][]Total, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (map[string][]Total, error) {
		totals := map[string][]Total{}
		return totals, state.Each(ctx, q, func(rows *sql.Rows) error {
			var t Total
			err := rows.Scan(&t.Task, &t.Outcome, &t.Slots, &t.Run, sqltype.Time(&t.Slot),
				sqltype.Time(&t.Started), sqltype.Time(&t.Ended), &t.ExitCode)
			totals[t.Task] = append(totals[t.Task], t)
			return err
		}, "SELECT task, outcome, slots, run, slot, started, ended, exit_code FROM total")
	})
}

// Usual returns how long a run of each of the tasks usually takes: the median of its last 50
// successful runs, as far as these are among its last 200 runs. A task without a successful run is
// not in the map. Usual reads an index alone.
func (p Past) Usual(ctx context.Context, tasks []string) (map[string]Usual, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (map[string]Usual, error) {
		usual := make(map[string]Usual, len(tasks))
		return usual, state.Each(ctx, q, func(rows *sql.Rows) error {
			var task, list string
			err := rows.Scan(&task, sqltype.OrZero(&list))
			if took := appendNumbers(nil, list); len(took) > 0 {
				slices.Sort(took)
				usual[task] = Usual{len(took), sqltype.Micros(percentile(took, 50))}
			}
			return err
		}, `SELECT name.value, (SELECT group_concat(took) FROM
				(SELECT took FROM
					(SELECT outcome, ended - started AS took FROM run INDEXED BY run_ran
					WHERE task = name.value AND `+state.Ran+` ORDER BY id DESC LIMIT ?2)
				WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?3))
			FROM json_each(?1) AS name`, sqltype.Texts(tasks), usualWindow, usualRuns)
	})
}

// Costs returns what runs took, for each task that has a row of a run, even if no schedule has the
// task any more. A task without a successful run has no Runs.
func (p Past) Costs(ctx context.Context) (map[string]Cost, error) {
	return state.Ask(ctx, p.db, func(q state.Querier) (map[string]Cost, error) {
		costs := map[string]Cost{}
		return costs, state.Each(ctx, q, func(rows *sql.Rows) error {
			var task string
			var runs [][3]int64
			var slot time.Time
			var snapshot json.RawMessage
			err := rows.Scan(&task, sqltype.JSON(&runs), sqltype.Time(&slot), sqltype.JSON(&snapshot))
			cost := costOf(runs)
			cost.Slot, cost.Snapshot = slot, snapshot
			costs[task] = cost
			return err
		}, everyTask+`
			SELECT name.task,
				(SELECT json_group_array(json_array(took, cpu, memory)) FROM
					(SELECT took, cpu, memory FROM
						(SELECT outcome, ended - started AS took, user_cpu + system_cpu AS cpu, peak_memory AS memory
						FROM run WHERE task = name.task AND `+state.Ran+` ORDER BY id DESC LIMIT ?1)
					WHERE outcome = 'succeeded' AND took IS NOT NULL LIMIT ?2)),
				(SELECT slot FROM run WHERE task = name.task AND `+state.Ran+` AND scheduled = 1 ORDER BY id DESC LIMIT 1),
				(SELECT body FROM definition WHERE id =
					(SELECT definition FROM run WHERE task = name.task AND `+state.Ran+` ORDER BY id DESC LIMIT 1))
			FROM name WHERE name.task IS NOT NULL AND EXISTS (SELECT 1 FROM run WHERE task = name.task AND `+state.Ran+`)`,
			usualWindow, usualRuns)
	})
}

// jsonSpans returns spans, each as its task and the first microsecond of its time, as a list that
// json_each reads.
func jsonSpans(spans []Span) string {
	all := make([][2]any, len(spans))
	for i, s := range spans {
		all[i] = [2]any{s.Task, sqltype.Since(s.Since)}
	}
	text, _ := json.Marshal(all) // of texts and numbers
	return string(text)
}
