//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A record is what `sched history --json` says of one slot or several slots.
type record struct {
	Run      string    `json:"run"`
	Task     string    `json:"task"`
	Slot     time.Time `json:"slot"`
	Until    time.Time `json:"until"`
	Slots    int       `json:"slots"`
	Repeats  time.Time `json:"repeats"` // the slot, of a retry
	Origin   string    `json:"origin"`
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	ExitCode *int      `json:"exit_code"`
	Attempts int       `json:"attempts"`
	Notes    []string  `json:"notes"`

	Cause     *cause    `json:"cause"`
	Triggered []linkage `json:"triggered"`
}

// A cause is the run that triggered another run.
type cause struct{ Task, Run, Outcome string }

// A linkage is a run that another run has triggered.
type linkage struct{ Task, Run string }

func isFailure(outcome string) bool {
	return slices.Contains([]string{"failed", "timed out", "stopped", "lost"}, outcome)
}

// ran reports whether the record is about a run.
func (r record) ran() bool { return r.Outcome == "succeeded" || isFailure(r.Outcome) }

// covers reports whether the record is about the slot. The record of a request is about no slot.
func (r record) covers(slot time.Time) bool {
	return r.Origin == "" && (r.Slot.Equal(slot) || r.Slots > 0 && r.Slot.Before(slot) && !r.Until.Before(slot))
}

// recorded returns what `sched history` says now: all of it, unless the arguments say otherwise.
// processes does not find that process, so it is not killed.
func (c *campaign) recorded(args ...string) (records []record, err error) {
	out, err := os.CreateTemp(c.dir, "history-")
	must(err)
	defer os.Remove(out.Name())
	defer out.Close()
	ended := make(chan unix.WaitStatus)
	attr := &os.ProcAttr{Dir: c.dir, Env: c.environment(), Files: []*os.File{nil, out, out}}
	c.reaper.start(c.path("sched"), append([]string{"sched", "history", "--json", "-n", "0"}, args...), attr,
		func(s unix.WaitStatus) { go func() { ended <- s }() })
	status := <-ended
	text, err := os.ReadFile(out.Name())
	if err == nil {
		err = json.Unmarshal(text, &records)
	}
	if err != nil || status != 0 {
		return nil, fmt.Errorf("sched history, %s: %.300s", ending(status), text)
	}
	return records, nil
}

// A trace is what the journal says of one run.
type trace struct {
	run      string
	task     task
	slot     time.Time // that its commands saw; of a request: of its record, zero without one
	tick     string    // the number of the tick that started it
	first    int       // line
	last     int
	attempts map[int]*attempt
	hooks    map[string][]event
	signals  []event // the signals that its processes got, and the tick that started it
}

// withoutForgotten leaves out what a tick did for a run in a read-only folder, if another tick
// began the run again: nothing could be written down, not even that the run had begun.
func (c *check) withoutForgotten() []event {
	type beginning struct {
		run     string
		attempt int
	}
	first, forgotten := map[beginning]event{}, map[[2]string]bool{}
	for _, e := range c.events {
		if e.what != attemptBegan {
			continue
		}
		b := beginning{e.run, e.attempt}
		before, again := first[b]
		if again && before.tick != e.tick && c.wasReadOnly(before.at) {
			forgotten[[2]string{e.run, before.tick}] = true
			c.excuse(readOnly, "run %s began again", short(e.run))
		}
		first[b] = e
	}
	return slices.DeleteFunc(slices.Clone(c.events), func(e event) bool { return forgotten[[2]string{e.run, e.tick}] })
}

// wasReadOnly reports whether the folder was read-only at a line of the journal.
func (c *check) wasReadOnly(line int) bool {
	return slices.ContainsFunc(c.unwritable,
		func(w window) bool { return w.name == readOnly && w.from <= line && line <= w.to })
}

// An attempt is what the command of one attempt wrote.
type attempt struct {
	began int    // how many times
	code  string // empty while it wrote no end
}

// collectTraces sorts the journal by run. A line with a run comes from one of its processes.
func (c *check) collectTraces() {
	for _, e := range c.withoutForgotten() {
		if e.what == signalSent && slices.Contains([]string{tickProcess, forked, witness, supervisor, successor},
			e.detail) {
			c.tickSignals[e.tick] = append(c.tickSignals[e.tick], e)
		}
		if e.run == "" {
			continue
		}
		s := c.traces[e.run]
		if s == nil {
			s = &trace{run: e.run, first: e.at, attempts: map[int]*attempt{}, hooks: map[string][]event{}}
			c.traces[e.run] = s
		}
		s.last = e.at
		s.add(c, e)
	}
	for _, s := range c.traces {
		s.signals = append(s.signals, c.tickSignals[s.tick]...)
	}
}

func (s *trace) add(c *check, e event) {
	if e.what == signalSent {
		s.signals = append(s.signals, e)
		if s.tick == "" && e.detail == command { // it was killed before it could write
			s.tick = e.tick
		}
		return
	}
	s.task = c.tasks[e.task]
	s.slot, _ = time.Parse(time.RFC3339, e.slot)
	if e.what == hookFired {
		s.hooks[e.detail] = append(s.hooks[e.detail], e)
		if s.tick == "" && e.detail == "before 1" {
			s.tick = e.tick
		}
		return
	}
	s.tick = e.tick
	a := s.attempts[e.attempt]
	if a == nil {
		a = &attempt{}
		s.attempts[e.attempt] = a
	}
	switch e.what {
	case attemptBegan:
		a.began++
	case attemptEnded:
		a.code = e.detail
	}
}

// placeRequests takes requests from the slots of their commands, so that no retry counts as a run
// of the slot that it repeats. First it checks that the commands of a retry saw that slot.
func (c *check) placeRequests() {
	asked := map[string]time.Time{} // and the slots of their records
	for _, a := range c.requests.asked {
		asked[a.run] = time.Time{}
	}
	for _, r := range c.records {
		if r.Origin == "" {
			continue
		}
		asked[r.Run] = r.Slot
		s := c.traces[r.Run]
		if s != nil && s.task.name != "" && !r.Repeats.IsZero() && !s.slot.Equal(r.Repeats) {
			c.violate(&r, s, "it repeats %s, and its commands saw %s", r.Repeats, s.slot)
		}
	}
	for run, slot := range asked {
		if s := c.traces[run]; s != nil {
			s.slot = slot
		}
	}
}

// finishers returns the ticks whose processes had a part in the end of the run: its own, and the
// later ones that fired hooks of it because the `finish` before them was killed.
func (s *trace) finishers() []string {
	ticks := []string{s.tick}
	for _, events := range s.hooks {
		for _, e := range events {
			if !slices.Contains(ticks, e.tick) {
				ticks = append(ticks, e.tick)
			}
		}
	}
	return ticks
}

// gotSignal reports whether a process of one of the kinds got a signal for good. A stop passes.
func (s *trace) gotSignal(kinds ...string) bool {
	return slices.ContainsFunc(s.signals, func(e event) bool {
		return e.outcome != "stopped" && slices.Contains(kinds, e.detail)
	})
}

// watchers are kinds of processes. If the run is lost, a process of one of these kinds must have
// been killed.
func (s *trace) watchers() []string {
	if s.task.background() && len(s.attempts) > 0 {
		return []string{witness, supervisor, successor, finish, forked}
	}
	return []string{tickProcess, witness, supervisor, successor, finish, forked}
}
