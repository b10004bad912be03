package past_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// withOddities adds rows that count nowhere: a test, slots that did not run, a run that a pause
// stopped, and a run of a task that nobody asks for.
func withOddities(t *testing.T, db *state.DB) {
	t.Helper()
	test, paused := rec(4, "a", outcome.Failed), rec(5, "a", outcome.Stopped)
	test.Test, paused.Kind = true, outcome.Paused
	mustAdd(t, db, test, paused, rec(6, "a", outcome.Skipped), rec(7, "a", outcome.Missed), rec(8, "other", outcome.Failed))
}

func TestBucketsCountSuccessesAndFailuresOfAllTasks(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(0, "a", outcome.Succeeded), rec(1, "b", outcome.Succeeded), rec(2, "b", outcome.Failed),
		rec(3, "a", outcome.Failed), rec(9, "a", outcome.TimedOut), rec(10, "a", outcome.Succeeded), rec(31, "b", outcome.Lost),
		rec(60, "a", outcome.Succeeded))
	withOddities(t, db)
	all, err := past.Of(db).Buckets(t.Context(), []string{"a", "b"}, minute(0), minute(60), 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range all {
		got = append(got, fmt.Sprint(b.Begin.Format("15:04"), " ", b.Runs, " ", b.Outcome, " ", b.Tasks))
		if b.Outcome.Failure() != (b.Run != "") {
			t.Errorf("%+v", b)
		}
	}
	slices.Sort(got)
	want := []string{"12:00 1 timed out [a]", "12:00 2 failed [a b]", "12:00 2 succeeded []", "12:10 1 succeeded []",
		"12:30 1 lost [b]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.IsSortedFunc(all, func(a, b past.Bucket) int { return a.Begin.Compare(b.Begin) }) {
		t.Errorf("they are not in the order of time: %+v", all)
	}
}

func TestTalliesCountTheRunsOfEachTask(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(-1, "a", outcome.Succeeded), rec(0, "a", outcome.Succeeded), rec(1, "a", outcome.Succeeded),
		rec(2, "a", outcome.Failed), rec(3, "b", outcome.TimedOut))
	withOddities(t, db)
	got, err := past.Of(db).Tallies(t.Context(), []string{"a", "b", "c"}, minute(0))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]past.Tally{"a": {Succeeded: 2, Failed: 1}, "b": {Failed: 1}}
	if len(got) != len(want) || got["a"] != want["a"] || got["b"] != want["b"] {
		t.Errorf("%+v, want %+v", got, want)
	}
}
