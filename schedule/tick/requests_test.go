package tick

import (
	"context"
	"errors"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/testing/redistest"
)

// Two processes list the same request, and one of them answers it first. The other once took the
// mutex of the task until it saw that: a slot that was due at that moment was skipped, though no
// run had the mutex.
func TestARequestThatWasAnsweredMeanwhileTakesNoMutex(t *testing.T) {
	w := newWorld(t, 1, `
  - {name: task, cron: "0 5 * * *", without_overlapping: true, command: "true"}
`)
	locks := &lockCounter{Store: redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())}
	w.storage.Store = locks
	row := state.Row{ID: outcome.NewID(), Task: "task", Mutex: "task", Slot: w.now, Origin: "triggered by a person"}
	if _, err := w.storage.DB.Runs().Request(context.Background(), row); err != nil {
		t.Fatal(err)
	}
	first, second := w.tick().prepare(unstopped), w.tick().prepare(unstopped)
	waiting, err := second.requests.waiting()
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%d requests wait: %v", len(waiting), err)
	}
	begin := func(r *tickRun) bool {
		begun, ok := r.requests.begin(waiting[0], w.schedule.Task("task"))
		if ok {
			run.FailBeforeStart(begun, errors.New("it is over at once"), nil)
		}
		return ok
	}
	if !begin(first) || locks.asked != 1 {
		t.Fatalf("the first one did not begin the run, or asked %d times for its mutex", locks.asked)
	}
	if begin(second) || locks.asked != 1 {
		t.Errorf("the second one began the run again, or asked for its mutex: %d times in all", locks.asked)
	}
}

// A lockCounter counts how often a mutex was asked for.
type lockCounter struct {
	mutex.Store
	asked int
}

func (c *lockCounter) Acquire(ctx context.Context, name string, by mutex.Holder) (mutex.Lock, error) {
	c.asked++
	return c.Store.Acquire(ctx, name, by)
}
