package state_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

var tiny = state.Budget{Rows: 20, Time: time.Hour}

// pruneAll goes through a whole pass and returns the outputs of the runs that it removed.
func pruneAll(t testing.TB, db *state.DB, now time.Time, keep time.Duration, perTask int) (removed []state.Row, steps int) {
	t.Helper()
	for more := true; more; steps++ {
		did, err := db.Prune(context.Background(), now, state.Keep{For: keep, RunsPerTask: perTask}, tiny)
		if err != nil {
			t.Fatal(err)
		}
		removed, more = append(removed, did.Removed...), did.More
	}
	return removed, steps
}

func TestPruneKeepsWhatIsNewAndTheLastOutcomeOfEachTask(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		records []state.Row
		keep    time.Duration
		perTask int
		want    []int
	}{
		{"old records go",
			[]state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded),
				rec(90, "a", outcome.Succeeded)}, time.Hour, 0, []int{90}},
		{"a record as old as the bound stays",
			[]state.Row{rec(39, "a", outcome.Skipped), rec(40, "a", outcome.Skipped)}, time.Hour, 0, []int{40}},
		{"the only record of a task stays, however old",
			[]state.Row{rec(1, "a", outcome.Succeeded), rec(2, "b", outcome.Failed)}, time.Hour, 1, []int{2, 1}},
		{"the last outcome stays, while older ones and later skips go",
			[]state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Skipped),
				rec(4, "a", outcome.Missed)}, time.Hour, 0, []int{2}},
		{"a task that never ran leaves nothing",
			[]state.Row{rec(1, "a", outcome.Skipped), rec(2, "a", outcome.Missed)}, time.Hour, 0, nil},
		{"a run that took longer than the bound counts from its end",
			[]state.Row{{ID: runID(1), Task: "a", Slot: minute(1),
				Result: state.Result{Ended: minute(80), Outcome: outcome.Failed}}, rec(70, "a", outcome.Succeeded)},
			time.Hour, 0, []int{70, 1}},
		{"beyond the newest two of each task",
			[]state.Row{rec(1, "a", outcome.Succeeded), rec(2, "b", outcome.Succeeded), rec(3, "a", outcome.Succeeded),
				rec(4, "a", outcome.Succeeded), rec(5, "a", outcome.Succeeded)},
			0, 2, []int{5, 4, 2}},
		{"skips are bounded apart: a weekend of them removes no run",
			[]state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Skipped),
				rec(4, "a", outcome.Skipped), rec(5, "a", outcome.Skipped)},
			0, 2, []int{5, 4, 2, 1}},
		{"and runs remove no skips",
			[]state.Row{rec(1, "a", outcome.Skipped), rec(2, "a", outcome.Missed), rec(3, "a", outcome.Failed),
				rec(4, "a", outcome.Succeeded), rec(5, "a", outcome.Succeeded)},
			0, 2, []int{5, 4, 2, 1}},
		{"without bounds everything stays",
			[]state.Row{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded)}, 0, 0, []int{2, 1}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			mustAdd(t, db, tt.records...)
			pruneAll(t, db, minute(100), tt.keep, tt.perTask)
			want := []string{}
			for _, n := range tt.want {
				want = append(want, runID(n))
			}
			if got := runsOf(t, db, past.Query{}); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestPruneHandsBackWhatItRemoved(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, dir)
	for n := range 6 {
		r := rec(n, "a", outcome.Succeeded)
		if n != 1 {
			r.Output = fmt.Sprintf("%s/output/a/%d.log", dir, n)
		}
		mustAdd(t, db, r)
	}
	removed, _ := pruneAll(t, db, minute(100), 0, 3)
	var got []string
	for _, r := range removed {
		got = append(got, fmt.Sprint(r.Task, r.ID, r.Output))
	}
	slices.Sort(got)
	var want []string
	for n, output := range []string{dir + "/output/a/0.log", "", dir + "/output/a/2.log"} {
		want = append(want, fmt.Sprint("a", rec(n, "a", outcome.Succeeded).ID, output))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPruneGoesInSmallSteps(t *testing.T) {
	db := openTest(t, t.TempDir())
	many := []state.Row{}
	for n := range 120 {
		many = append(many, rec(n, fmt.Sprint("task-", n%12), outcome.Succeeded))
		many[n].Output = fmt.Sprint("/out/", n)
	}
	mustAdd(t, db, many...)
	// 24 records are too old; then each of 12 tasks has 8 and keeps 5.
	outputs, steps := pruneAll(t, db, minute(124), 100*time.Minute, 5)
	if got := len(runsOf(t, db, past.Query{})); got != 12*5 || len(outputs) != 120-got {
		t.Errorf("%d are left, %d outputs", got, len(outputs))
	}
	if steps != 4 { // 20 old records; 4, and 5 tasks and a third; the other tasks; nothing
		t.Errorf("it took %d steps", steps)
	}
	if more, steps := pruneAll(t, db, minute(124), 100*time.Minute, 5); len(more) > 0 || steps != 1 {
		t.Errorf("the second pass took %d steps and %d rows", steps, len(more))
	}
}

func TestPruningIsDueOnceADayAndUntilAPassHasEnded(t *testing.T) {
	db := openTest(t, t.TempDir())
	many := []state.Row{}
	for n := range 50 {
		many = append(many, rec(n, "a", outcome.Succeeded))
	}
	mustAdd(t, db, many...)
	due := func(when string, now time.Time, want bool) {
		t.Helper()
		if got, err := db.PruneDue(context.Background(), now); got != want || err != nil {
			t.Errorf("%s: got %t", when, got)
		}
	}
	due("before the first pass", noon, true)
	if did, err := db.Prune(context.Background(), noon, state.Keep{RunsPerTask: 10}, tiny); !did.More || err != nil {
		t.Fatal(did, err)
	}
	due("in the middle of a pass", noon, true)
	pruneAll(t, db, noon, 0, 10)
	due("after the pass", noon, false)
	due("later that day", noon.Add(11*time.Hour), false)
	due("the next day", noon.Add(12*time.Hour), true)
	due("after the clock was set back", noon.Add(-24*time.Hour), true)
}

// A tick has only a moment to spare, however much there is to remove.
func TestAStepOfPruningEndsInTime(t *testing.T) {
	many := []state.Row{}
	for n := range 300 {
		many = append(many, rec(n, fmt.Sprint("task-", n%3), outcome.Succeeded))
	}
	for _, tt := range []struct {
		rule   string
		budget state.Budget
		want   int
	}{
		{"when the time is over it removes no more", state.Budget{Rows: 200}, 50},
		{"but as many as it has to, so that no history grows for ever", state.Budget{Rows: 200, MinRows: 60}, 100},
		{"with time it removes the most that it may", state.Budget{Rows: 200, Time: time.Hour}, 200},
		{"or what it has to", state.Budget{Rows: 200, Time: time.Hour, MinRows: 230}, 230},
	} {
		db := openTest(t, t.TempDir())
		mustAdd(t, db, many...)
		did, err := db.Prune(context.Background(), minute(1000), state.Keep{For: time.Hour, RunsPerTask: 1}, tt.budget)
		if removed := 300 - len(runsOf(t, db, past.Query{})); removed != tt.want || !did.More || err != nil {
			t.Errorf("%s: %d were removed, more %t, %v", tt.rule, removed, did.More, err)
		}
	}
}

// Each step looks at some tasks at least. So a pass ends, even if one look takes all the time.
func TestAPassThatFindsNothingEnds(t *testing.T) {
	db := openTest(t, t.TempDir())
	for n := range 30 {
		mustAdd(t, db, rec(n, fmt.Sprint("task-", n%5), outcome.Succeeded))
	}
	steps := 0
	for more := true; more; steps++ {
		if steps > 10 {
			t.Fatal("it does not end")
		}
		did, err := db.Prune(context.Background(), minute(40), state.Keep{RunsPerTask: 100},
			state.Budget{Rows: 9, Time: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		more = did.More
	}
	if steps < 2 {
		t.Errorf("it took %d steps", steps)
	}
}
