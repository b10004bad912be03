package state_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func TestLastIsTheNewestThatRan(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed), rec(3, "a", outcome.Skipped),
		rec(4, "a", outcome.Missed),
		rec(5, "b", outcome.Succeeded), rec(6, "only skipped", outcome.Skipped),
		rec(7, "not asked for", outcome.Succeeded))
	last, err := db.Runs().Last(context.Background(), []string{"a", "b", "b", "only skipped", "never ran", `"`})
	if err != nil || len(last) != 2 || last["a"].ID != runID(2) || last["b"].ID != runID(5) {
		t.Errorf("got %v, %v", last, err)
	}
	if none, err := db.Runs().Last(context.Background(), nil); err != nil || len(none) != 0 {
		t.Errorf("of no tasks: got %v, %v", none, err)
	}
}

func TestPreviousIsTheNewestThatRanBefore(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Failed), rec(2, "a", outcome.Skipped), rec(3, "b", outcome.Failed),
		rec(5, "a", outcome.Succeeded))
	for _, tt := range []struct {
		before, task string
		run          int
		want         string
	}{
		{"a run that is recorded", "a", 5, runID(1)},
		{"a run that is not recorded yet", "a", 9, runID(5)},
		{"the first run", "a", 1, ""},
		{"a run of a task without records", "c", 9, ""},
	} {
		got, ok, err := db.Runs().Previous(context.Background(), tt.task, runID(tt.run))
		if err != nil || got.ID != tt.want || ok != (tt.want != "") {
			t.Errorf("before %s: got %q, %t, %v", tt.before, got.ID, ok, err)
		}
	}
}

func TestUnknownRunsAreThoseWithoutARow(t *testing.T) {
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(1, "a", outcome.Succeeded))
	known := rec(1, "a", outcome.Succeeded).ID
	unknown, err := db.Runs().Unknown(t.Context(), []string{"0199", known, known[:8], `"`})
	if err != nil || !slices.Equal(unknown, []string{"0199", known[:8], `"`}) {
		t.Errorf("%q, %v", unknown, err)
	}
}

// A run in a queue lets nobody behind it go first. A run that a pause keeps from starting
// delays nobody.
func TestTheQueuesInWhichARunStands(t *testing.T) {
	for _, row := range []struct {
		waits state.WaitsFor
		want  []string
	}{
		{state.ForNothing, nil},
		{state.ForTime, nil},
		{state.ForPause, nil},
		{state.ForMutex, []string{"db"}},
		{state.ForSeat, []string{"db", state.SeatQueue("few")}},
		{state.ForStore, nil},
	} {
		run := state.Row{Task: "report", Mutex: "db", Pool: "few", Wait: state.Wait{For: row.waits}}
		var stands []string
		for _, queue := range []string{"db", state.SeatQueue("few"), "few", "report", ""} {
			if run.InQueue(queue) {
				stands = append(stands, queue)
			}
		}
		if !slices.Equal(stands, row.want) {
			t.Errorf("a run that waits for %q stands in %q, want %q", row.waits, stands, row.want)
		}
	}
}
