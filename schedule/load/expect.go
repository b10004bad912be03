package load

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// setExpect reads a mapping, key by key on top of the inherited one. false takes that away.
func setExpect(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Forget()
		t.Expect = schedule.Expect{}
		return
	}
	const hint = "write {within: 30m, every: 26h}, or one of the two"
	if n.IsScalar() && !n.IsNull() {
		l.Problemf(n, hint, "expect must be a mapping of keys and values, not %s", n.Describe())
		return
	}
	if !l.RequireMapping(n, "expect") {
		return
	}
	expectKeys.Decode(l, &t.Expect, n, 0)
	if n.IsEmpty() {
		l.Problemf(n, hint, "expect is empty")
	}
}

// checkExpect refuses what contradicts expect in a task: what keeps it from being ever true, or
// from being ever false.
func (l *loader) checkExpect(n *node, t *taskDraft) {
	own := n.Lookup("expect")
	if hooks := n.Lookup("on_overdue"); hooks != nil && len(t.Hooks.OnOverdue) > 0 && t.Expect == (schedule.Expect{}) {
		l.Problemf(hooks, "add `expect: {every: 26h}`", "on_overdue never fires: nothing is expected of the task")
	}
	if longest := t.Longest(); t.Expect.Within > 0 && longest > 0 && t.Expect.Within >= longest {
		at := firstOf(n, own, "timeout", "retry")
		l.Problemf(at, "make one of the two shorter", "no run takes longer than expect.within, %s%s: timeout ends it after %s%s",
			humanize.Duration(t.Expect.Within), l.placeText(own), humanize.Duration(longest), l.placeText(n.Lookup("timeout")))
	}
	if t.Expect.Every == 0 || !t.timing.isSet() || t.When.Boot {
		return
	}
	if least, ok := leastGap(t.When); ok && t.Expect.Every < least {
		timing := firstOf(n, n, "every", "cron")
		l.Problemf(firstOf(n, own, "expect"), "make it longer than the time between two runs and what a run takes",
			"expect.every %s is shorter than the time from one run to the next, %s%s: it would always be overdue",
			humanize.Duration(t.Expect.Every), humanize.Duration(least), l.placeText(timing))
	}
}

// firstOf returns preferred, else the first of the keys that the mapping has, else the mapping.
func firstOf(n, preferred *node, keys ...string) *node {
	if preferred != nil && preferred != n {
		return preferred
	}
	for _, key := range keys {
		if at := n.Lookup(key); at != nil {
			return at
		}
	}
	return n
}

// placeText is where a value stands, for a message about two of them; empty for one that is
// inherited.
func (l *loader) placeText(n *node) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" (at %s)", l.PlaceOf(n))
}

// gapsFrom is from when due times are looked at that no clock decides about.
var gapsFrom = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// leastGap returns the shortest of the first times from one slot to the next; false where there are
// none.
func leastGap(when cron.When) (least time.Duration, ok bool) {
	const looked = 8
	last, ok := when.Next(gapsFrom)
	for range looked {
		next, more := when.Next(last)
		if !ok || !more {
			return least, least > 0
		}
		if gap := next.Sub(last); least == 0 || gap < least {
			least = gap
		}
		last = next
	}
	return least, true
}
