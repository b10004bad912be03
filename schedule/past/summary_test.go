package past_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

func TestSummariesAddUpWhatIsInTheTime(t *testing.T) {
	db := openTest(t, t.TempDir())
	run := func(n int, task string, o outcome.Outcome, late, took time.Duration) state.Row {
		r := rec(n, task, o)
		if !r.Started.IsZero() {
			r.Started = r.Slot.Add(late)
			r.Ended = r.Started.Add(took)
		}
		return r
	}
	const ms, s = time.Millisecond, time.Second
	night := rec(5, "a", outcome.Missed)
	night.LastSlot, night.Slots = minute(8), 4
	asked := run(9, "a", outcome.Succeeded, time.Hour, 4*s)
	asked.Origin = "retry of 1"
	mustAdd(t, db,
		run(1, "a", outcome.Succeeded, 10*ms, 1*s), run(2, "a", outcome.Failed, 20*ms, 99*s),
		run(3, "a", outcome.TimedOut, 30*ms, 60*s),
		run(4, "a", outcome.Skipped, 0, 0), night, asked, run(10, "a", outcome.Succeeded, -5*s, 2*s),
		run(7, "b", outcome.Skipped, 0, 0), run(20, "c", outcome.Lost, 0, 0))
	noStart := rec(11, "c", outcome.Lost) // it never began
	noStart.Started = time.Time{}
	mustAdd(t, db, noStart)

	a := past.Summary{
		Task: "a",
		Slots: map[outcome.Outcome]int{outcome.Succeeded: 3, outcome.Failed: 1, outcome.TimedOut: 1,
			outcome.Skipped: 1, outcome.Missed: 4},
		Took:   past.Spread{Runs: 3, Median: 2 * s, P95: 4 * s, Max: 4 * s},
		Late:   past.Spread{Runs: 4, Median: 10 * ms, P95: 30 * ms, Max: 30 * ms},
		Failed: minute(3), FailedAs: outcome.TimedOut, FailedID: runID(3),
	}
	b := past.Summary{Task: "b", Slots: map[outcome.Outcome]int{outcome.Skipped: 1}}
	c := past.Summary{Task: "c", Slots: map[outcome.Outcome]int{outcome.Lost: 2}, Late: past.Spread{Runs: 1},
		Failed: minute(20), FailedAs: outcome.Lost, FailedID: runID(20)}
	early := past.Summary{Task: "a", Slots: map[outcome.Outcome]int{outcome.Succeeded: 1, outcome.Failed: 1},
		Took:   past.Spread{Runs: 1, Median: s, P95: s, Max: s},
		Late:   past.Spread{Runs: 2, Median: 10 * ms, P95: 20 * ms, Max: 20 * ms},
		Failed: minute(2), FailedAs: outcome.Failed, FailedID: runID(2)}
	for _, tt := range []struct {
		asked        string
		task         string
		since, until time.Time
		want         []past.Summary
	}{
		{"all", "", time.Time{}, time.Time{}, []past.Summary{a, b, c}},
		{"a task", "a", time.Time{}, time.Time{}, []past.Summary{a}},
		{"a task until a minute, itself not included", "a", minute(1), minute(3), []past.Summary{early}},
		{"all since a minute", "", minute(20), time.Time{},
			[]past.Summary{{Task: "c", Slots: map[outcome.Outcome]int{outcome.Lost: 1}, Late: past.Spread{Runs: 1},
				Failed: minute(20), FailedAs: outcome.Lost, FailedID: runID(20)}}},
		{"a task nobody knows", "d", time.Time{}, time.Time{}, nil},
	} {
		got, err := past.Of(db).Summaries(context.Background(), tt.task, tt.since, tt.until)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", tt.asked, got, err, tt.want)
		}
	}
	if rate, ok := a.SuccessRate(); !ok || rate != 0.6 || a.Ran() != 5 {
		t.Errorf("a: %v of %d, %t", rate, a.Ran(), ok)
	}
	if _, ok := b.SuccessRate(); ok {
		t.Error("b never ran, and has a success rate")
	}
}

// A person who stops a run, and a pause that does, make no failure; a signal from elsewhere does.
func TestAStopByHandIsNoFailure(t *testing.T) {
	db := openTest(t, t.TempDir())
	stopped := func(n int, kind outcome.Kind) state.Row {
		r := rec(n, "a", outcome.Stopped)
		r.Kind = kind
		return r
	}
	mustAdd(t, db, rec(1, "a", outcome.Succeeded), stopped(2, ""), stopped(3, outcome.ByHand), stopped(4, outcome.Paused))
	sums, err := past.Of(db).Summaries(context.Background(), "", time.Time{}, time.Time{})
	if err != nil || len(sums) != 1 {
		t.Fatalf("%+v, %v", sums, err)
	}
	s := sums[0]
	if rate, _ := s.SuccessRate(); s.Ran() != 4 || s.Wanted != 2 || rate != 0.5 || s.FailedID != runID(2) {
		t.Errorf("%+v, %v", s, rate)
	}
	tallies, err := past.Of(db).Tallies(context.Background(), []string{"a"}, time.Time{})
	if want := (past.Tally{Succeeded: 1, Failed: 1}); tallies["a"] != want || err != nil {
		t.Errorf("%+v, %v", tallies, err)
	}
}
