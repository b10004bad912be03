package load

import (
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// This file reads the keys about the runs of a task: retries, output, and bounds.

// setRetry reads a mapping, key by key on top of the inherited retry. false takes the inherited
// retry away. It is not setMapping: false restores the bare retry, and a number has its own hint.
func setRetry(l *loader, t *taskDraft, n *node) {
	if n.IsInteger() {
		l.Problemf(n, "write {attempts: "+yamldoc.Shorten(n.Value)+"}", "retry must be a mapping, not %s", n.Describe())
		return
	}
	if n.IsFalse() {
		l.Origins.ForgetBelow(l.Key)
		t.Retry, t.hasAttempts = l.bare.Retry, false
		return
	}
	if !l.RequireMapping(n, "retry", "") {
		return
	}
	if n.IsEmpty() {
		l.Problemf(n, "write {attempts: 3}, or false for one attempt", "retry is empty")
		return
	}
	retryKeys.Decode(l, &t.Retry, n, 0)
	t.hasAttempts = t.hasAttempts || n.Has("attempts")
	checkRetry(l, t, n)
}

// checkRetry refuses keys of retry that contradict each other. Only a task needs attempts: retry of
// defaults or of a group may leave them to its tasks.
func checkRetry(l *loader, t *taskDraft, n *node) {
	if !t.hasAttempts && l.Task != "" {
		l.Problemf(n, "add attempts: the first try and all that follow it", "retry has no attempts")
	}
	if lost := n.Lookup("lost"); lost != nil && t.Retry.Lost && t.Retry.Attempts < 2 && t.hasAttempts && l.Task != "" {
		l.Problemf(lost, "write attempts: 2 or more",
			"retry.lost contradicts one attempt%s: nothing is tried again", placeText(l, n.Lookup("attempts")))
	}
	if r := t.Retry; r.MaxDelay > 0 && r.MaxDelay < r.Delay {
		l.Problemf(firstOf(n, "max_delay", "delay"), "",
			"retry.max_delay %s is shorter than the delay, %s", r.MaxDelay, r.Delay)
	}
}

// setOutput reads a path or a mapping, key by key on top of the inherited output. false takes the
// inherited output away.
func setOutput(l *loader, t *taskDraft, n *node) {
	switch {
	case n.IsFalse():
		l.Origins.ForgetBelow(l.Key)
		t.Output = l.bare.Output
	case n.IsMapping():
		outputKeys.Decode(l, &t.Output, n, 0)
		if n.IsEmpty() {
			l.Problemf(n, "write {file: PATH}", "output is empty")
		} else if own := n.Lookup("append"); own != nil && t.Output.File == "" && l.Task != "" {
			l.Problemf(own, "add `file: PATH`", "output.append is about a copy, and output has no file")
		}
	case n.IsList():
		l.Problemf(n, "write {file: PATH, append: true}", "output must be a file or a mapping, not a list")
	case l.RefuseBool(n, "leave the key out for no copy: what a task prints is kept anyway (sched logs)"):
		if path, ok := l.Path(n); ok {
			t.Output.File = path
		}
	}
}

// readJitter reads a part of a wait, from 0 to 1.
func readJitter(r *reader, n *node) (float64, bool) {
	jitter, ok := r.Number(n, 0)
	if ok && jitter > 1 {
		r.Problemf(n, "0.2 is a fifth", "retry.jitter must be from 0 to 1, not %s", yamldoc.Shorten(n.Value))
		return 0, false
	}
	return jitter, ok
}

// minOutputLimit leaves room for whole lines and for the note that some lines were cut.
const minOutputLimit = 16 << 10

// Bounds for the limits of a command. The process of sched that becomes the command needs the
// least.
const (
	minMemory    = 16 << 20 // bytes
	minOpenFiles = 16
	maxCPU       = 100_000 // percent: of 1,000 processors
)

// readPercent reads a part of a processor, as 80%; of several processors it is more than 100%.
func readPercent(r *reader, n *node) (int, bool) {
	text, ok := r.NonEmptyText(n)
	if !ok {
		return 0, false
	}
	digits, isPart := strings.CutSuffix(strings.TrimSpace(text), "%")
	percent, err := strconv.Atoi(digits)
	switch {
	case !isPart || err != nil:
		r.Problemf(n, "write it as 80%, a part of one processor",
			"%s %s is not a percentage", r.Key, yamldoc.Quote(text))
	case percent < 1 || percent > maxCPU:
		r.Problemf(n, "", "%s must be from 1%% to %d%%, not %s", r.Key, maxCPU, yamldoc.Shorten(text))
	default:
		return percent, true
	}
	return 0, false
}

// setLimits reads a mapping, key by key on top of the inherited limits. false takes the inherited
// limits away.
func setLimits(l *loader, t *taskDraft, n *node) {
	setMapping(l, n, &limitKeys, &t.Limits, "{memory: 512MB, cpu: 80%, files: 4096}, or some of the three")
}

// setExpect reads a mapping, key by key on top of the inherited expect. false takes the inherited
// expect away.
func setExpect(l *loader, t *taskDraft, n *node) {
	setMapping(l, n, &expectKeys, &t.Expect, "{within: 30m, every: 26h}, or one of the two")
}

// setMapping reads a mapping of the keys on top of the inherited value. The hint says
// "write", and then like.
func setMapping[T any](l *loader, n *node, table *keys[T], value *T, like string) {
	name := l.Key
	switch {
	case n.IsFalse():
		l.Origins.ForgetBelow(name)
		*value = *new(T)
	case l.RequireMapping(n, name, "write "+like):
		table.Decode(l, value, n, 0)
		if n.IsEmpty() {
			l.Problemf(n, "write "+like, "%s is empty", name)
		}
	}
}

// checkExpect refuses settings that contradict expect in a task: expect could never be met, or
// could never fail.
func checkExpect(l *loader, n *node, t *taskDraft) {
	own := n.Lookup("expect")
	if hooks := n.Lookup("on_overdue"); hooks != nil && len(t.Hooks.OnOverdue) > 0 && t.Expect == (schedule.Expect{}) {
		l.Problemf(hooks, "add `expect: {every: 26h}`", "on_overdue never fires: nothing is expected of the task")
	}
	if longest := t.Longest(); t.Expect.Within > 0 && longest > 0 && t.Expect.Within >= longest {
		at := firstOf(n, "expect", "timeout", "retry")
		l.Problemf(at, "make one of the two shorter",
			"no run takes longer than expect.within, %s%s: timeout ends it after %s%s",
			humanize.Duration(t.Expect.Within), placeText(l, own),
			humanize.Duration(longest), placeText(l, n.Lookup("timeout")))
	}
	if t.Expect.Every == 0 || !t.timing.isSet() || t.When.Boot {
		return
	}
	if least, ok := minGap(t.When); ok && t.Expect.Every < least {
		timing := firstOf(n, "every", "cron")
		l.Problemf(firstOf(n, "expect"), "make it longer than the time between two runs and what a run takes",
			"expect.every %s is shorter than the time from one run to the next, %s%s: it would always be overdue",
			humanize.Duration(t.Expect.Every), humanize.Duration(least), placeText(l, timing))
	}
}

// gapsFrom is a fixed time from which slots are searched, so that the result does not depend on a
// clock.
var gapsFrom = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// minGap returns the shortest of the first gaps between two slots, gapsCompared of them. It returns
// false if there are fewer than two slots.
func minGap(when cron.When) (shortest time.Duration, ok bool) {
	const gapsCompared = 8
	last, ok := when.Next(gapsFrom)
	for range gapsCompared {
		next, more := when.Next(last)
		if !ok || !more {
			return shortest, shortest > 0
		}
		if gap := next.Sub(last); shortest == 0 || gap < shortest {
			shortest = gap
		}
		last = next
	}
	return shortest, true
}
