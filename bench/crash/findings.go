//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sched/schedule/state"
)

// findings are what a check found.
type findings struct {
	violations []string
	excused    []string
	losses     map[string]int // by the reason that allows them
	outcomes   map[string]int
	kills      map[string]int
	all        int // slots
	asked      int // requests that sched confirmed
	cancelled  int // of these
	triggered  int // runs that had to trigger another one
	values     int // that attempts have reported
	compared   int // runs that stood in a queue when a run that came later began
	runs       int
	setAside   []int // the lines of the journal in which a damaged history was set aside
}

// A window is the time of a fault, in lines of the journal.
type window struct {
	name     string
	from, to int
}

// findWindows finds the windows in which records may have been lost. A full or read-only folder
// counts until the last tick that saw it has ended. A damaged history counts from the last time it
// was read until it was set aside: records of that time are lost with it.
func (c *check) findWindows() {
	alive, known, reading, now := map[string]bool{}, 0, 0, 0
	for _, e := range c.events {
		switch e.what {
		case tickBegan:
			alive[e.tick] = true
		case faultBegan:
			if e.detail == damagedHistory {
				reading = e.at
				continue // until it is set aside it excuses nothing
			}
			now = len(c.windows)
			c.windows = append(c.windows, window{e.detail, e.at, len(c.events)})
		case faultEnded:
			c.windows[now].to = c.lastEnd(alive, e.at)
			c.unwritable = append(c.unwritable, window{e.detail, c.windows[now].from, e.at})
		case tickEnded:
			delete(alive, e.tick)
		case historyRead:
			known = reading // records that were added during the read may be missing in it
		case historySetAside:
			c.windows = append(c.windows, window{damagedHistory, known, e.at})
			c.setAside = append(c.setAside, e.at)
		}
	}
	if c.unread {
		c.windows = append(c.windows, window{damagedHistory, known, len(c.events)})
	}
}

// lastEnd returns the line in which the last of the ticks has ended.
func (c *check) lastEnd(ticks map[string]bool, line int) int {
	for _, e := range c.events {
		if e.what == tickEnded && ticks[e.tick] {
			line = max(line, e.at)
		}
	}
	return line
}

// violateUnlessExcused reports a violation. If a fault between the two lines of the journal
// explains it, it counts as a loss instead.
func (c *check) violateUnlessExcused(r *record, s *trace, from, to int, format string, a ...any) {
	if why := c.excusedBy(from, to); why != "" {
		c.excuse(why, format, a...)
		return
	}
	c.violate(r, s, format, a...)
}

// excusedBy returns the fault between two lines of the journal; empty for none.
func (c *check) excusedBy(from, to int) string {
	for _, w := range c.windows {
		if w.name == damagedHistory && to < w.from {
			to = c.putAway(to) // it may not have been in the history yet when that was read
		}
		if from <= w.to && to >= w.from {
			return w.name
		}
	}
	return ""
}

func (f *findings) excuse(why, format string, a ...any) {
	f.losses[why]++
	f.excused = append(f.excused, why+": "+fmt.Sprintf(format, a...))
}

// putAway returns the line in which a tick ended that began after the given line, in a writable
// folder. By then the history had all that had ended before the given line.
func (c *check) putAway(line int) int {
	after := map[string]bool{}
	for _, e := range c.events[line:] {
		couldNot := slices.ContainsFunc(c.unwritable, func(w window) bool { return w.from <= e.at && e.at <= w.to })
		if e.what == tickBegan && !couldNot {
			after[e.tick] = true
		} else if e.what == tickEnded && after[e.tick] && strings.HasPrefix(e.detail, "exit") {
			return e.at
		}
	}
	return len(c.events)
}

// violate adds a violation with its evidence: the record, and the lines of the journal about the
// run and its tick.
func (c *check) violate(r *record, s *trace, format string, a ...any) {
	var b strings.Builder
	fmt.Fprintf(&b, "VIOLATION: "+format+"\n", a...)
	run := ""
	if r != nil {
		text, _ := json.Marshal(r)
		fmt.Fprintf(&b, "  record: %s\n", text)
		run = r.Run
	}
	tick := ""
	if s != nil {
		run, tick = s.run, s.tick
		fmt.Fprintf(&b, "  task: %s, %s, mutex %q, does %q\n", s.task.name, s.task.cron(), s.task.lock(), s.task.does)
	}
	for _, e := range c.events {
		ofTick := tick != "" && e.tick == tick &&
			(e.what == tickBegan || e.what == tickEnded || e.what == signalSent && e.detail == tickProcess)
		if run != "" && e.run == run || ofTick || e.what == faultBegan || e.what == faultEnded ||
			e.what == historySetAside {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	c.violations = append(c.violations, b.String())
}

// checkLeftovers looks for things that should be gone: processes, held locks, runs without an end.
func (c *check) checkLeftovers() {
	for _, p := range busy(c.processes()) {
		c.violate(nil, nil, "a process is left: %s", p)
	}
	for p := range c.standing() {
		c.violate(nil, nil, "a run waits, and no process lives: %+v", p)
	}
	locks, _ := filepath.Glob(c.state() + "/locks/*")
	for _, path := range locks {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			c.violate(nil, nil, "a lock is held, and no run lives: %s", path)
		}
		file.Close()
	}
	more, _ := filepath.Glob(fmt.Sprintf("%s/locks/%s#[^1-%d]*.lock", c.state(), poolName, seats))
	if len(more) > 0 {
		c.violate(nil, nil, "the pool has %d seats: %v", seats, more)
	}
	for _, row := range c.going() {
		if !row.Requested() { // which requested looks for
			c.violate(nil, nil, "a run is left: %+v", row)
		}
	}
}

// going returns the rows that have not ended, whether a process looks after them or not.
func (c *campaign) going() []state.Row {
	db, err := state.OpenRead(c.state(), state.Patience)
	if err != nil {
		return nil // damaged, which check says
	}
	defer db.Close()
	live, lost, _ := db.LiveAndLost(context.Background())
	return append(live, lost...)
}

// checkTickExits checks how the ticks ended, and that no process of sched panicked.
func (c *check) checkTickExits() {
	for _, t := range c.ticks {
		select {
		case <-t.done:
		default:
			c.violate(nil, nil, "tick %d of %s did not end", t.number, t.minute)
			continue
		}
		asked := slices.ContainsFunc(c.tickSignals[t.name()],
			func(e event) bool { return e.detail == tickProcess && e.outcome != "stopped" })
		if code := t.status.ExitStatus(); code != 0 && code != 1 && !asked {
			text, _ := os.ReadFile(c.output(t))
			c.violate(nil, nil, "tick %d: %s, and it got no signal\n%s", t.number, ending(t.status), text)
		}
	}
	for _, dir := range []string{c.path("ticks"), c.state() + "/output"} {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			text, _ := os.ReadFile(path)
			if i := strings.Index(string(text), "goroutine "); i >= 0 || strings.Contains(string(text), "panic: ") {
				c.violate(nil, nil, "%s: %.2000s", path, text)
			}
			return nil
		})
	}
}
