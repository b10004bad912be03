//go:build linux

package main

import (
	"slices"
	"strings"
)

// triggeredBy begins the origin of a run that a hook has triggered. A retry of it has the same
// cause and another origin.
const triggeredBy = "triggered by "

// checkChains checks that each run of a task that triggers another one has triggered exactly one
// run, which says so, too.
func (c *check) checkChains() {
	caused := map[string][]record{}
	recorded := map[string]record{}
	for _, r := range c.records {
		recorded[r.Run] = r
		if r.Cause != nil && strings.HasPrefix(r.Origin, triggeredBy) {
			caused[r.Cause.Run] = append(caused[r.Cause.Run], r)
		}
	}
	for _, r := range c.records {
		if t := c.tasks[r.Task]; t.triggers != "" && r.ran() && r.Slots <= 1 {
			c.triggered++
			c.checkChain(t, r, caused[r.Run])
		}
	}
	for run, effects := range caused {
		if _, found := recorded[run]; !found && !c.calledLost[run] {
			s, from := c.traceOf(effects[0]), 0
			if cause := c.traces[run]; cause != nil {
				from = cause.first
			}
			c.violateUnlessExcused(&effects[0], s, from, s.last, "run %s has triggered it, and has no record", short(run))
		}
	}
}

// checkChain checks what one run has triggered.
func (c *check) checkChain(t task, r record, effects []record) {
	s := c.traceOf(r)
	refused := slices.ContainsFunc(r.Notes,
		func(note string) bool { return strings.Contains(note, " is not triggered: ") })
	switch {
	case len(effects) > 1:
		c.violate(&r, s, "it has triggered %d runs", len(effects))
	case len(effects) == 0 && refused && c.anyFault():
		c.excuse(fullDisk, "run %s of %s says that it could not trigger %s", short(r.Run), r.Task, t.triggers)
	case len(effects) == 0:
		c.violateUnlessExcused(&r, s, s.first, len(c.events), "it has triggered no run")
	case effects[0].Task != t.triggers || effects[0].Cause.Task != r.Task || effects[0].Cause.Outcome != r.Outcome:
		c.violate(&effects[0], s, "it was triggered after %s %s", r.Task, r.Outcome)
	case len(r.Triggered) != 1 || r.Triggered[0].Run != effects[0].Run:
		c.violateUnlessExcused(&r, s, s.first, s.last, "run %s was triggered by it, and it says %v",
			short(effects[0].Run), r.Triggered)
	}
}

// anyFault reports whether the disk was full or read-only at any time.
func (c *check) anyFault() bool {
	return slices.ContainsFunc(c.windows, func(w window) bool { return w.name != damagedHistory })
}

// traceOf returns what the journal says of the run of a record, which may be nothing.
func (c *check) traceOf(r record) *trace {
	if s := c.traces[r.Run]; s != nil {
		return s
	}
	return &trace{run: r.Run, task: c.tasks[r.Task], slot: r.Slot}
}
