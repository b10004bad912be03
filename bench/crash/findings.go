//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// findings are what a check found.
type findings struct {
	violations []string
	excused    []string
	losses     map[string]int // by the reason that allows them
	outcomes   map[string]int
	kills      map[string]int
	all        int // slots
	runs       int
	setAside   int
	drafts     int
}

// A window is the time of a fault, in lines of the journal.
type window struct {
	name     string
	from, to int
}

// faults finds the windows in which records may have been lost. A full or read-only folder counts
// until the last tick has ended that saw it. A damaged history takes what was put into it since it was
// read the last time, until it was set aside.
func (c *check) faults() {
	alive, known, now := map[string]bool{}, 0, 0
	for _, e := range c.events {
		switch e.what {
		case ticking:
			alive[e.tick] = true
		case fault:
			if e.detail == damaged {
				continue // until it is set aside it excuses nothing
			}
			now = len(c.windows)
			c.windows = append(c.windows, window{e.detail, e.at, len(c.events)})
		case passed:
			c.windows[now].to = c.lastEnd(alive, e.at)
		case ticked:
			delete(alive, e.tick)
		case recalled:
			known = e.at
		case aside:
			c.windows = append(c.windows, window{damaged, known, e.at})
			c.setAside++
		}
	}
}

// lastEnd returns the line in which the last of the ticks has ended.
func (c *check) lastEnd(ticks map[string]bool, line int) int {
	for _, e := range c.events {
		if e.what == ticked && ticks[e.tick] {
			line = max(line, e.at)
		}
	}
	return line
}

// lost is wrong, unless a fault at the time between the two lines excuses it. Losses are counted.
func (c *check) lost(r *record, s *story, from, to int, format string, a ...any) {
	for _, w := range c.windows {
		if w.name == damaged && to < w.from {
			to = c.putAway(to) // it may have been in no history yet when that was read
		}
		if from <= w.to && to >= w.from {
			c.excuse(w.name, format, a...)
			return
		}
	}
	c.wrong(r, s, format, a...)
}

func (f *findings) excuse(why, format string, a ...any) {
	f.losses[why]++
	f.excused = append(f.excused, why+": "+fmt.Sprintf(format, a...))
}

// putAway returns the line in which a tick had ended that began after the line: by then what had ended
// before was in the history.
func (c *check) putAway(line int) int {
	after := map[string]bool{}
	for _, e := range c.events[line:] {
		if e.what == ticking {
			after[e.tick] = true
		} else if e.what == ticked && after[e.tick] && strings.HasPrefix(e.detail, "exit") {
			return e.at
		}
	}
	return len(c.events)
}

// wrong is a violation, with its evidence.
func (c *check) wrong(r *record, s *story, format string, a ...any) {
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
		ofTick := tick != "" && e.tick == tick && (e.what == ticking || e.what == ticked || e.what == signalled && e.detail == theTick)
		if run != "" && e.run == run || ofTick || e.what == fault || e.what == passed || e.what == aside {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	c.violations = append(c.violations, b.String())
}

// leftovers looks for what should be gone: processes, locks, files of runs.
func (c *check) leftovers() {
	for _, p := range busy(c.processes()) {
		c.wrong(nil, nil, "a process is left: %s", p)
	}
	spares, _ := filepath.Glob(c.path("tmp") + "/sched-*")
	for _, state := range append(spares, c.state()) {
		locks, _ := filepath.Glob(state + "/locks/*.lock")
		for _, path := range locks {
			file, err := os.Open(path)
			if err != nil {
				continue
			}
			if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
				c.wrong(nil, nil, "a lock is held by nobody who should: %s", path)
			}
			file.Close()
		}
		runs, _ := filepath.Glob(state + "/runs/*.json*")
		for _, path := range runs {
			text, _ := os.ReadFile(path)
			if !strings.Contains(string(text), `{"end":`) || strings.HasSuffix(path, "unreadable") {
				c.wrong(nil, nil, "the file of a run is left: %s\n%s", path, text)
			}
		}
		drafts, _ := filepath.Glob(state + "/runs/.draft-*")
		c.drafts += len(drafts)
	}
}

// ends looks how the ticks ended, and whether a process of sched crashed by itself.
func (c *check) ends() {
	for _, t := range c.ticks {
		select {
		case <-t.done:
		default:
			c.wrong(nil, nil, "tick %d of %s did not end", t.number, t.minute)
			continue
		}
		asked := slices.ContainsFunc(c.hits[t.name()], func(e event) bool { return e.outcome != "stopped" })
		if code := t.status.ExitStatus(); code != 0 && code != 1 && !asked {
			text, _ := os.ReadFile(c.output(t))
			c.wrong(nil, nil, "tick %d: %s, and nobody did that to it\n%s", t.number, ending(t.status), text)
		}
	}
	for _, dir := range []string{c.path("ticks"), c.state() + "/output"} {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			text, _ := os.ReadFile(path)
			if i := strings.Index(string(text), "goroutine "); i >= 0 || strings.Contains(string(text), "panic: ") {
				c.wrong(nil, nil, "%s: %.2000s", path, text)
			}
			return nil
		})
	}
}
