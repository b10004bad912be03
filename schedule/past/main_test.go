package past_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// runID returns an id in the form of a UUIDv7: ids of later numbers sort later.
func runID(n int) string { return fmt.Sprintf("%08x-0000-7000-8000-%012x", n, n*7919) }

// rec is the n-th run of a task, one a minute.
func rec(n int, task string, o outcome.Outcome) state.Row {
	r := state.Row{ID: runID(n), Task: task, Mutex: task, Slot: minute(n), Server: "web-1",
		Result: state.Result{Outcome: o, Ended: minute(n).Add(time.Second)}, Started: minute(n)}
	if o == outcome.Skipped || o == outcome.Missed {
		r.Started = time.Time{}
	}
	return r
}

// openTest opens the database in a folder, and closes it at the end of the test.
func openTest(t testing.TB, dir string) *state.DB {
	t.Helper()
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mustAdd(t testing.TB, db *state.DB, records ...state.Row) {
	t.Helper()
	if err := db.Runs().Record(context.Background(), records, false); err != nil {
		t.Fatal(err)
	}
}

func TestWhatThePastAddsUpTo(t *testing.T) {
	t.Parallel()
	db := openTest(t, t.TempDir())
	ended := func(n int, became outcome.Outcome) state.Row {
		r := rec(n, "task", became)
		r.ID, r.Scheduled, r.Snapshot = runID(n+60), true, json.RawMessage(`{"name":"task"}`)
		if !r.Started.IsZero() {
			r.Started, r.Attempt.Number = r.Slot.Add(time.Second), 1
		}
		r.Ended = r.Slot.Add(2 * time.Second)
		return r
	}
	var rows []state.Row
	for i := range 100 {
		r := ended(i, outcome.Succeeded)
		r.Ended = r.Started.Add(time.Duration(i) * time.Second)
		r.UserCPU, r.PeakMemory = time.Second, 1<<20
		rows = append(rows, r)
	}
	failed := ended(100, outcome.TimedOut)
	long := ended(-60, outcome.Missed)
	long.LastSlot, long.Slots = noon.Add(-time.Minute), 60
	tested := ended(101, outcome.Failed)
	tested.Test, tested.Scheduled = true, false
	mustAdd(t, db, append(rows, failed, long, tested)...)

	sums, err := past.Of(db).Summaries(t.Context(), "task", time.Time{}, time.Time{})
	if err != nil || len(sums) != 1 {
		t.Fatalf("%v, %v", sums, err)
	}
	want := past.Summary{Task: "task", Slots: map[outcome.Outcome]int{outcome.Succeeded: 100,
		outcome.TimedOut: 1, outcome.Missed: 60},
		Took:   past.Spread{100, 49 * time.Second, 94 * time.Second, 99 * time.Second},
		Late:   past.Spread{101, time.Second, time.Second, time.Second},
		Failed: failed.Slot, FailedAs: outcome.TimedOut, FailedID: failed.ID}
	if !reflect.DeepEqual(sums[0], want) {
		t.Errorf("%+v\nwant\n%+v", sums[0], want)
	}
	if rate, ok := sums[0].SuccessRate(); !ok || sums[0].Ran() != 101 || rate < 0.99 {
		t.Errorf("%v, %v", rate, ok)
	}
	if sums, err := past.Of(db).Summaries(t.Context(), "", noon.Add(10*time.Minute), noon.Add(20*time.Minute)); err != nil ||
		sums[0].Slots[outcome.Succeeded] != 10 {
		t.Errorf("%v, %v", sums, err)
	}
	if totals, err := past.Of(db).Totals(t.Context()); err != nil || len(totals["task"]) != 3 || totals["task"][0].Slots != 60 ||
		past.LastRan(totals["task"]).Run != failed.ID {
		t.Errorf("%v, %v", totals, err)
	}
	if usual, err := past.Of(db).Usual(t.Context(), []string{"task", "other"}); err != nil || len(usual) != 1 ||
		usual["task"] != (past.Usual{50, 74 * time.Second}) {
		t.Errorf("%v, %v", usual, err)
	}
	took, err := past.Of(db).Costs(t.Context())
	if one := took["task"]; err != nil || one.Runs != 50 || one.Median != 74*time.Second ||
		one.CPU != time.Second || one.Memory != 1<<20 ||
		!one.Slot.Equal(failed.Slot) || !strings.Contains(string(one.Snapshot), "task") {
		t.Errorf("%+v, %v", took, err)
	}
	hours, err := past.Of(db).Hours(t.Context(), []string{"task", "other"}, noon.Add(time.Hour), noon.Add(2*time.Hour))
	if err != nil || len(hours) != 2 || hours[0].Runs != 40 || hours[0].Minutes != 1<<40-1 ||
		hours[0].Outcome != outcome.Succeeded ||
		hours[0].Took != 3180*time.Second || hours[1].Outcome != outcome.TimedOut ||
		hours[1].Minutes != 1<<failed.Slot.Minute() || !hours[1].Begin.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v, %v", hours, err)
	}
	spans := []past.Span{{Task: "task", Since: noon.Add(90 * time.Minute)}, {Task: "other"}}
	newest, err := past.Of(db).Newest(t.Context(), spans, noon.Add(100*time.Minute), 3)
	if err != nil || len(newest["task"]) != 3 || newest["task"][0].ID != rows[99].ID {
		t.Errorf("%v, %v", newest, err)
	}
	ranges, err := past.Of(db).Ranges(t.Context(), []past.Span{{Task: "task", Since: noon.Add(-30 * time.Minute)}}, time.Time{})
	if err != nil || len(ranges["task"]) != 1 {
		t.Errorf("%v, %v", ranges, err)
	}
	counts, err := past.Of(db).Counts(t.Context(), spans, time.Time{}, 5)
	if err != nil || counts["task"] != 5 || counts["other"] != 0 {
		t.Errorf("%v, %v", counts, err)
	}
	around, err := past.Of(db).Around(t.Context(), "task", noon.Add(30*time.Second), 10)
	if err != nil || !around.First.Equal(long.Slot) || !around.Before.Equal(noon) ||
		!around.After.Equal(noon.Add(time.Minute)) || around.TaskSince != 10 {
		t.Errorf("%+v, %v", around, err)
	}
}

// prune goes through a whole pass.
func prune(t testing.TB, db *state.DB, now time.Time, keep state.Keep) {
	t.Helper()
	for more := true; more; {
		did, err := db.Prune(context.Background(), now, keep, state.SmallStep)
		if err != nil {
			t.Fatal(err)
		}
		more = did.More
	}
}
