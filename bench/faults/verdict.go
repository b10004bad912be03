//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A verdict is the outcome of the slots of a trial.
type verdict struct {
	fault           string
	slots           int // that are judged
	ran             int
	skipped         int // that ran nowhere, as they may: in an outage, of tasks that do not wait
	twice           int
	withLocks       int // runs with a lock
	overlapped      int
	failed, ticks   int
	took            time.Duration
	violations      []string
	serious         bool // a slot ran twice, or a task beside itself
	onServers       map[string]int
	least, mostRuns int // of one server
}

func (v verdict) String() string {
	text := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d of %d | %d to %d | %.0f s |",
		v.fault, v.ran, v.skipped, v.slots-v.ran-v.skipped, v.twice,
		v.overlapped, v.failed, v.ticks, v.least, v.mostRuns, v.took.Seconds())
	for _, violation := range v.violations {
		text += "\n  " + violation
	}
	return text
}

func (v *verdict) violate(format string, a ...any) {
	if len(v.violations) < 20 {
		v.violations = append(v.violations, fmt.Sprintf(format, a...))
	}
}

// An event is a line of the journal. Each line is one write(2) with O_APPEND, so their order is the
// order in which things happened.
type event struct{ what, task, slot, server, run string }

func (t *trial) events() (all []event) {
	text, _ := os.ReadFile(t.journal())
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 5 {
			all = append(all, event{f[0], f[1], f[2], f[3], f[4]})
		}
	}
	return all
}

// runs are the runs of one_server tasks, by key.
func (t *trial) runs() map[string][]event {
	runs := map[string][]event{}
	for _, e := range t.events() {
		runs[e.task+" "+e.slot] = append(runs[e.task+" "+e.slot], e)
	}
	return runs
}

// key names the slot of a task with this number in a minute: "once-3 2026-11-22T18:37:00Z".
func (t *trial) key(minute, task int) string {
	return fmt.Sprintf("%s-%d %s", kindOf(task), task,
		t.first.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339))
}

// kindOf begins the name of a one_server task: each third task waits.
func kindOf(task int) string {
	if task%3 == 2 {
		return waits
	}
	return once
}

// judge reads the journal when the background runs have ended.
func (t *trial) judge() verdict {
	t.awaitRuns()
	v := verdict{fault: t.fault.name, failed: int(t.failed.Load()), ticks: int(t.tickCount.Load()),
		took: time.Since(t.begun), onServers: map[string]int{}}
	runs, open := t.runs(), map[string][]event{}
	for _, e := range t.events() {
		switch {
		case e.what == "end":
			open[e.task] = slices.DeleteFunc(open[e.task], func(o event) bool { return o.run == e.run })
		case strings.HasPrefix(e.task, locks):
			v.withLocks++
			for _, o := range open[e.task] {
				v.overlapped++
				if !t.fault.forgets && !t.wasFrozen(e) && !t.wasFrozen(o) {
					v.serious = true
					v.violate("%s of %s on %s began beside the slot %s on %s",
						e.task, e.slot, e.server, o.slot, o.server)
				}
			}
			open[e.task] = append(open[e.task], e)
		}
	}
	for minute := range t.size.minutes {
		for i := range t.size.tasks {
			t.judgeSlot(&v, minute, i, runs)
		}
	}
	if v.withLocks == 0 {
		v.violate("no task with a lock ran")
	}
	for i := range t.size.servers {
		v.mostRuns = max(v.mostRuns, v.onServers[name(i)])
	}
	v.least = v.mostRuns
	for i := range t.size.servers {
		v.least = min(v.least, v.onServers[name(i)])
	}
	return v
}

// judgeSlot judges the slot of a minute of a task that is to run on one server.
func (t *trial) judgeSlot(v *verdict, minute, task int, runs map[string][]event) {
	ran := runs[t.key(minute, task)]
	v.slots++
	switch {
	case len(ran) == 0 && kindOf(task) == once && t.inOutage(minute):
		v.skipped++
	case len(ran) == 0:
		v.violate("%s, minute %d, ran nowhere", t.key(minute, task), minute)
	default:
		v.ran++
		v.onServers[ran[0].server]++
	}
	if len(ran) > 1 {
		v.twice++
		if !t.fault.forgets {
			v.serious = true
			v.violate("%s, minute %d, ran on %s and on %s", t.key(minute, task), minute, ran[0].server, ran[1].server)
		}
	}
}

// inOutage reports whether a slot may have been skipped because no majority answered, or granted
// anything.
func (t *trial) inOutage(minute int) bool {
	begins, patience := t.at(minute), 3*time.Second
	return t.fault.outage && begins.After(t.struck.Add(-patience)) &&
		begins.Before(t.mended.Add(t.fault.after+patience))
}

// wasFrozen reports whether the event is of a server that was frozen.
func (t *trial) wasFrozen(e event) bool {
	return t.fault.freezes && e.server == name(0)
}

// awaitRuns waits until no process of any server lives, for a while.
func (t *trial) awaitRuns() {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && t.someLive(); {
		time.Sleep(100 * time.Millisecond)
	}
}

func (t *trial) someLive() bool {
	for i := range t.size.servers {
		if len(t.processes(i)) > 0 {
			return true
		}
	}
	return false
}
