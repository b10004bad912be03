//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkTruth checks that each record is true, and that its hooks fired: once each, or twice if a
// kill came before sched wrote down that the hook had fired.
func (c *check) checkTruth() {
	seen := map[string]bool{}
	for _, r := range c.records {
		if r.Slots > 1 {
			continue
		}
		if seen[r.Run] {
			c.violate(&r, nil, "run %s has two records", short(r.Run))
		}
		seen[r.Run] = true
		c.checkRecord(r)
	}
	for _, run := range slices.Sorted(maps.Keys(c.traces)) {
		c.checkRepetitions(c.traces[run])
	}
}

// checkRecord compares the record of a run with its trace.
func (c *check) checkRecord(r record) {
	s := c.traces[r.Run]
	if s == nil {
		s = &trace{run: r.Run, task: c.tasks[r.Task], slot: r.Slot}
	}
	if s.task.name == "" { // its processes were killed before they could write
		s.task, s.slot = c.tasks[r.Task], r.Slot
	}
	if s.tick == "" {
		c.assignTick(r, s)
	}
	if wrong := contradiction(r, s); wrong != "" {
		c.violateUnlessExcused(&r, s, s.first, s.last, "%s", wrong)
	}
	c.checkHooks(r, s)
}

// checkRepetitions looks for a hook that fired more than once, and for an attempt that began more
// than once.
func (c *check) checkRepetitions(s *trace) {
	for name, events := range s.hooks {
		switch {
		case len(events) == 2 && c.excusedBy(events[0].at, events[1].at) == "" && c.firingWasKilled(s, events):
			c.excuse("killed before it wrote down that a hook had fired",
				"hook %s of run %s fired twice", name, short(s.run))
		case len(events) > 1:
			c.violateUnlessExcused(nil, s, events[0].at, events[len(events)-1].at,
				"hook %s fired %d times", name, len(events))
		}
	}
	for n, a := range s.attempts {
		if a.began > 1 {
			c.violate(nil, s, "attempt %d began %d times", n, a.began)
		}
	}
}

// firingWasKilled reports whether the process that first fired a hook was killed: a process of the
// run, or of the tick that found the run.
func (c *check) firingWasKilled(s *trace, fired []event) bool {
	for _, e := range append(slices.Clone(c.tickSignals[fired[0].tick]), s.signals...) {
		if e.outcome == "killed" && e.at < fired[1].at &&
			slices.Contains([]string{tickProcess, witness, supervisor, successor, finish, forked}, e.detail) {
			return true
		}
	}
	return false
}

// assignTick finds the tick of a run whose processes wrote nothing.
func (c *check) assignTick(r record, s *trace) {
	if r.Cause != nil && c.traces[r.Cause.Run] != nil {
		cause := c.traces[r.Cause.Run]
		s.tick = cause.tick
		// the process that was to start it belongs to the tick that finished its cause
		for _, tick := range cause.finishers() {
			s.signals = append(s.signals, c.tickSignals[tick]...)
		}
	}
	if t := c.teller(r.Run); t != nil && s.tick == "" {
		c.addTick(s, t)
	}
	for _, t := range c.ticks { // a tick may be killed before it tells of a run that it starts
		if r.Origin == "" && t.couldStart(s.task.name, s.slot.Truncate(time.Minute)) {
			c.addTick(s, t)
		}
	}
	for _, other := range c.traces { // the run of a slot that is called lost under another id, because its row is gone
		if s.tick == "" && other.task.name == s.task.name && other.slot.Equal(s.slot) {
			s.first, s.last = other.first, max(s.last, other.last)
		}
	}
}

// addTick makes a tick the tick of a trace. A minute may come twice, and each of its ticks may have
// started the run: the trace then lasts from the first of these ticks to the last.
func (c *check) addTick(s *trace, t *tick) {
	s.tick = t.name()
	s.signals = append(s.signals, c.tickSignals[s.tick]...)
	from, to := c.span(t)
	if s.first == 0 || from < s.first {
		s.first = from
	}
	s.last = max(s.last, to)
}

// teller returns the first tick that tells of a run, in any minute; nil if no tick does.
func (c *check) teller(run string) *tick {
	if c.tellers == nil {
		c.tellers = map[string]*tick{}
		for _, t := range c.ticks {
			text, _ := os.ReadFile(c.output(t))
			for _, id := range runIDs.FindAllString(string(text), -1) {
				if c.tellers[id] == nil {
					c.tellers[id] = t
				}
			}
		}
	}
	return c.tellers[run]
}

var runIDs = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// longerThanATakeover is a number of beats, a second. On a busy machine the witness of a killed
// supervisor may need that long before it finds the command. If the command has ended by then, and
// its pid was not written down, its exit code is not known.
const longerThanATakeover = 5

