package load

import (
	"fmt"
	"slices"
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
		more, err := strconv.Atoi(n.Value)
		if err != nil || more < 1 || more > 1000 {
			more = 2
		}
		l.Problemf(n, fmt.Sprintf("write {attempts: %d}: the first attempt counts, too", more+1),
			"retry must be a mapping, not %s", n.Describe())
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
	before := l.ProblemCount()
	retryKeys.Decode(l, &t.Retry, n, 0)
	t.hasAttempts = t.hasAttempts || n.Has("attempts")
	if !t.hasAttempts && l.ProblemCount() > before {
		return // a wrong key may be what was meant by attempts
	}
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
		timing := firstOf(n, "every", "cron", "schedule")
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

// readBackoff reads a factor. Other schedulers have words for it.
func readBackoff(r *reader, n *node) (float64, bool) {
	if n.IsScalar() && slices.Contains([]string{"exponential", "linear", "constant"}, n.Value) {
		r.Problemf(n, "write a factor: with `backoff: 2` each wait is twice as long as the one before",
			"%s must be a number, not %s", r.Key, n.Describe())
		return 0, false
	}
	return r.Number(n, 1)
}

// readExitCode reads a number from 0 to 255, and says how a range is written.
func readExitCode(r *reader, n *node) (int, bool) {
	const mostListed = 16
	first, last, isRange := strings.Cut(n.Value, "-")
	from, fromOK := humanize.Digits(strings.TrimSpace(first))
	to, toOK := humanize.Digits(strings.TrimSpace(last))
	if !n.IsScalar() || !isRange || !fromOK || !toOK || from >= to || to > 255 || to-from >= mostListed {
		return r.Integer(n, 0, 255)
	}
	var codes []string
	for code := from; code <= to; code++ {
		codes = append(codes, strconv.Itoa(code))
	}
	r.Problemf(n, "write ["+strings.Join(codes, ", ")+"]", "%s must be a whole number, not %s", r.Key, n.Describe())
	return 0, false
}

var retryKeys = keys[schedule.Retry]{
	Misplaced: func(name string, _, _ scope) string { return retryHints()[plainKey(name)] },
	Rows:      retryRows,
}

func retryRows() []key[schedule.Retry] {
	return []key[schedule.Retry]{
		row("attempts", replaces(func(r *schedule.Retry) *int { return &r.Attempts }, integerTo(1, yamldoc.NoLimit)),
			"how many attempts there are, the first included",
			is{Of: "integer", Least: 1, Most: yamldoc.NoLimit, Example: "3"}),
		row("delay", replaces(func(r *schedule.Retry) *time.Duration { return &r.Delay }, durationFrom(0)),
			"the wait before the second attempt", is{Of: "duration", Default: "0s", Example: "10s"}),
		row("backoff",
			replaces(func(r *schedule.Retry) *float64 { return &r.Backoff }, readBackoff),
			"by what each further wait is longer than the one before",
			is{Of: "number", Least: 1, Default: "1", Example: "2"}),
		row("max_delay",
			replaces(func(r *schedule.Retry) *time.Duration { return &r.MaxDelay }, durationFrom(time.Nanosecond)),
			"the longest wait", is{Of: "duration", Without: "no bound", Example: "1m"}),
		row("lost", replaces(func(r *schedule.Retry) *bool { return &r.Lost }, (*reader).Bool),
			"whether a run that was lost is tried again, too", is{Of: "flag", Default: "false", Example: "true"}),
		row("jitter", replaces(func(r *schedule.Retry) *float64 { return &r.Jitter }, readJitter),
			"the part of a wait by which it may be shorter or longer",
			is{Of: "number", Least: 0, Most: 1, Default: "0", Example: "0.2"}),
	}
}

var expectKeys = keys[schedule.Expect]{Rows: func() []key[schedule.Expect] {
	return []key[schedule.Expect]{
		row("within", replaces(func(e *schedule.Expect) *time.Duration { return &e.Within }, durationFrom(time.Second)),
			"the longest that a run should take, all attempts and the waits between them together",
			is{Of: "duration", Without: "no bound", Example: "30m"}),
		row("every", replaces(func(e *schedule.Expect) *time.Duration { return &e.Every }, durationFrom(time.Second)),
			"the longest that there should be no success", is{Of: "duration", Without: "no bound", Example: "26h"}),
	}
}}

var limitKeys = keys[schedule.Limits]{Rows: func() []key[schedule.Limits] {
	return []key[schedule.Limits]{
		row("memory",
			replaces(func(l *schedule.Limits) *int64 { return &l.Memory }, sizeFrom(minMemory)).shows(showMemory),
			"the memory of all its processes", is{Of: "size", Without: "no limit", Example: "512MB"}),
		row("cpu", replaces(func(l *schedule.Limits) *int { return &l.CPU }, readPercent).shows(showPercent),
			"the part of a processor that all its processes have",
			is{Of: "percent", Without: "no limit", Example: "80%"}),
		row("files",
			replaces(func(l *schedule.Limits) *int { return &l.Files }, integerTo(minOpenFiles, yamldoc.NoLimit)),
			"how many files each of its processes may have open",
			is{
				Of:      "integer",
				Least:   minOpenFiles,
				Most:    yamldoc.NoLimit,
				Without: "as many as sched",
				Example: "4096",
			}),
	}
}}

var outputKeys = keys[schedule.Output]{Rows: func() []key[schedule.Output] {
	return []key[schedule.Output]{
		row("file", replaces(func(o *schedule.Output) *string { return &o.File }, (*reader).Path),
			"where the copy goes", is{Of: "path", Example: "logs/report.log"}),
		row("append", replaces(func(o *schedule.Output) *bool { return &o.Append }, (*reader).Bool),
			"whether it is added to what the file holds", is{Of: "flag", Default: "false", Example: "true"}),
		row("limit",
			replaces(func(o *schedule.Output) *int64 { return &o.Limit }, sizeFrom(minOutputLimit)).shows(showLimit),
			"how much of what a run prints is kept, its first and its last part",
			is{Of: "size", Default: "64MB", Example: "10MB"}),
	}
}}

func showLimit(o *schedule.Output) any { return yamldoc.SizeText(o.Limit) }

func showMemory(l *schedule.Limits) any {
	if l.Memory == 0 {
		return nil
	}
	return yamldoc.SizeText(l.Memory)
}

func showPercent(l *schedule.Limits) any {
	if l.CPU == 0 {
		return nil
	}
	return fmt.Sprintf("%d%%", l.CPU)
}
