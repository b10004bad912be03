package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// The table hours says in which minutes of an hour a task had slots with an outcome. A picture of a day or a week of tasks
// that are due often is made of it: an hour of a task that is due every minute is one row here, and sixty in the table runs.
// The row of an hour stays until none of its records is left.

// An Hour says of an hour which of its minutes had a slot of a task that ended with an outcome. Records that stand for several slots are
// not in it.
type Hour struct {
	Task    string
	Outcome outcome.Outcome
	Begin   time.Time     // UTC
	Minutes uint64        // bit n stands for minute n; there is one at least
	Runs    int           // how many records
	Took    time.Duration // all of these runs together
}

// Usual is how long a run of the hour took on average.
func (h Hour) Usual() time.Duration { return h.Took / time.Duration(max(h.Runs, 1)) }

const (
	hourMicros   = int64(time.Hour / time.Microsecond)
	minuteMicros = int64(time.Minute / time.Microsecond)
)

// hoursTable makes the table, sorted by hour: the rows that a tick changes lie side by side.
const hoursTable = `
CREATE TABLE hours (
	hour    INTEGER NOT NULL,
	task    TEXT NOT NULL,
	outcome TEXT NOT NULL,
	minutes INTEGER NOT NULL,
	runs    INTEGER NOT NULL,
	took    INTEGER NOT NULL,
	PRIMARY KEY (hour, task, outcome)
) WITHOUT ROWID;`

// hoursOfRuns makes rows of hours of those of runs. Minutes are powers of two, so the sum of the distinct ones has their bits.
const (
	hoursOfRuns = `SELECT slot / 3600000000 AS hour, task, outcome, sum(DISTINCT 1 << (slot / 60000000 % 60)), count(*), coalesce(sum(max(ended - started, 0)), 0)
	FROM runs WHERE until IS NULL AND slot >= 0`
	groupedByHour = ` GROUP BY hour, task, outcome`
)

type hourPlace struct {
	hour int64
	task string
}

// placeOfHour is false for a slot before 1970, which is in no hour.
func placeOfHour(task string, slot time.Time) (hourPlace, bool) {
	at := slot.UnixMicro()
	return hourPlace{at / hourMicros, task}, at >= 0
}

type hourKey struct {
	hourPlace
	outcome outcome.Outcome
}

func (k hourKey) compare(other hourKey) int {
	return cmp.Or(cmp.Compare(k.hour, other.hour), strings.Compare(k.task, other.task), strings.Compare(string(k.outcome), string(other.outcome)))
}

type hourSum struct {
	minutes    uint64
	runs, took int64
}

// An hourTally gathers what a transaction adds to the table, and what it takes from it. Its zero value is empty.
type hourTally struct {
	added map[hourKey]hourSum
	stale map[hourPlace]bool
}

func (t *hourTally) add(r outcome.Record) {
	at, ok := placeOfHour(r.Task, r.Slot)
	if !ok || r.IsRange() {
		return
	}
	if t.added == nil {
		t.added = map[hourKey]hourSum{}
	}
	k := hourKey{at, r.Outcome}
	s := t.added[k]
	s.minutes |= 1 << (r.Slot.UnixMicro() / minuteMicros % 60)
	s.runs++
	if !r.Started.IsZero() && !r.Ended.IsZero() {
		s.took += max(r.Ended.UnixMicro()-r.Started.UnixMicro(), 0)
	}
	t.added[k] = s
}

func (t *hourTally) remove(task string, slot time.Time) {
	if at, ok := placeOfHour(task, slot); ok {
		if t.stale == nil {
			t.stale = map[hourPlace]bool{}
		}
		t.stale[at] = true
	}
}

