package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// This file has the queries for lists and charts of many tasks. Around and LastSuccess ask for one.
// Rows come with few of their fields, because a page asks for 20,000 rows. They have the ID, the
// task, the slots, the phase, the times, the outcome, the kind, the reason and the number of the
// last attempt.

const chartColumns = `run.id, run.task, run.slot, run.last_slot, run.slots, run.phase, run.attempt,
	run.started, run.ended, run.outcome, run.kind, run.reason`

// A Span stands for the slots of a task at or after Since (zero: all).
type Span struct {
	Task  string
	Since time.Time
}

// Newest returns the newest rows of each span before until (zero: all), at most n of each span, the
// newest first.
func (p Past) Newest(ctx context.Context, spans []Span, until time.Time, n int) (map[string][]Row, error) {
	return p.byTask(ctx, `SELECT `+chartColumns+` FROM json_each(?1) AS span CROSS JOIN run ON run.rowid IN
		(SELECT r.rowid FROM run AS r WHERE r.task = span.value ->> 0 AND r.slot >= span.value ->> 1 AND r.slot < ?2
			ORDER BY r.slot DESC, r.id DESC LIMIT ?3)`, jsonSpans(spans), untilMicro(until), n)
}

// Ranges returns the rows of several slots that reach into each span before until (zero: all), the
// newest first.
func (p Past) Ranges(ctx context.Context, spans []Span, until time.Time) (map[string][]Row, error) {
	first := int64(math.MaxInt64)
	for _, s := range spans {
		first = min(first, sinceMicro(s.Since))
	}
	return p.byTask(ctx, `SELECT `+chartColumns+` FROM run INDEXED BY run_range CROSS JOIN json_each(?1) AS span
		WHERE last_slot >= ?2 AND slot < ?3 AND task = span.value ->> 0 AND last_slot >= span.value ->> 1`,
		jsonSpans(spans), first, untilMicro(until))
}

func (p Past) byTask(ctx context.Context, query string, args ...any) (map[string][]Row, error) {
	past, err := ask(ctx, p.store, func(q querier) (map[string][]Row, error) {
		past := map[string][]Row{}
		return past, each(ctx, q, func(rows *sql.Rows) error {
			var r Row
			err := rows.Scan(&r.ID, &r.Task, asTime(&r.Slot), asTime(&r.LastSlot), &r.Slots,
				&r.Phase, &r.Attempt.Number, asTime(&r.Started), asTime(&r.Ended),
				orZero(&r.Outcome), &r.Kind, &r.Reason)
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
	return ask(ctx, p.store, func(q querier) (map[string]int, error) {
		counts := map[string]int{}
		return counts, each(ctx, q, func(rows *sql.Rows) error {
			var task string
			var n int
			err := rows.Scan(&task, &n)
			counts[task] = n
			return err
		}, `SELECT span.value ->> 0, (SELECT count(*) FROM (SELECT 1 FROM run
				WHERE task = span.value ->> 0 AND slot >= span.value ->> 1 AND slot < ?2 LIMIT ?3))
			FROM json_each(?1) AS span`, jsonSpans(spans), untilMicro(until), limit)
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
func (p Past) Hours(ctx context.Context, tasks []string, since, until time.Time) (hours []Hour, err error) {
	from := max(since.UnixMicro(), 0) / hour * hour
	to := (until.UnixMicro() + hour - 1) / hour * hour
	err = p.store.read(ctx, func(q querier) error {
		hours = nil
		lines, err := column[string](ctx, q, `SELECT coalesce((SELECT group_concat(line, char(10)) FROM
				(SELECT concat_ws(char(9), task, outcome, slot / 3600000000,
					sum(DISTINCT 1 << (slot / 60000000 % 60)),
					count(*),
					coalesce(sum(max(ended - started, 0)), 0)) AS line
				FROM run INDEXED BY run_sum
				WHERE task = tasks.value AND outcome = outcomes.value AND slot >= ?3 AND slot < ?4 AND `+single+`
				GROUP BY slot / 3600000000)), '')
			FROM json_each(?1) AS tasks CROSS JOIN json_each(?2) AS outcomes`,
			jsonTexts(tasks), jsonTexts(outcome.All), from, to)
		for _, several := range lines {
			for line := range strings.Lines(several) {
				h, ok := hourOf(strings.TrimSuffix(line, "\n"))
				if !ok {
					return fmt.Errorf("the hours have a line that is not an hour: %q", line)
				}
				hours = append(hours, h)
			}
		}
		return err
	})
	sortHours(hours)
	return hours, err
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
		Minutes: uint64(numbers[1]), Runs: int(numbers[2]), Took: micros(numbers[3]),
	}, true
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
func (p Past) Around(ctx context.Context, task string, at time.Time, limit int) (a Around, err error) {
	err = p.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, `SELECT
			(SELECT slot FROM run INDEXED BY run_slot WHERE phase = 'ended' ORDER BY slot LIMIT 1),
			(SELECT slot FROM run INDEXED BY run_slot WHERE slot < ?1 AND phase = 'ended' ORDER BY slot DESC LIMIT 1),
			(SELECT slot FROM run INDEXED BY run_slot WHERE slot >= ?1 AND phase = 'ended' ORDER BY slot LIMIT 1),
			(SELECT slot FROM run INDEXED BY run_task WHERE task = ?2 AND phase = 'ended' ORDER BY slot LIMIT 1),
			(SELECT count(*) FROM (SELECT 1 FROM run INDEXED BY run_task
				WHERE task = ?2 AND slot >= ?1 AND phase = 'ended' LIMIT ?3))`, ceilMicro(at), task, limit).
			Scan(asTime(&a.First), asTime(&a.Before), asTime(&a.After), asTime(&a.TaskFirst), &a.TaskSince)
	})
	return a, err
}

// LastSuccess returns the newest slot of the task before a slot for which a command succeeded; zero
// without such a slot. Retries count for the slot that they repeat.
func (p Past) LastSuccess(ctx context.Context, task string, before time.Time) (slot time.Time, err error) {
	err = p.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, `SELECT max(slot) FROM (
			SELECT * FROM (SELECT slot FROM run INDEXED BY run_sum
				WHERE task = ?1 AND outcome = 'succeeded' AND slot < ?2 AND `+single+` AND repeats IS NULL
				ORDER BY slot DESC LIMIT 1)
			UNION ALL SELECT max(repeats) FROM run INDEXED BY run_repeats
				WHERE task = ?1 AND outcome = 'succeeded' AND repeats < ?2 AND `+single+`)`, task, before.UnixMicro()).
			Scan(asTime(&slot))
	})
	return slot, err
}

// jsonTexts returns texts as a list that json_each reads.
func jsonTexts[T ~string](all []T) string {
	if len(all) == 0 {
		return "[]" // null would be a value
	}
	text, _ := json.Marshal(all) // of texts
	return string(text)
}

// jsonSpans returns spans, each as its task and the first microsecond of its time, as a list that
// json_each reads.
func jsonSpans(spans []Span) string {
	all := make([][2]any, len(spans))
	for i, s := range spans {
		all[i] = [2]any{s.Task, sinceMicro(s.Since)}
	}
	text, _ := json.Marshal(all) // of texts and numbers
	return string(text)
}

func sinceMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return ceilMicro(t)
}

func untilMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return ceilMicro(t)
}
