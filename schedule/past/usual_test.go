package past_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// lasting is the n-th run of a task, with a duration.
func lasting(n int, task string, o outcome.Outcome, took time.Duration) state.Row {
	r := rec(n, task, o)
	r.Ended = r.Started.Add(took)
	return r
}

func TestUsualIsTheMedianOfTheLastSuccesses(t *testing.T) {
	db := openTest(t, t.TempDir())
	n := 0
	add := func(task string, o outcome.Outcome, seconds ...int) {
		for _, s := range seconds {
			n++
			mustAdd(t, db, lasting(n, task, o, time.Duration(s)*time.Second))
		}
	}
	add("odd", outcome.Succeeded, 9, 1, 5)
	add("even", outcome.Succeeded, 4, 1, 3, 2)
	add("one", outcome.Succeeded, 7)
	add("failing", outcome.Failed, 1, 1)
	add("failing", outcome.TimedOut, 60)
	add("mixed", outcome.Succeeded, 10, 12)
	add("mixed", outcome.Failed, 1, 1, 1, 1)
	add("mixed", outcome.Skipped, 0, 0)
	add("mixed", outcome.Succeeded, 11)
	for range 60 { // older runs do not count
		add("faster", outcome.Succeeded, 100)
	}
	for range 50 {
		add("faster", outcome.Succeeded, 2)
	}
	add("broken", outcome.Succeeded, 3)
	for range 200 {
		add("broken", outcome.Failed, 1)
	}

	got, err := past.Of(db).Usual(context.Background(),
		[]string{"odd", "even", "one", "failing", "mixed", "faster", "broken", "unknown"})
	want := map[string]past.Usual{
		"odd":    {Runs: 3, Duration: 5 * time.Second},
		"even":   {Runs: 4, Duration: 2 * time.Second},
		"one":    {Runs: 1, Duration: 7 * time.Second},
		"mixed":  {Runs: 3, Duration: 11 * time.Second},
		"faster": {Runs: 50, Duration: 2 * time.Second},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
}

func TestUsualOfNoTasks(t *testing.T) {
	db := openTest(t, t.TempDir())
	for _, none := range [][]string{nil, {}} {
		if got, err := past.Of(db).Usual(context.Background(), none); err != nil || len(got) != 0 {
			t.Errorf("%v: %v, %v", none, got, err)
		}
	}
}
