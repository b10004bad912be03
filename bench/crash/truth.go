//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// untrue says what is not true in a record; empty when all is.
func untrue(r record, s *story) string {
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
	case newest > 0 && s.task.refuses(r.Slot):
		return "it ran although its condition says no"
	case strings.HasPrefix(r.Reason, "when says no") && !s.task.refuses(r.Slot):
		return "its condition says yes"
	case strings.HasPrefix(r.Reason, killedAsking) && !s.task.asks:
		return "it has no condition"
	case r.ran() && newest > r.Attempts && !s.hit(s.watchers()...):
		return fmt.Sprintf("attempt %d began", newest)
	case r.Outcome == "succeeded" && (wrote != "0" || code != 0):
		return "it did not succeed"
	case r.Outcome == "failed":
		return unfailed(r, s, code, wrote)
	case r.Outcome == "timed out" && (s.task.timeout == "" || wrote != ""):
		return "its time was not over"
	case r.Outcome == "stopped" && !s.hit(theTick, supervisor):
		return "nobody stopped it"
	case r.Outcome == "lost" && !s.hit(s.watchers()...):
		return "nobody who watched it was killed"
	}
	return ""
}

// unfailed says why a failure is none, or another one.
func unfailed(r record, s *story, code int, wrote string) string {
	switch {
	case code > 128:
		if !s.hit(command, supervisor, forked, hook) {
			return "nobody killed its command or its supervisor"
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
		if !s.task.guarded && !s.hit(hook, forked) {
			return "its before-hook did not fail"
		}
	case strings.HasPrefix(r.Reason, "when gave no answer") && !s.hit(child, forked):
		return "nobody killed its condition"
	case len(s.attempts) > 0:
		return "its command ran"
	}
	return ""
}

// killedAsking is how a slot was missed whose tick was killed while it asked.
const killedAsking = "sched run was killed while it asked"

// hooks looks whether the hooks of a record fired, and no others.
func (c *check) hooks(r record, s *story) {
	must := s.task.hooksFor(r.Outcome)
	for _, name := range must {
		if len(s.hooks[name]) > 0 {
			continue
		}
		died := slices.ContainsFunc(s.hits, func(e event) bool { return e.detail == hook && e.slot == name || e.detail == forked && e.run != "" })
		if !died {
			c.lost(&r, s, s.first, s.last, "hook %s did not fire", name)
		}
	}
	for name, events := range s.hooks {
		may := name == "before 1" && r.ran() || name == "on_recovery 1" && r.Outcome == "succeeded" || slices.Contains(must, name)
		if told := events[0].outcome; !may || name != "before 1" && told != r.Outcome {
			c.lost(&r, s, s.first, s.last, "hook %s fired, and was told %q", name, told)
		}
	}
}
