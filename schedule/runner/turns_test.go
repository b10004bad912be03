package runner

import (
	"fmt"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/oneserver"
	"sched/schedule/run"
)

// turnsOf are the turns of a server that knows of n servers.
func turnsOf(name string, n int, store *mutex.Redis) *turns {
	t := newTurns(&Tick{Host: Host{Server: name}, Storage: run.Storage{Store: store}}, time.Time{})
	t.peers = func() (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("web-%d", i+1))
		}
		return all
	}
	return t
}

// Of all servers it is the turn of exactly one, the others wait for a while, and each has its part of the slots.
func TestTurnsAreFair(t *testing.T) {
	const n, slots = 15, 3000
	var all []*turns
	for i := range n {
		all = append(all, turnsOf(fmt.Sprintf("web-%d", i+1), n, new(mutex.Redis)))
	}
	first, task := make([]int, n), &schedule.Task{Name: "report", OneServer: true}
	for i := range slots {
		slot := schedule.Slot{Task: task, At: time.Date(2026, 3, 1, 0, i, 0, 0, time.UTC)}
		own := 0
		for i, server := range all {
			switch delay := server.delay(slot); {
			case delay == 0:
				first[i]++
				own++
			case delay < oneserver.FirstAlone || delay >= oneserver.FirstAlone+oneserver.MostSpread:
				t.Fatalf("it waits for %v", delay)
			}
		}
		if own != 1 {
			t.Fatalf("it is the turn of %d servers", own)
		}
	}
	t.Logf("of %d slots it is their turn for %v", slots, first)
	for i, wins := range first {
		if wins < slots/n*3/4 || wins > slots/n*4/3 {
			t.Errorf("it is the turn of web-%d for %d of %d slots", i+1, wins, slots)
		}
	}
}

func TestWhoWaitsWithAClaim(t *testing.T) {
	claimed, plain := &schedule.Task{Name: "a", OneServer: true}, &schedule.Task{Name: "a"}
	prefers := func(names ...string) *schedule.Task {
		return &schedule.Task{Name: "a", OneServer: true, Prefer: names}
	}
	const never, atTimes, always, aSecond = "never", "at times", "always", "always for a second"
	for _, row := range []struct {
		name    string
		task    *schedule.Task
		servers int
		store   *mutex.Redis
		waits   string
	}{
		{"a task of all servers", plain, 3, new(mutex.Redis), never},
		{"a server that is alone", claimed, 1, new(mutex.Redis), never},
		{"a server that knows of no other yet", claimed, 0, new(mutex.Redis), never},
		{"a server without a store", claimed, 3, nil, never},
		{"one of several", claimed, 3, new(mutex.Redis), atTimes},
		{"one that is preferred", prefers("web-1"), 3, new(mutex.Redis), never},
		{"one of two that are preferred", prefers("web-1", "web-2"), 3, new(mutex.Redis), atTimes},
		{"another one", prefers("web-2"), 3, new(mutex.Redis), aSecond},
		{"another one that does not take part", prefers("web-9"), 3, new(mutex.Redis), atTimes},
	} {
		server, waited, least := turnsOf("web-1", row.servers, row.store), 0, time.Hour
		for i := range 60 {
			delay := server.delay(schedule.Slot{Task: row.task, At: time.Date(2026, 3, 1, 0, i, 0, 0, time.UTC)})
			least = min(least, delay)
			if delay > 0 {
				waited++
			}
		}
		got := map[bool]string{true: always, false: atTimes}[waited == 60]
		switch {
		case waited == 0:
			got = never
		case least >= oneserver.PreferredFirst:
			got = aSecond
		}
		if got != row.waits {
			t.Errorf("%s waits %s, and not %s", row.name, got, row.waits)
		}
	}
}

// Hundreds of ticks that begin together are no burst: what nobody waits for is spread, and a slot whose server does not come still starts soon.
func TestManyServersSpreadWhatNobodyWaitsFor(t *testing.T) {
	const n = 500
	slot := schedule.Slot{Task: &schedule.Task{Name: "report", OneServer: true}, At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	own, second, seconds := 0, time.Hour, make([]int, 10)
	for i := range n {
		server := turnsOf(fmt.Sprintf("web-%d", i+1), n, new(mutex.Redis))
		server.tick.Minute = slot.At
		seconds[min(9, server.spread()/time.Second)]++
		if delay := server.delay(slot); delay == 0 {
			own++
		} else {
			second = min(second, delay)
		}
	}
	if own != 1 || second > time.Second {
		t.Errorf("it is the turn of %d servers, and the next one comes after %v", own, second)
	}
	for i, servers := range seconds {
		if servers < n/20 || servers > n/6 {
			t.Errorf("%d of %d servers ask in second %d: %v", servers, n, i, seconds)
		}
	}
	if few := turnsOf("web-1", 20, new(mutex.Redis)); few.spread() != 0 {
		t.Errorf("of 20 servers each waits for up to %v", few.spread())
	}
}