// write writes down what was counted, when the records are in the table runs, or out of it.
func (t *hourTally) write(ctx context.Context, tx *sql.Tx) error {
	for at := range t.stale {
		if err := at.fill(ctx, tx); err != nil {
			return err
		}
	}
	upsert, err := tx.PrepareContext(ctx, `INSERT INTO hours (hour, task, outcome, minutes, runs, took) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET minutes = minutes | excluded.minutes, runs = runs + excluded.runs, took = took + excluded.took`)
	if err != nil {
		return err
	}
	defer upsert.Close()
	for _, k := range slices.SortedFunc(maps.Keys(t.added), hourKey.compare) { // as the table is sorted: thousands come after a month off
		if t.stale[k.hourPlace] {
			continue
		}
		s := t.added[k]
		if _, err := upsert.ExecContext(ctx, k.hour, k.task, string(k.outcome), int64(s.minutes), s.runs, s.took); err != nil {
			return err
		}
	}
	return nil
}

func (at hourPlace) fill(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM hours WHERE hour = ? AND task = ?", at.hour, at.task); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO hours "+hoursOfRuns+" AND task = ? AND slot >= ? AND slot < ?"+groupedByHour, at.task, at.hour*hourMicros, (at.hour+1)*hourMicros)
	return err
}

// prune removes hours that remove has emptied. For the oldest records it costs less than write.
func (t *hourTally) prune(ctx context.Context, tx *sql.Tx) error {
	for at := range t.stale {
		if _, err := tx.ExecContext(ctx, `DELETE FROM hours WHERE hour = ?1 AND task = ?2
			AND NOT EXISTS (SELECT 1 FROM runs WHERE task = ?2 AND slot >= ?3 AND slot < ?4)`, at.hour, at.task, at.hour*hourMicros, (at.hour+1)*hourMicros); err != nil {
			return err
		}
	}
	return nil
}

// packedHours is the SQL of many hours of a task as one text: a week of thirty tasks has some seven thousand, and a row of the result for each
// would cost as much as finding it.
const packedHours = `group_concat(hour || ' ' || minutes || ' ' || runs || ' ' || took || ' ' || outcome, ';')`

// readHours returns the hours of the tasks from that of from to that of to: one task after another, the earliest first.
func readHours(ctx context.Context, conn *sql.DB, tasks []string, from, to time.Time) ([]Hour, error) {
	var all []int64
	for at := max(from.UnixMicro(), 0) / hourMicros; at <= to.UnixMicro()/hourMicros; at++ {
		all = append(all, at)
	}
	return scanHours(ctx, conn, `SELECT name.value, (SELECT `+packedHours+` FROM json_each(?1) AS one CROSS JOIN hours ON hour = one.value AND task = name.value)
		FROM json_each(?2) AS name`, jsonList(all), jsonList(tasks))
}

func scanHours(ctx context.Context, conn *sql.DB, query string, args ...any) (all []Hour, err error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var task string
		var text sql.NullString // NULL for a task without an hour
		if err := rows.Scan(&task, &text); err != nil {
			return nil, err
		}
		if all, err = unpackHours(all, task, text.String); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

func unpackHours(all []Hour, task, text string) ([]Hour, error) {
	first := len(all)
	for text != "" {
		var rest string
		rest, text, _ = strings.Cut(text, ";")
		var n [4]int64
		for i := range n {
			word, behind, _ := strings.Cut(rest, " ")
			number, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("an hour of %s: %w", task, err)
			}
			n[i], rest = number, behind
		}
		all = append(all, Hour{
			Task: task, Outcome: outcome.Outcome(rest), Begin: time.UnixMicro(n[0] * hourMicros).UTC(), Minutes: uint64(n[1]),
			Runs: int(n[2]), Took: time.Duration(n[3]) * time.Microsecond,
		})
	}
	slices.SortStableFunc(all[first:], func(a, b Hour) int { return a.Begin.Compare(b.Begin) })
	return all, nil
}

// jsonList is a list as json_each reads it.
func jsonList[T any](all []T) string {
	if len(all) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(all) // of numbers or strings
	return string(text)
}
