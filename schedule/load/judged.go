package load

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/judge"
	"sched/schedule/yamldoc"
)

// This file reads the keys by which a run is judged: report, fail_if, warn_if and require.

// setReport reads a mapping from the names of values to what is asked of them, value by value on
// top of the inherited ones. false takes one away, or all.
func setReport(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Origins.ForgetBelow(l.Key)
		t.Judge.Values = nil
		return
	}
	if !l.RequireMapping(n, l.Key, "write {rows: {at_least: 1}}") {
		return
	}
	t.Judge.Values = slices.Clone(t.Judge.Values)
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		l.Key = "report." + yamldoc.Shorten(name.Value)
		if !judge.IsName(name.Value) {
			l.Problemf(name, "use at most 64 letters, digits and _, and begin with a letter or _",
				"report: %s cannot name a value", yamldoc.Quote(name.Value))
			continue
		}
		l.RecordOrigin(name, value)
		hasName := func(v judge.Value) bool { return v.Name == name.Value }
		i := slices.IndexFunc(t.Judge.Values, hasName)
		if value.IsFalse() {
			t.Judge.Values = slices.DeleteFunc(t.Judge.Values, hasName)
			continue
		}
		if i < 0 {
			i = len(t.Judge.Values)
			t.Judge.Values = append(t.Judge.Values, judge.Value{Name: name.Value})
		}
		readValue(l, &t.Judge.Values[i], value)
	}
	if len(t.Judge.Values) > judge.MaxValues {
		l.Problemf(n, "", "report has %d values, and a run has at most %d", len(t.Judge.Values), judge.MaxValues)
	}
}

// readValue reads what is asked of one value.
func readValue(l *loader, v *judge.Value, n *node) {
	key := l.Key
	if v.Name == judge.Duration {
		v.Unit = judge.Seconds
		if unit := n.Lookup("unit"); unit != nil {
			l.Problemf(unit, "leave it out", "%s is measured in seconds", key)
			return
		}
		if budget := n.Lookup("budget"); budget != nil {
			l.Problemf(budget, "let the command report what it uses up", "%s cannot have a budget", key)
			return
		}
	}
	if !l.RequireMapping(n, key, "write {at_least: 1}, or {} to keep it unjudged") {
		return
	}
	before := l.ProblemCount()
	valueKeys.Decode(l, v, n, 0)
	if l.ProblemCount() > before {
		return
	}
	less := func(low, high *float64, names ...string) {
		if low != nil && high != nil && *low > *high {
			l.Problemf(firstOf(n, names...), "", "%s: %s %s is more than %s %s", key,
				names[0], v.Text(*low), names[1], v.Text(*high))
		}
	}
	less(v.AtLeast, v.AtMost, "at_least", "at_most")
	less(v.AtLeast, v.WarnBelow, "at_least", "warn_below")
	less(v.WarnAbove, v.AtMost, "warn_above", "at_most")
	less(v.WarnBelow, v.WarnAbove, "warn_below", "warn_above")
}

var valueKeys = keys[judge.Value]{
	Misplaced: func(name string, _, _ scope) string { return valueHints()[plainKey(name)] },
	Rows:      valueRows,
}

func valueRows() []key[judge.Value] {
	bound := func(field func(*judge.Value) **float64) access[judge.Value] {
		return by(func(l *loader, v *judge.Value, n *node) {
			if number, ok := readNumber(l.Reader, v.Unit, n); ok {
				*field(v) = &number
			}
		})
	}
	return []key[judge.Value]{
		row("unit", by(setUnit).early(), "what it is counted in",
			is{Of: "unit", Without: "a plain number", Example: "bytes"}),
		row("at_least", bound(func(v *judge.Value) **float64 { return &v.AtLeast }),
			"below it the run has failed", is{Of: "bound", Without: "no bound", Example: "1"}),
		row("at_most", bound(func(v *judge.Value) **float64 { return &v.AtMost }),
			"above it the run has failed", is{Of: "bound", Without: "no bound", Example: "100"}),
		row("warn_below", bound(func(v *judge.Value) **float64 { return &v.WarnBelow }),
			"below it the run has a warning", is{Of: "bound", Without: "no bound", Example: "10"}),
		row("warn_above", bound(func(v *judge.Value) **float64 { return &v.WarnAbove }),
			"above it the run has a warning", is{Of: "bound", Without: "no bound", Example: "90"}),
		row("usual", by(setUsual),
			"by how much it may differ from the median of the last 50 successes before the run has a warning",
			is{Of: "percent", Without: "by any amount", Example: "50%"}),
		row("budget", by(setBudget), "what the runs may use up together",
			is{Of: "budget", Without: "no budget", Example: "{at_most: 5, per: 1d, then: pause}"}),
	}
}

