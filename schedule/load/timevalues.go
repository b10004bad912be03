package load

import (
	"maps"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/every"
	"sched/schedule/yamldoc"
)

// This file reads the key schedule: the times of a task with values of its params for each.

var timeKeys = keys[timeDraft]{Rows: func() []key[timeDraft] {
	return []key[timeDraft]{
		row("every", by(func(l *loader, d *timeDraft, n *node) {
			d.words, _ = l.NonEmptyText(n)
		}), "when it is due, in words", is{Of: "every", Example: "hour", NoFalse: true}),
		row("at", by(func(l *loader, d *timeDraft, n *node) {
			if text, ok := l.NonEmptyText(n); ok {
				d.words = "day at " + text
			}
		}), "at what time of each day it is due", is{Of: "every", Example: "'03:00'", NoFalse: true}),
		row("cron", by(func(l *loader, d *timeDraft, n *node) {
			n.Each(func(item *node) bool {
				_, ok := l.NonEmptyText(item)
				d.crons = append(d.crons, item)
				return ok
			})
		}), "when it is due, as one or more cron expressions", is{Of: "cron", Example: "'0 3 * * *'", NoFalse: true}),
		row("params", by(func(l *loader, d *timeDraft, n *node) {
			if !requireNames(l.Reader, n, "value") {
				return
			}
			d.params = map[string]*node{}
			for name, value := range yamldoc.NamedPairs(l.Reader, n) {
				if _, ok := l.Text(value); ok {
					d.params[name.Value] = value
				}
			}
		}), "the values of its runs", is{Of: "variables", Example: "{REGION: eu}", NoFalse: true}),
	}
}}

// setSchedule reads times with values. They replace inherited times, also times of cron: and
// every: (settleTimes).
func setSchedule(l *loader, t *taskDraft, n *node) {
	if t.ownTiming.isSet() {
		l.Problemf(n, "keep one of them", "schedule cannot be given beside cron or every")
		t.ownTiming.broken = true
		return
	}
	if n.IsScalar() {
		l.Problemf(n, "for times without values write `cron: …` or `every: …`",
			"schedule must be a list of times with values, not %s", n.Describe())
		t.ownTiming.broken = true
		return
	}
	before := l.ProblemCount()
	above := l.Key
	n.Each(func(item *node) bool {
		l.Key = above
		d := timeDraft{node: item}
		if !l.RequireMapping(item, "an entry of schedule", "write {every: hour, params: {NAME: value}}") {
			return false
		}
		timeKeys.Decode(l, &d, item, 0)
		given := 0
		for _, key := range []string{"every", "at", "cron"} {
			if item.Has(key) {
				given++
			}
		}
		if given != 1 {
			l.Problemf(item, "write {every: hour, params: {NAME: value}}",
				"an entry of schedule has one of every, at and cron")
		}
		t.ownTiming.entries = append(t.ownTiming.entries, d)
		return true
	})
	t.ownTiming.broken = !l.RefuseEmptyList(n, "") || l.ProblemCount() > before
}

// settleTimes sets t.When from the level's own timing, or from the inherited timing. Inherited
// expressions are read anew for each task, because H in cron comes from the seed. Inherited times
// of every: are in t.When already, and the problems of an inherited timing were told at its level.
func settleTimes(l *loader, t *taskDraft, seed string) {
	isOwn := t.ownTiming.isSet()
	if isOwn {
		t.timing, t.ownTiming = t.ownTiming, timing{}
		t.When.Crons, t.When.Every, t.When.Boot, t.TimeValues = nil, "", false, nil
		if t.timing.every != nil {
			setEveryTimes(l, t, t.timing.every)
		}
	}
	if t.timing.crons != nil && (isOwn || !t.timing.broken) {
		setCronTimes(l, t, seed, isOwn)
	}
	if t.timing.entries != nil && !t.timing.broken {
		setEntryTimes(l, t, seed, isOwn)
	}
}

// setEntryTimes sets the times of all entries, and the values of each.
func setEntryTimes(l *loader, t *taskDraft, seed string, isOwn bool) {
	t.When.Crons, t.TimeValues = nil, nil
	var words []string
	for _, d := range t.timing.entries {
		crons, ok := entryTimes(l, t, d, seed, isOwn)
		if !ok {
			continue
		}
		t.When.Crons = append(t.When.Crons, crons...)
		t.TimeValues = append(t.TimeValues, schedule.TimeValues{Crons: crons, Params: entryValues(d)})
		words = append(words, d.words)
	}
	if !slices.Contains(words, "") {
		t.When.Every = strings.Join(words, ", ")
	}
}

// entryTimes returns the times of an entry.
func entryTimes(l *loader, t *taskDraft, d timeDraft, seed string, isOwn bool) (all []cron.Expression, ok bool) {
	before := l.ProblemCount()
	refuseBoot := func(at *node, what string) {
		l.Problemf(at, "make another task of it, with a default for each param",
			"schedule contradicts %s, which has no time", what)
		t.timing.broken = true
	}
	switch {
	case isBoot(d.words, "boot"), isBoot(d.words, cron.ByHand):
		refuseBoot(firstOf(d.node, "every"), "every: "+d.words)
	case d.words != "":
		var err error
		if all, err = every.Parse(d.words); err != nil {
			refuseTiming(l, &t.timing, firstOf(d.node, "every", "at"), "schedule", err)
		}
	}
	for _, n := range d.crons {
		if isBoot(n.Value, cron.AtBoot) {
			refuseBoot(n, cron.AtBoot)
			continue
		}
		expression, err := cron.Parse(n.Value, seed)
		if err != nil {
			refuseTiming(l, &t.timing, n, "schedule", err)
		} else if isOwn {
			warnOfExpression(l, n, expression)
		}
		all = append(all, expression)
	}
	return all, l.ProblemCount() == before
}

func entryValues(d timeDraft) map[string]string {
	if len(d.params) == 0 {
		return nil
	}
	values := make(map[string]string, len(d.params))
	for name, value := range d.params {
		values[name] = value.Value
	}
	return values
}

// checkTimeValues refuses values of schedule that no run of the task can have.
func checkTimeValues(l *loader, t *taskDraft) {
	for _, d := range t.timing.entries {
		for _, name := range slices.Sorted(maps.Keys(d.params)) {
			at := d.params[name]
			p := t.Param(name)
			if p == nil {
				l.Problemf(at, "add `params: {"+name+": …}` to the task, with a default",
					"schedule: the task has no param %s", yamldoc.Quote(name))
			} else if problem := p.Refuses(at.Value); problem != "" {
				l.Problemf(at, "", "schedule: %s: %s", name, problem)
			}
		}
	}
}
