package supervise

import (
	"errors"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// firstIn returns the task of the run that an error of a queue names; "" for none.
func firstIn(t *testing.T, err error) string {
	t.Helper()
	var behind *holding.BehindError
	if err != nil && !errors.As(err, &behind) {
		t.Fatal(err)
	}
	if behind == nil {
		return ""
	}
	return behind.First.Task
}

// waits begins a run that has waited for so long for what the task needs.
func waits(t *testing.T, caller run.Caller, task *schedule.Task, ago time.Duration) *waiter {
	t.Helper()
	row := state.Row{ID: outcome.NewID(), Task: task.Name, Mutex: task.Mutex, Slot: time.Now(), Background: true,
		Wait: state.Wait{For: state.ForMutex, Since: time.Now().Add(-ago), Until: time.Now().Add(time.Hour)}}
	r, err := caller.Begin(row, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return newWaiter(r, nil)
}

// ended is the result of a run whose wait was in vain.
func ended(w *waiter) state.Row {
	return state.Row{ID: w.run.Own.ID, Result: state.Result{Outcome: outcome.Skipped, Ended: time.Now()}}
}

// Runs of several processes wait for a mutex and for seats of a pool. The run that has waited
// longest is first in each queue in which it stands.
func TestWhoBeganToWaitFirstIsFirst(t *testing.T) {
	dir := t.TempDir()
	one, two := callerIn(t, dir), callerIn(t, dir)
	both := func(name string) *schedule.Task {
		return &schedule.Task{Name: name, Mutex: "db", WithoutOverlapping: true,
			Pool: schedule.Pool{Name: "few", Seats: 1}}
	}
	seats := state.SeatQueue("few")
	places := map[string]*waiter{
		"c": waits(t, one, both("c"), time.Minute),
		"b": waits(t, two, both("b"), 2*time.Minute),
		"a": waits(t, one, both("a"), 3*time.Minute),
	}
	for _, row := range []struct {
		task  string
		names []string
		first string
	}{
		{"a", []string{"db"}, ""},
		{"b", []string{"db"}, "a"},
		{"c", []string{"db", seats}, "a"}, // it stands for a seat, too
		{"b", []string{seats}, ""},        // and so does one that was there before
		{"c", []string{seats}, "b"},
		{"a", nil, ""}, // a pause keeps it
		{"b", []string{"db"}, ""},
	} {
		if got := firstIn(t, places[row.task].enqueue(row.names...)); got != row.first {
			t.Errorf("%s in %v finds %q before it, not %q", row.task, row.names, got, row.first)
		}
	}
	if got := firstIn(t, one.Behind(mutex.Need{Mutex: "db"})); got != "b" {
		t.Errorf("who comes finds %q before it", got)
	}
	two.Self.Close() // as a kill does: its rows stay
	if got := firstIn(t, one.Behind(mutex.Need{Mutex: "db"})); got != "c" {
		t.Errorf("when b was killed %q is first", got)
	}
	if got := firstIn(t, one.Behind(mutex.Need{Mutex: "other"})); got != "" {
		t.Errorf("%q waits for another mutex", got)
	}
}

// Runs that wait in one process share what they see. A run that comes later still sees the runs
// before it, and soon each run sees which have left.
func TestWhoComesSeesThoseThatCameBefore(t *testing.T) {
	caller := callerIn(t, t.TempDir())
	queue := &queueView{}
	for range 20 { // each has its place a moment after the one before has looked
		before := waits(t, caller, database("before"), 2*time.Minute)
		place := waits(t, caller, database("place"), time.Minute)
		before.queue, place.queue = queue, queue
		if got := firstIn(t, place.enqueue("db")); got != "before" {
			t.Fatalf("%q is first", got)
		}
		run.Finish(before.run, ended(before))
		for end := time.Now().Add(10 * time.Second); firstIn(t, place.enqueue("db")) != ""; {
			if time.Now().After(end) {
				t.Fatal("who has left is still there")
			}
		}
		run.Finish(place.run, ended(place))
	}
}
