package history

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// A Summary is what the records of one task in a time add up to.
type Summary struct {
	Task     string
	Slots    map[outcome.Outcome]int // how many slots had which outcome
	Took     Spread                  // from start to end, of the runs that succeeded
	Late     Spread                  // from slot to start, of the runs that their schedule asked for
	Failed   time.Time               // the slot of the newest failure; zero when there was none
	FailedAs outcome.Outcome         // that failure's outcome
	FailedID string                  // and its run
}

// A Spread is how long some runs took.
type Spread struct {
	Runs             int // 0: the others mean nothing
	Median, P95, Max time.Duration
}

// Ran returns how many slots ran, however that ended.
func (s Summary) Ran() int {
	n := s.Slots[outcome.Succeeded]
	for outcome, slots := range s.Slots {
		if outcome.Failure() {
			n += slots
		}
	}
	return n
}

// SuccessRate returns how many of the slots that ran succeeded, from 0 to 1; it is false where none ran.
func (s Summary) SuccessRate() (rate float64, ok bool) {
	ran := s.Ran()
	if ran == 0 {
		return 0, false
	}
	return float64(s.Slots[outcome.Succeeded]) / float64(ran), true
}

// Summaries adds up the records of each task, by name, whose slots lie between since and until (""
// and zero: no bound), and the matching ones of more. It reads each record, in some 2 µs
// (docs/decisions.md#a-summary-reads-its-records). A record counts where its first slot is.
func (db *DB) Summaries(ctx context.Context, task string, since, until time.Time, more ...outcome.Record) ([]Summary, error) {
	var sums map[string]*sum
	err := db.file.Do(func(conn *sql.DB) (err error) {
		sums, err = addUp(ctx, conn, task, since, until)
		return err
	})
	for _, r := range more {
		if sums != nil && (Query{Task: task, Since: since, Until: until}).Matches(r) {
			summedRowOf(r).addTo(sums)
		}
	}
	var all []Summary
	for _, task := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, sums[task].summary())
	}
	return all, err
}

// A sum is a Summary in the making; durations are in microseconds.
type sum struct {
	Summary
	took, late []int64
}

func addUp(ctx context.Context, conn *sql.DB, task string, since, until time.Time) (map[string]*sum, error) {
	var conditions []string
	var args []any
	add := func(condition string, value any) {
		conditions, args = append(conditions, condition), append(args, value)
	}
	if task != "" {
		add("task = ?", task)
	}
	if !since.IsZero() {
		add("slot >= ?", ceilMicro(since))
	}
	if !until.IsZero() {
		add("slot < ?", ceilMicro(until))
	}
	rows, err := conn.QueryContext(ctx, summed+strings.Join(append(conditions, "TRUE"), " AND "), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sums := map[string]*sum{}
	var row summedRow
	for rows.Next() {
		if err := rows.Scan(&row.task, &row.outcome, &row.slots, &row.took, &row.late, &row.slot, &row.run); err != nil {
			return nil, err
		}
		row.addTo(sums)
	}
	return sums, rows.Err()
}

// summed is NULL wherever a row is as most rows are: a NULL costs nothing to hand over, and for a million rows that
// is where the time goes.
const summed = `SELECT task, nullif(outcome, 'succeeded'), nullif(max(slots, 1), 1),
	CASE outcome WHEN 'succeeded' THEN ended - started END,
	CASE origin WHEN '' THEN max(started - slot, 0) END,
	CASE WHEN outcome IN ('failed', 'timed out', 'stopped', 'lost') THEN slot END,
	CASE WHEN outcome IN ('failed', 'timed out', 'stopped', 'lost') THEN run END
	FROM runs WHERE `

// A summedRow is a row of summed: of strings, of int64, and nil for NULL.
type summedRow struct {
	task, outcome, slots, took, late, slot, run any
}

func summedRowOf(r outcome.Record) *summedRow {
	row := &summedRow{task: r.Task}
	if r.Outcome == outcome.Succeeded {
		row.took = r.Ended.Sub(r.Started).Microseconds()
	} else {
		row.outcome = string(r.Outcome)
	}
	if r.Slots > 1 {
		row.slots = int64(r.Slots)
	}
	if r.Origin == "" && !r.Started.IsZero() {
		row.late = max(r.Started.Sub(r.Slot).Microseconds(), 0)
	}
	if r.Outcome.Failure() {
		row.slot, row.run = r.Slot.UnixMicro(), r.Run
	}
	return row
}

func (r *summedRow) addTo(sums map[string]*sum) {
	task := r.task.(string)
	s := sums[task]
	if s == nil {
		s = &sum{Summary: Summary{Task: task, Slots: map[outcome.Outcome]int{}}}
		sums[task] = s
	}
	endedAs, slots := outcome.Succeeded, 1
	if o, other := r.outcome.(string); other {
		endedAs = outcome.Outcome(o)
	}
	if n, several := r.slots.(int64); several {
		slots = int(n)
	}
	s.Slots[endedAs] += slots
	if took, ok := r.took.(int64); ok {
		s.took = append(s.took, took)
	}
	if late, ok := r.late.(int64); ok {
		s.late = append(s.late, late)
	}
	if run, failure := r.run.(string); failure {
		s.fail(time.UnixMicro(r.slot.(int64)).UTC(), endedAs, run)
	}
}

func (s *sum) fail(slot time.Time, outcome outcome.Outcome, run string) {
	if slot.After(s.Failed) || slot.Equal(s.Failed) && run > s.FailedID {
		s.Failed, s.FailedAs, s.FailedID = slot, outcome, run
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
	return Spread{len(all), microseconds(percentile(all, 50)), microseconds(percentile(all, 95)), microseconds(all[len(all)-1])}
}
