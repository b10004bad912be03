// Package hours has a table of the history: in which minutes of an hour a task had slots with an outcome.
//
// A picture of a day or a week is made of it, of tasks that are due too often for a row of the history each: an hour of a task that is
// due every minute is one row here, and sixty there. It says nothing that the records do not say, but for pruning: the row of an hour
// stays until none of its records is left.
package hours

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

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
	hour   = int64(time.Hour / time.Microsecond)
	minute = int64(time.Minute / time.Microsecond)
)

// Table is the SQL that makes the table, and fills it from the table runs. Rows are sorted by hour first: those that a tick changes,
// one a task, lie side by side.
const Table = `
CREATE TABLE hours (
	hour    INTEGER NOT NULL,
	task    TEXT NOT NULL,
	outcome TEXT NOT NULL,
	minutes INTEGER NOT NULL,
	runs    INTEGER NOT NULL,
	took    INTEGER NOT NULL,
	PRIMARY KEY (hour, task, outcome)
) WITHOUT ROWID;
INSERT INTO hours ` + ofRuns + grouped + `;`

// ofRuns makes rows of hours of those of runs. Minutes are powers of two, so the sum of the distinct ones has their bits.
const (
	ofRuns = `SELECT slot / 3600000000 AS hour, task, outcome, sum(DISTINCT 1 << (slot / 60000000 % 60)), count(*), coalesce(sum(max(ended - started, 0)), 0)
	FROM runs WHERE until IS NULL AND slot >= 0`
	grouped = ` GROUP BY hour, task, outcome`
)

type place struct {
	hour int64
	task string
}

// placeOf is false for a slot before 1970, which is in no hour.
func placeOf(task string, slot time.Time) (place, bool) {
	at := slot.UnixMicro()
	return place{at / hour, task}, at >= 0
}

type key struct {
	place
	outcome outcome.Outcome
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.hour, other.hour), strings.Compare(k.task, other.task), strings.Compare(string(k.outcome), string(other.outcome)))
}

type sum struct {
	minutes    uint64
	runs, took int64
}

// A Tally gathers what a transaction adds to the table, and what it takes from it. Its zero value is empty.
type Tally struct {
	added map[key]sum
	stale map[place]bool
}

// Add counts a record that was not there before.
func (t *Tally) Add(r outcome.Record) {
	at, ok := placeOf(r.Task, r.Slot)
	if !ok || r.IsRange() {
		return
	}
	if t.added == nil {
		t.added = map[key]sum{}
	}
	k := key{at, r.Outcome}
	s := t.added[k]
	s.minutes |= 1 << (r.Slot.UnixMicro() / minute % 60)
	s.runs++
	if !r.Started.IsZero() && !r.Ended.IsZero() {
		s.took += max(r.Ended.UnixMicro()-r.Started.UnixMicro(), 0)
	}
	t.added[k] = s
}

// Remove says that a record was removed of that task, with that slot.
func (t *Tally) Remove(task string, slot time.Time) {
	if at, ok := placeOf(task, slot); ok {
		if t.stale == nil {
			t.stale = map[place]bool{}
		}
		t.stale[at] = true
	}
}

// Write writes down what was counted, when the records are in the table runs, or out of it.
func (t *Tally) Write(ctx context.Context, tx *sql.Tx) error {
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
	for _, k := range slices.SortedFunc(maps.Keys(t.added), key.compare) { // as the table is sorted: thousands come after a month off
		if t.stale[k.place] {
			continue
		}
		s := t.added[k]
		if _, err := upsert.ExecContext(ctx, k.hour, k.task, string(k.outcome), int64(s.minutes), s.runs, s.took); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the rows of an hour of a task anew.
func (at place) fill(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM hours WHERE hour = ? AND task = ?", at.hour, at.task); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO hours "+ofRuns+" AND task = ? AND slot >= ? AND slot < ?"+grouped, at.task, at.hour*hour, (at.hour+1)*hour)
	return err
}

// Prune removes the rows of the hours of which records were removed (see Remove) and none is left. It is for who removes the oldest, and
// costs less than Write.
func (t *Tally) Prune(ctx context.Context, tx *sql.Tx) error {
	for at := range t.stale {
		if _, err := tx.ExecContext(ctx, `DELETE FROM hours WHERE hour = ?1 AND task = ?2
			AND NOT EXISTS (SELECT 1 FROM runs WHERE task = ?2 AND slot >= ?3 AND slot < ?4)`, at.hour, at.task, at.hour*hour, (at.hour+1)*hour); err != nil {
			return err
		}
	}
	return nil
}