// contradiction says how the trace of a run contradicts its record; empty if it does not.
func contradiction(r record, s *trace) string {
	code := -1
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	wrote := ""
	if a := s.attempts[r.Attempts]; a != nil {
		wrote = a.code
	}
	newest := 0
	for n := range s.attempts {
		newest = max(newest, n)
	}
	seen := s.slot
	if !r.Repeats.IsZero() { // the commands of a retry see the slot that it repeats
		seen = r.Repeats
	}
	switch {
	case !r.ran() && newest > 0:
		return "it did not run, says the history, and it did"
	case newest > 0 && s.task.refuses(r.Slot) && r.Origin == "": // requests override conditions
		return "it ran although its condition says no"
	case strings.HasPrefix(r.Reason, "when says no") && !s.task.refuses(r.Slot):
		return "its condition says yes"
	case strings.HasPrefix(r.Reason, killedAsking) && !s.task.condition:
		return "it has no condition"
	case r.ran() && newest > r.Attempts && !s.gotSignal(s.watchers()...):
		return fmt.Sprintf("attempt %d began", newest)
	case r.Outcome == "succeeded" && (wrote != "0" || code != 0 || s.task.reportsNothing(seen)):
		return "it did not succeed"
	case r.Outcome == "failed" && s.task.reportsNothing(seen) && code == 0 && strings.HasPrefix(r.Reason, "rows is 0"):
	case r.Outcome == "failed":
		return failureContradiction(r, s, code, wrote)
	case r.Outcome == "timed out" && (s.task.timeout == "" || wrote != ""):
		return "its time was not over"
	case r.Outcome == "stopped" && s.task.replaces && strings.HasSuffix(r.Reason, ", which replaces it"):
	case r.Outcome == "stopped" && !s.gotSignal(tickProcess, supervisor):
		return "neither its tick nor its supervisor was asked to end"
	case r.Outcome == "lost" && !s.gotSignal(s.watchers()...):
		return "none of the processes that watched it was killed"
	case r.Outcome == "lost" && s.task.background() && s.task.beats > longerThanATakeover && newest > 0 &&
		newest >= r.Attempts && !s.gotSignal(witness, successor, finish, forked):
		return "its supervisor alone was killed, and its command ran for a while"
	}
	return ""
}

// failureContradiction is contradiction for a run that failed.
func failureContradiction(r record, s *trace, code int, wrote string) string {
	switch {
	case code > 128:
		if !s.gotSignal(command, forked, hook) {
			return "its command was not killed"
		}
	case code >= 0:
		if wrote != strconv.Itoa(code) || code == 0 {
			return "its command ended otherwise"
		}
		isSpent := s.task.budget > 0 && strings.Contains(r.Reason, "; not tried again: the budget of cost is spent")
		if r.Attempts < s.task.attempts && !isSpent {
			return "it was not tried again"
		}
	case strings.HasPrefix(r.Reason, "hook before 1"):
		if len(s.attempts) > 0 {
			return "its command ran although its before-hook failed"
		}
		if !s.task.beforeFails && !s.gotSignal(hook, supervisor, forked) {
			return "its before-hook did not fail"
		}
	case strings.HasPrefix(r.Reason, "when gave no answer") && !s.gotSignal(child, forked):
		return "its condition was not killed"
	case len(s.attempts) > 0:
		return "its command ran"
	}
	return ""
}

// killedAsking begins the reason of a slot whose tick was killed while its condition command ran.
const killedAsking = "sched run was killed while it asked"

// checkHooks checks that the hooks of a record fired, and no other hooks.
func (c *check) checkHooks(r record, s *trace) {
	must := s.task.hooksFor(r.Outcome)
	if strings.HasPrefix(r.Reason, cancelledBy) {
		must = nil
	}
	for _, name := range must {
		if len(s.hooks[name]) > 0 {
			continue
		}
		died := slices.ContainsFunc(s.signals,
			func(e event) bool { return e.detail == hook && e.slot == name || e.detail == forked && e.run != "" })
		switch {
		case died:
		case c.killedTwice(s):
			c.excuse("killed twice as it fired a hook", "hook %s of run %s did not fire", name, short(s.run))
		default:
			c.violateUnlessExcused(&r, s, s.first, s.last, "hook %s did not fire", name)
		}
	}
	for name, events := range s.hooks {
		may := name == "before 1" && r.ran() || name == "on_recovery 1" && r.Outcome == "succeeded" ||
			slices.Contains(must, name)
		if told := events[0].outcome; !may || name != "before 1" && told != r.Outcome {
			c.violateUnlessExcused(&r, s, s.first, s.last, "hook %s fired, and was told %q", name, told)
		}
	}
}

// killedTwice reports whether the last tick that fired hooks of the run was killed, and the next
// one, too. Both may have been about to fire the same hook, and no hook is fired a third time.
func (c *check) killedTwice(s *trace) bool {
	last := 0
	for _, name := range s.finishers() {
		number, _ := strconv.Atoi(name)
		last = max(last, number)
	}
	killed := 0
	for _, t := range c.ticks {
		if t.number >= last && t.number <= last+2 && t.status.Signaled() {
			killed++
		}
	}
	return killed >= 2
}
