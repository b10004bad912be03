package state

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// prune prunes until nothing is left to do, and returns the outputs of the removed runs.
func prune(t *testing.T, db *DB, now time.Time, keep Keep, budget Budget) (outputs []Row, steps int) {
	t.Helper()
	for {
		did, err := db.Prune(ctx, now, keep, budget)
		must(t, err)
		if did.Rows != len(did.Removed) {
			t.Errorf("%d rows and %d outputs", did.Rows, len(did.Removed))
		}
		outputs, steps = append(outputs, did.Removed...), steps+1
		if !did.More {
			return outputs, steps
		}
		if did.Rows > budget.Rows {
			t.Errorf("%d rows in one step", did.Rows)
		}
		if steps > 10_000 {
			t.Fatal("it never ends")
		}
	}
}

func TestOldRowsArePruned(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	const day = 24 * time.Hour
	yearly, old := ended("yearly", noon.Add(-300*day), outcome.Failed), ended("task", noon.Add(-31*day), outcome.Failed)
	old.Output, old.Snapshot = "task/x.log", json.RawMessage(`{"name":"task","old":true}`)
	fresh, skip := ended("task", noon.Add(-day), outcome.Succeeded), ended("yearly", noon.Add(-40*day), outcome.Skipped)
	live := due("live", noon.Add(-100*day), owned(t, db).ID)
	gone := ended("gone", noon.Add(-50*day), outcome.Skipped)
	gone.Snapshot = json.RawMessage(`{"name":"gone"}`)
	add(t, db, yearly, old, fresh, skip, gone, live)
	if due, err := db.PruneDue(ctx, noon); !due || err != nil {
		t.Errorf("%v, %v", due, err)
	}
	outputs, _ := prune(t, db, noon, Keep{For: 30 * day}, SmallStep)
	if len(outputs) != 3 || !slices.ContainsFunc(outputs, func(r Row) bool { return r.ID == skip.ID }) {
		t.Errorf("%v", outputs)
	}
	if rows := allRows(t, db); len(rows) != 3 {
		t.Errorf("%v", rows)
	}
	var definitions int
	must(t, db.file.conn.QueryRow("SELECT count(*) FROM definition").Scan(&definitions))
	if definitions != 3 {
		t.Errorf("%d definitions, want 3: no row uses the old definition of task, or the definition of gone", definitions)
	}
	if due, err := db.PruneDue(ctx, noon.Add(11*time.Hour)); due || err != nil {
		t.Errorf("%v, %v", due, err)
	}
	if due, err := db.PruneDue(ctx, noon.Add(12*time.Hour)); !due || err != nil {
		t.Errorf("%v, %v", due, err)
	}
}

// Failures are kept for a time of their own, and no number of later successes removes them.
func TestFailuresAreKeptLongerThanSuccesses(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	const day = 24 * time.Hour
	ago := func(days int) time.Time { return noon.Add(-time.Duration(days) * day) }
	var rows []Row
	for i := range 40 {
		rows = append(rows, ended("task", noon.Add(time.Duration(i-60)*time.Minute), outcome.Succeeded))
	}
	for _, row := range []struct {
		days    int
		outcome outcome.Outcome
	}{{99, outcome.Failed}, {89, outcome.Lost}, {50, outcome.TimedOut}, {49, outcome.Succeeded},
		{49, outcome.Skipped}, {2, outcome.Stopped}} {
		rows = append(rows, ended("task", ago(row.days), row.outcome))
	}
	test := ended("task", ago(48), outcome.Failed)
	test.Test = true
	add(t, db, append(rows, test)...)
	left := func(keep Keep) (successes int, failures []outcome.Outcome) {
		prune(t, db, noon, keep, Budget{Rows: 7, Time: time.Hour})
		for _, r := range endedRows(t, db) {
			if r.Outcome == outcome.Succeeded {
				successes++
			} else {
				failures = append(failures, r.Outcome)
			}
		}
		return successes, failures
	}
	for _, row := range []struct {
		keep      Keep
		successes int
		failures  []outcome.Outcome
	}{
		{Keep{For: 30 * day, Failures: 90 * day, RunsPerTask: 30}, 30,
			[]outcome.Outcome{outcome.Stopped, outcome.TimedOut, outcome.Lost}},
		{Keep{For: 30 * day, Failures: 90 * day, RunsPerTask: 2}, 2,
			[]outcome.Outcome{outcome.Stopped, outcome.TimedOut}},
		{Keep{For: 30 * day, RunsPerTask: 2}, 2, nil},
	} {
		if successes, failures := left(row.keep); successes != row.successes || !slices.Equal(failures, row.failures) {
			t.Errorf("%+v keeps %d successes and %v", row.keep, successes, failures)
		}
	}
}

// A weekend of skips removes no run.
func TestSkipsEvictNoRuns(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	var rows []Row
	for i := range 40 {
		rows = append(rows, ended("task", noon.Add(time.Duration(i)*time.Minute), outcome.Succeeded))
	}
	for i := range 500 {
		rows = append(rows, ended("task", noon.Add(time.Duration(100+i)*time.Minute), outcome.Skipped))
	}
	rows = append(rows, ended("other", noon, outcome.Missed))
	add(t, db, rows...)
	outputs, steps := prune(t, db, noon.Add(24*time.Hour), Keep{RunsPerTask: 30}, Budget{Rows: 7, Time: time.Hour})
	if len(outputs) != 10+470 || steps < 480/7 {
		t.Errorf("%d rows in %d steps", len(outputs), steps)
	}
	counts := map[outcome.Outcome]int{}
	left := endedRows(t, db)
	for _, r := range left {
		counts[r.Outcome]++
	}
	if counts[outcome.Succeeded] != 30 || counts[outcome.Skipped] != 30 || counts[outcome.Missed] != 1 {
		t.Errorf("%v", counts)
	}
	if left[len(left)-1].Task != "other" || !left[len(left)-2].Slot.Equal(noon.Add(10*time.Minute)) {
		t.Error("others than the oldest went")
	}
	if outputs, _ := prune(t, db, noon.Add(24*time.Hour), Keep{RunsPerTask: 30}, SmallStep); len(outputs) > 0 {
		t.Errorf("%v", outputs)
	}
}