// setUnit reads the unit of a value.
func setUnit(l *loader, v *judge.Value, n *node) {
	text, ok := l.NonEmptyText(n)
	switch {
	case !ok:
	case utf8.RuneCountInString(text) > 12 || text != humanize.Line(text):
		l.Problemf(n, "bytes, seconds, percent, or a word such as rows", "%s has more than 12 letters", l.Key)
	default:
		v.Unit = text
	}
}

// readNumber reads a number with the notation of its unit: 100MiB, 90s, 80%. It may also be plain.
func readNumber(r *reader, unit string, n *node) (float64, bool) {
	isPlain := n.IsScalar() && (n.Tag == "!!int" || n.Tag == "!!float")
	switch {
	case isPlain:
	case unit == judge.Bytes:
		size, ok := r.Size(n, 0)
		return float64(size), ok
	case unit == judge.Seconds:
		d, ok := r.Duration(n, 0)
		return d.Seconds(), ok
	case unit == judge.Percent:
		number, err := strconv.ParseFloat(strings.TrimSuffix(n.Value, "%"), 64)
		if err == nil && !math.IsNaN(number) && !math.IsInf(number, 0) {
			return number, true
		}
		r.Problemf(n, "write it as 80%", "%s must be a number, not %s", r.Key, n.Describe())
		return 0, false
	}
	return r.Number(n, -yamldoc.NoLimit)
}

// setUsual reads a part of the median, as 50%.
func setUsual(l *loader, v *judge.Value, n *node) {
	text, ok := l.NonEmptyText(n)
	digits, isPart := strings.CutSuffix(strings.TrimSpace(text), "%")
	percent, err := strconv.Atoi(digits)
	switch {
	case !ok:
	case !isPart || err != nil || percent < 1 || percent > maxCPU:
		l.Problemf(n, "write it as 50%, a part of the median", "%s must be a percentage, not %s", l.Key, n.Describe())
	default:
		v.Usual = float64(percent) / 100
	}
}

// setBudget reads a mapping; at_most and per are what makes it a budget.
func setBudget(l *loader, v *judge.Value, n *node) {
	if n.IsFalse() {
		v.Budget = judge.Budget{}
		return
	}
	if !l.RequireMapping(n, l.Key, "write {at_most: 5, per: 1d, then: pause}") {
		return
	}
	key, before := l.Key, l.ProblemCount()
	b := budgetDraft{Budget: v.Budget, unit: v.Unit}
	budgetKeys.Decode(l, &b, n, 0)
	if l.ProblemCount() == before && (b.AtMost <= 0 || b.Per == 0) {
		l.Problemf(n, "write {at_most: 5, per: 1d}", "%s needs at_most, more than 0, and per", key)
	}
	b.Then = cmp.Or(b.Then, judge.Pause)
	v.Budget = b.Budget
}

// A budgetDraft is a budget while it is read.
type budgetDraft struct {
	judge.Budget
	unit string
}

var budgetKeys = keys[budgetDraft]{Rows: func() []key[budgetDraft] {
	return []key[budgetDraft]{
		row("at_most", by(func(l *loader, b *budgetDraft, n *node) {
			b.AtMost, _ = readNumber(l.Reader, b.unit, n)
		}), "how much may be used up", is{Of: "bound", Example: "5"}),
		row("per", replaces(func(b *budgetDraft) *time.Duration { return &b.Per },
			durationTo(time.Minute, schedule.LookBack, "the 31 days that sched looks back")),
			"in any span of time of this length", is{Of: "duration", Example: "1d"}),
		row("then", by(func(l *loader, b *budgetDraft, n *node) {
			if word, ok := l.OneOf(n, budgetWords...); ok {
				b.Then = judge.Then(word)
			}
		}), "what happens when it is used up", is{Words: budgetWords, Default: "pause", Example: "fail"}),
	}
}}

