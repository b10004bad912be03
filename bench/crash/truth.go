//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
	case r.Outcome == "succeeded" && (wrote != "0" || code != 0):
		return "it did not succeed"
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
		if r.Attempts < s.task.attempts {
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

// hooks checks that the hooks of a record fired, and no other hooks.
func (c *check) hooks(r record, s *trace) {
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
			c.wrongUnlessExcused(&r, s, s.first, s.last, "hook %s did not fire", name)
		}
	}
	for name, events := range s.hooks {
		may := name == "before 1" && r.ran() || name == "on_recovery 1" && r.Outcome == "succeeded" ||
			slices.Contains(must, name)
		if told := events[0].outcome; !may || name != "before 1" && told != r.Outcome {
			c.wrongUnlessExcused(&r, s, s.first, s.last, "hook %s fired, and was told %q", name, told)
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
