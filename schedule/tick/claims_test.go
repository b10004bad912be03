package tick

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/schedule/tick/claims"
	"sched/testing/redistest"
)

// A slot may turn out not to start while its lock is being asked for: it is paused at this moment,
// or a signal came. A tick once waited for ever for the lock that it wanted to give back.
func TestLocksAreGivenBackWhileTheyAreAskedFor(t *testing.T) {
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", background: true, without_overlapping: true, command: "true"}
  - {name: b, cron: "* * * * *", background: true, without_overlapping: true, command: "true"}
  - {name: c, cron: "* * * * *", background: true, mutex: b, command: "true"}
`)
	w.storage.Store = redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())
	tick := w.tick().prepare(unstopped)
	slots := w.schedule.Due(tick.tick.Minute)
	for range 50 {
		given := make(chan bool)
		go func() {
			tick.launcher.prefetch(slots)
			tick.launcher.locks.ReleasePrefetched(slots)
			close(given)
		}()
		select {
		case <-given:
		case <-time.After(20 * time.Second):
			t.Fatal("it waits for ever")
		}
	}
	for _, slot := range slots[:2] {
		row := rowOf("here", slot)
		if lock, refusal := tick.launcher.locks.Take(&row, slot); lock == nil {
			t.Errorf("%s: %s", slot.Task.Name, refusal.Reason)
		}
	}
}

// At its beginning a tick claims slots that may start, except for tasks whose condition commands
// may say no. The run that begins is the run that has the claim.
func TestWhatIsClaimedAhead(t *testing.T) {
	w := newWorld(t, 1, `
  - {name: plain, cron: "* * * * *", one_server: true, command: "true"}
  - {name: asks, cron: "* * * * *", one_server: true, when: "true", command: "true"}
  - {name: mondays, cron: "* * * * *", one_server: true, days: [monday], command: "true"}
  - {name: everywhere, cron: "* * * * *", command: "true"}
`)
	w.storage.Store = redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())
	tick, slots := w.begin()
	tick.launcher.prefetch(slots)
	for i, want := range []bool{true, false, false, false} {
		name, id := slots[i].Task.Name, tick.launcher.locks.PrefetchedRun(slots[i])
		if want != (id != "") {
			t.Errorf("%s is claimed ahead: %t", name, !want)
		}
		if id == "" {
			continue
		}
		taken := tick.launcher.newRow(slots[i])
		if _, refusal := tick.launcher.locks.Take(&taken, slots[i]); refusal.Cause != claims.None {
			t.Error(refusal.Reason)
		}
		known, err := w.storage.Store.Claims(t.Context(), slots[i].ClaimKey())
		holder, claimed := known[slots[i].ClaimKey()]
		if row := tick.launcher.newRow(slots[i]); !claimed || err != nil || row.ID != holder.Run {
			t.Errorf("%s: %s is to run, and %+v has the claim: %v", name, row.ID, holder, err)
		}
	}
}

// Hundreds of tasks are claimed side by side, and no more than mutex.MaxConcurrent of them at a
// time.
func TestClaimsAreMadeSideBySide(t *testing.T) {
	tasks := ""
	for i := range 3 * mutex.MaxConcurrent {
		tasks += fmt.Sprintf("  - {name: t%d, cron: \"* * * * *\", one_server: true, command: \"true\"}\n", i)
	}
	w := newWorld(t, 1, tasks)
	w.storage.Store = redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())
	tick, slots := w.begin()
	var mu sync.Mutex
	asking, most, full := 0, 0, make(chan struct{})
	count := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		asking += change
		if asking > most {
			if most = asking; most == mutex.MaxConcurrent {
				close(full)
			}
		}
	}
	tick.launcher.locks.Storage.Store = claimCounter{tick.launcher.locks.Storage.Store, func() {
		count(1)
		<-full
		count(-1)
	}}
	tick.launcher.prefetch(slots)
	select {
	case <-full:
	case <-time.After(20 * time.Second):
		t.Fatal("they are claimed one after another")
	}
	for _, slot := range slots {
		row := tick.launcher.newRow(slot)
		tick.launcher.locks.Take(&row, slot)
	}
	if most > mutex.MaxConcurrent {
		t.Errorf("%d were claimed at a time", most)
	}
}

// A claimCounter calls asked at each claim.
type claimCounter struct {
	mutex.Store
	asked func()
}

func (c claimCounter) Claim(ctx context.Context, key string, until time.Time, by mutex.Holder) error {
	c.asked()
	return c.Store.Claim(ctx, key, until, by)
}