var budgetWords = []string{string(judge.Pause), string(judge.Fail), string(judge.Warn)}

// setPrinted returns the setter of fail_if and warn_if: a mapping that replaces the inherited one.
func setPrinted(field func(*judge.Rules) *judge.Printed) setter[taskDraft] {
	return func(l *loader, t *taskDraft, n *node) {
		if n.IsScalar() && !n.IsBool() && !n.IsNull() {
			l.Problemf(n, "write {output: "+strconv.Quote(yamldoc.Shorten(n.Value))+"}",
				"%s must be a mapping, not %s", l.Key, n.Describe())
			return
		}
		setMapping(l, n, &printedKeys, field(&t.Judge), "{output: 'PATTERN'}, {stderr: any}, or both")
	}
}

func failIf(r *judge.Rules) *judge.Printed { return &r.FailIf }
func warnIf(r *judge.Rules) *judge.Printed { return &r.WarnIf }

var printedKeys = keys[judge.Printed]{Rows: func() []key[judge.Printed] {
	return []key[judge.Printed]{
		row("output", replaces(func(p *judge.Printed) *string { return &p.Output }, readPattern),
			"a regular expression (RE2) for a part of one line",
			is{Of: "filled", Without: "no line", Example: "'(?i)no space left|Traceback'"}),
		row("stderr", by(func(l *loader, p *judge.Printed, n *node) {
			if _, ok := l.OneOf(n, "any"); ok {
				p.Stderr = true
			}
		}), "anything on stderr", is{Words: []string{"any"}, Without: "stderr does not count", Example: "any"}),
	}
}}

// setRequire reads one file or a list of them: a path, or a mapping. The list replaces the
// inherited one.
func setRequire(l *loader, t *taskDraft, n *node) {
	t.Judge.Require = nil
	if n.IsFalse() {
		l.Origins.ForgetBelow(l.Key)
		return
	}
	key := l.Key
	n.Each(func(item *node) bool {
		l.Key = key
		var file judge.File
		if item.IsMapping() {
			before := l.ProblemCount()
			fileKeys.Decode(l, &file, item, 0)
			if l.ProblemCount() == before && file.Path == "" {
				l.Problemf(item, "write {file: backup.tgz, newer_than: run, at_least: 1KiB}", "%s has no file", key)
			}
		} else {
			file.Path, _ = l.Path(item)
		}
		if file.Path != "" {
			t.Judge.Require = append(t.Judge.Require, file)
		}
		return true
	})
}

var fileKeys = keys[judge.File]{Rows: func() []key[judge.File] {
	return []key[judge.File]{
		row("file", replaces(func(f *judge.File) *string { return &f.Path }, (*reader).Path),
			"the file that must be there, or a pattern with * that one file matches",
			is{Of: "path", Example: "backup.tgz"}),
		row("newer_than", by(func(l *loader, f *judge.File, n *node) {
			if _, ok := l.OneOf(n, "run"); ok {
				f.New = true
			}
		}), "that the run has written it",
			is{Words: []string{"run"}, Without: "of any age", Example: "run"}),
		row("at_least", replaces(func(f *judge.File) *int64 { return &f.AtLeast }, sizeFrom(0)),
			"how large it must be", is{Of: "size", Without: "of any size", Example: "1KiB"}),
	}
}}

// showReport shows the values of a task, each in one line.
func showReport(t *taskDraft) any {
	var texts []string
	for _, v := range t.Judge.Values {
		texts = append(texts, v.String())
	}
	return settingValue(texts)
}

func showPrinted(field func(*judge.Rules) *judge.Printed) func(*taskDraft) any {
	return func(t *taskDraft) any { return settingValue(field(&t.Judge).String()) }
}

func showRequire(t *taskDraft) any {
	var texts []string
	for _, file := range t.Judge.Require {
		texts = append(texts, file.String())
	}
	return settingValue(texts)
}
