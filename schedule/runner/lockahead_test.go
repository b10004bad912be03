package runner

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
)

// A slot may turn out not to start while its lock is being asked for: it is paused at this moment, or a signal came.
// A tick once waited for ever for the lock that it wanted to give back.
func TestLocksAreGivenBackWhileTheyAreAskedFor(t *testing.T) {
	remote, err := mutex.Dial(mutex.Config{Servers: []string{"redis://" + miniredis.RunT(t).Addr()}, Namespace: "shop", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", background: true, without_overlapping: true, command: "true"}
  - {name: b, cron: "* * * * *", background: true, without_overlapping: true, command: "true"}
  - {name: c, cron: "* * * * *", background: true, mutex: b, command: "true"}
`)
	w.storage.Store = remote
	tick := w.tick().prepare()
	slots := w.schedule.Due(tick.Minute)
	for range 50 {
		given := make(chan bool)
		go func() {
			ahead := tick.starter.lockAhead(slots)
			ahead.release(0, len(slots))
			close(given)
		}()
		select {
		case <-given:
		case <-time.After(20 * time.Second):
			t.Fatal("it waits for ever")
		}
	}
	for _, slot := range slots[:2] {
		record := tick.newRecord(slot)
		if lock, no := tick.locks.take(&record, slot); lock == nil {
			t.Errorf("%s: %s", slot.Task.Name, no.reason)
		}
	}
}
