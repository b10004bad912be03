//go:build linux

package work_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Somebody sets the clock ahead by an hour and back again while all lives that looks at it: a
// `sched work`, the ticks that wait for later seconds of their minute, and a background run that is
// to time out after two seconds. The run times out after two seconds; no slot runs twice, and each
// has its outcome.
func TestTheClockIsSetWhileEverythingLives(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: front, every: minute, command: 'echo $SCHED_SLOT >> front'}
  - {name: often, every: 10 seconds, command: 'echo $SCHED_SLOT >> often'}
  - {name: back, every: 20 seconds, background: true, command: 'echo $SCHED_SLOT >> back'}
  - name: long
    cron: "45 10 * * *"
    background: true
    timeout: 2s
    command: date +%s.%N >> long; exec sleep 300
    after: date +%s.%N >> long; echo $SCHED_OUTCOME >> long.ended
`)
	w := b.work()
	b.Until("the long run lives", func() bool { return b.Count("long") == 1 && b.Count("front") >= 2 })
	before := b.now()
	b.setClock(before.Add(time.Hour).Format(time.RFC3339Nano))
	b.Until("it ticks an hour later", func() bool { return slices.ContainsFunc(b.clocks("front"), func(c string) bool { return c > "11:40" }) })
	ahead := b.now()
	b.setClock(ahead.Add(-time.Hour).Format(time.RFC3339Nano))
	back := b.now()
	if b.Count("long.ended") > 0 {
		t.Log("the long run ended before the clock was set back")
	}
	b.Until("it ticks on", func() bool {
		clocks := b.clocks("front")
		return slices.ContainsFunc(clocks,
			func(c string) bool { return c < "11:00" && c > back.Add(2*time.Minute).Format("15:04") })
	})
	w.signal(syscall.SIGTERM)
	w.ended()
	b.Until("the long run has timed out", func() bool { return b.Count("long.ended") == 1 })

	if outcome := strings.TrimSpace(b.Read("long.ended")); outcome != "timed out" {
		t.Errorf("the long run: %s", outcome)
	}
	var began, ended float64
	// by the clock that was set back it would be a minute
	if fmt.Sscan(b.Read("long"), &began, &ended); ended-began < 1.9 || ended-began > 40 {
		t.Errorf("a timeout of 2 s came after %.1f s", ended-began)
	}
	for task, every := range map[string]time.Duration{"front": time.Minute, "often": 10 * time.Second,
		"back": 20 * time.Second} {
		ran := strings.Fields(b.Read(task))
		slices.Sort(ran)
		if once := slices.Compact(slices.Clone(ran)); len(once) != len(ran) {
			t.Errorf("slots of %s ran twice: %v", task, ran)
		}
		first, _ := time.Parse(time.RFC3339, "2026-11-21T10:45:00Z")
		b.wantOutcomes(task, first, b.lastMinute(task).Add(time.Minute), every, ran)
	}
}

// lastMinute is the minute of the newest slot that is recorded of a task.
func (b *box) lastMinute(task string) time.Time {
	b.Helper()
	newest, err := time.Parse(time.RFC3339, b.History(task)[0].Slot)
	if err != nil {
		b.Fatal(err)
	}
	return newest.Truncate(time.Minute)
}

// wantOutcomes checks that each slot of a task has one record, or is among those for which another
// one stands, and that those which ran say so.
func (b *box) wantOutcomes(task string, from, until time.Time, every time.Duration, ran []string) {
	b.Helper()
	out, err := b.Command("history", task, "--json", "-n", "0").Output()
	if err != nil {
		b.Fatal(err)
	}
	type row struct {
		Slot    time.Time
		Until   *time.Time
		Outcome string
		Reason  string
	}
	var rows []row
	if err := json.Unmarshal(out, &rows); err != nil {
		b.Fatal(err)
	}
	for at := from; at.Before(until); at = at.Add(every) {
		own, standing := []row{}, 0
		for _, r := range rows {
			switch {
			case r.Until == nil && r.Slot.Equal(at):
				own = append(own, r)
			case r.Until != nil && !at.Before(r.Slot) && !at.After(*r.Until):
				standing++
			}
		}
		switch slot := at.Format(time.RFC3339); {
		case len(own) > 1:
			b.Errorf("%s %s has %d records: %+v", task, slot, len(own), own)
		case len(own)+standing == 0:
			b.Errorf("%s %s has no outcome", task, slot)
		case slices.Contains(ran, slot) && (len(own) == 0 || own[0].Outcome != "succeeded"):
			b.Errorf("%s %s ran: %+v", task, slot, own)
		}
	}
}
