package load

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// setExpect reads a mapping, key by key on top of the inherited expect. false takes the inherited
// expect away.
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

// checkExpect refuses settings that contradict expect in a task: expect could never be met, or
// could never fail.
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

// placeText names the place of a value, for a message about two values. It returns "" for an
// inherited value, whose node is nil.
func (l *loader) placeText(n *node) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" (at %s)", l.PlaceOf(n))
}

// gapsFrom is a fixed time from which slots are searched, so that the result does not depend on a
// clock.
var gapsFrom = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// leastGap returns the shortest of the first gaps between two slots. It returns false if there are
// fewer than two slots.
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
