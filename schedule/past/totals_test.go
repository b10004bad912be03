package past_test

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

// totalsOf says the totals of a task in one line each: "succeeded 3, last 12:05".
func totalsOf(t *testing.T, db *state.DB, task string) []string {
	t.Helper()
	totals, err := past.Of(db).Totals(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, total := range totals[task] {
		lines = append(lines, fmt.Sprintf("%s %d, last %s", total.Outcome, total.Slots, total.Slot.Format("15:04")))
	}
	slices.Sort(lines)
	return lines
}

func TestTotalsCountEverySlotOnce(t *testing.T) {
	gap := rec(3, "a", outcome.Missed)
	gap.Slots, gap.LastSlot = 40, gap.Slot.Add(39*time.Minute)
	for _, tt := range []struct {
		rule string
		adds [][]state.Row
		want []string
	}{
		{"each outcome has its own",
			[][]state.Row{{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Succeeded),
				rec(4, "b", outcome.Succeeded)}},
			[]string{"failed 1, last 12:02", "succeeded 2, last 12:03"}},
		{"a record that is added again is not counted again",
			[][]state.Row{{rec(1, "a", outcome.Succeeded)},
				{rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded)}, {rec(2, "a", outcome.Succeeded)}},
			[]string{"succeeded 2, last 12:02"}},
		{"nor one that comes twice in one transaction",
			[][]state.Row{{rec(1, "a", outcome.Succeeded), rec(1, "a", outcome.Succeeded)}},
			[]string{"succeeded 1, last 12:01"}},
		{"a record of several slots counts as many",
			[][]state.Row{{gap}, {rec(50, "a", outcome.Missed)}},
			[]string{"missed 41, last 12:50"}},
		{"the last is the newest run, in whatever order they come",
			[][]state.Row{{rec(5, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded)},
				{rec(4, "a", outcome.Succeeded)}},
			[]string{"succeeded 3, last 12:05"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			db := openTest(t, t.TempDir())
			for _, records := range tt.adds {
				mustAdd(t, db, records...)
			}
			if got := totalsOf(t, db, "a"); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestATotalHasTheTimesAndTheCodeOfItsNewestRecord(t *testing.T) {
	db := openTest(t, t.TempDir())
	code := 3
	failed := rec(2, "a", outcome.Failed)
	failed.ExitCode = &code
	mustAdd(t, db, rec(1, "a", outcome.Failed), failed)
	mustAdd(t, db, rec(3, "a", outcome.Skipped), rec(0, "a", outcome.Succeeded))
	totals, err := past.Of(db).Totals(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	last := past.LastRan(totals["a"])
	if last == nil || last.Run != failed.ID || *last.ExitCode != 3 || !last.Started.Equal(failed.Started) ||
		!last.Ended.Equal(failed.Ended) {
		t.Errorf("got %+v", last)
	}
	if past.LastRan(totals["nobody"]) != nil {
		t.Error("a task that never ran has a last run")
	}
}

// A counter that goes down would look like a restart to programs that take rates of it.
func TestPruningTakesNothingFromTheTotals(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Succeeded), rec(3, "a", outcome.Failed),
		rec(4, "a", outcome.Failed))
	before := totalsOf(t, db, "a")
	prune(t, db, minute(100), state.Keep{For: time.Hour, RunsPerTask: 1})
	if left, err := past.Of(db).Find(t.Context(), past.Query{}); err != nil || len(left) != 1 {
		t.Fatalf("%d rows are left: %v", len(left), err)
	}
	if after := totalsOf(t, db, "a"); !slices.Equal(before, after) {
		t.Errorf("%q, then %q", before, after)
	}
}
