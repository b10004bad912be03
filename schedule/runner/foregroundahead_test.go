package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/mutex/queue"
	"sched/schedule"
)

// A batch is what is likely to start within a few round trips: more of the same where tasks are short, one where they are long.
func TestABatchIsAsLargeAsTheLastOneAllows(t *testing.T) {
	ready := time.Now()
	for _, tt := range []struct {
		size       int
		asked, ran time.Duration
		want       int
	}{
		{1, 100 * time.Millisecond, time.Millisecond, 4},
		{4, 100 * time.Millisecond, 20 * time.Millisecond, 16},
		{100, 100 * time.Millisecond, 400 * time.Millisecond, 100},
		{100, 100 * time.Millisecond, 800 * time.Millisecond, 50},
		{16, 100 * time.Millisecond, time.Hour, 1},
		{1, time.Millisecond, 5 * time.Millisecond, 1},
		{400, time.Second, 0, 500},
	} {
		a := foregroundAhead{size: tt.size, asked: tt.asked, ready: ready}
		if a.resize(ready.Add(tt.ran)); a.size != tt.want {
			t.Errorf("%+v: %d", tt, a.size)
		}
	}
}

// What is taken ahead is what the slot gets when it is reached; the rest is given back. A mutex that is shared, or held, is left until then.
func TestLocksOfABatchAreUsedOrGivenBack(t *testing.T) {
	remote, err := mutex.Dial(mutex.Config{Servers: []string{"redis://" + miniredis.RunT(t).Addr()}, Namespace: "shop", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", without_overlapping: true, command: "true"}
  - {name: b, cron: "* * * * *", without_overlapping: true, command: "true"}
  - {name: c, cron: "* * * * *", without_overlapping: true, mutex: a, command: "true"}
  - {name: d, cron: "* * * * *", without_overlapping: true, one_server: true, command: "true"}
  - {name: e, cron: "* * * * *", without_overlapping: true, when: "true", command: "true"}
  - {name: f, cron: "* * * * *", without_overlapping: true, one_server: true, command: "true"}
`)
	w.storage.Store = remote
	tick := w.tick().prepare()
	slots := w.schedule.Due(tick.Minute)
	elsewhere, err := remote.Acquire(t.Context(), "f", mutex.Holder{Run: "another"})
	if err != nil {
		t.Fatal(err)
	}
	ahead := foregroundAhead{starter: tick.starter, size: 5, asked: time.Hour, ready: time.Now()}
	ahead.taken = map[schedule.Slot]*aheadResult{}
	record := tick.newRecord(slots[0])
	if lock, no := ahead.taker(slots[1:])(&record, slots[0]); lock == nil {
		t.Fatal(no.reason)
	}
	for name, want := range map[int]bool{1: true, 2: false, 3: true, 4: false, 5: true} {
		if got := ahead.taken[slots[name]] != nil; got != want {
			t.Errorf("%s is taken ahead: %t", slots[name].Task.Name, got)
		}
	}
	run := ahead.taken[slots[1]].record.Run
	record = tick.newRecord(slots[1])
	if lock, no := ahead.taker(slots[2:])(&record, slots[1]); lock == nil || record.Run != run {
		t.Errorf("%s: %q and not %q", no.reason, record.Run, run)
	}
	record = tick.newRecord(slots[5])
	if _, no := ahead.taker(nil)(&record, slots[5]); !strings.Contains(no.reason, "still running") {
		t.Errorf("the mutex is held elsewhere, and the claim our own: %s", no.reason)
	}
	ahead.release(slots...)
	if held, err := remote.Held(t.Context(), "a", "b", "d", "f"); err != nil || len(held) != 3 {
		t.Errorf("%v, %v", held, err)
	}
	elsewhere.Release(t.Context())
}

// A run waited for a seat of the pool when the batch was taken. That read as if another server had the slot, which was lost: it is asked
// for again when it is reached.
func TestASlotForWhosePoolOthersWaitIsAskedForAgain(t *testing.T) {
	remote, err := mutex.Dial(mutex.Config{Servers: []string{"redis://" + miniredis.RunT(t).Addr()}, Namespace: "shop", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", without_overlapping: true, command: "true"}
  - {name: b, cron: "* * * * *", pool: few, command: "true"}
  - {name: c, cron: "0 0 29 2 *", pool: few, background: true, without_overlapping: wait, command: "true"}
pools: {few: 1}
`)
	w.storage.Store = remote
	tick := w.tick().prepare()
	slots := w.schedule.Due(tick.Minute)
	waiter := mutex.Holder{Run: "waiter", Task: "c", Since: time.Now()}
	names := []string{queue.OfPool("few")}
	if _, err := remote.Queue(t.Context(), names, mutex.Ticket{Holder: waiter}); err != nil {
		t.Fatal(err)
	}
	ahead := foregroundAhead{starter: tick.starter, size: 2, asked: time.Hour, ready: time.Now(), taken: map[schedule.Slot]*aheadResult{}}
	record := tick.newRecord(slots[0])
	if lock, no := ahead.taker(slots[1:])(&record, slots[0]); lock == nil {
		t.Fatal(no.reason)
	}
	if result := ahead.taken[slots[1]]; result == nil || !result.again {
		t.Fatalf("taken ahead: %+v", result)
	}
	if err := remote.LeaveQueue(t.Context(), names, waiter); err != nil {
		t.Fatal(err)
	}
	if lock, no := ahead.taker(nil)(&record, slots[1]); lock == nil {
		t.Errorf("nobody waits any more: %s", no.reason)
	}
}
