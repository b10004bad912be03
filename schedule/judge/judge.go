package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
)

// Facts are what is known when a command has ended by itself.
type Facts struct {
	Exit     string   // why the exit code is no success, in words; empty for a success
	Warnings []string // what the exit code warns of

	Values  map[string]float64 // that were reported, and Duration
	Printed map[string]bool    // names of values that lack, and stand before an = in the output
	FailsBy string             // the first line that FailIf matches, for people; empty for none
	WarnsBy string             // the same for WarnIf
	Stderr  bool               // something was printed to stderr

	Required []FileState           // for each of Require
	Usual    map[string][]float64  // the values of the last successes, by name: MaxHistory at most
	Spent    map[string][]Spending // of the budgets, without this attempt
	Now      time.Time
}

// A FileState is what is there of a required file: of several that match, the best.
type FileState struct {
	Name  string // for people
	Found bool
	IsNew bool
	Size  int64
	Error string // why that is not known
}

// A Verdict is what an end is worth.
type Verdict struct {
	Outcome outcome.Outcome // Succeeded or Failed
	Kind    outcome.Kind    // of the first reason
	Reason  string          // all reasons in words; empty for a success without a warning
	Notes   []string
}

// Judge decides. A command whose exit code is no success has failed; then the line of fail_if is
// told, too, because it often says why, and nothing else.
func Judge(r Rules, f Facts) Verdict {
	j := judgement{facts: f}
	if f.Exit != "" {
		j.fail("", f.Exit)
	}
	if f.FailsBy != "" {
		j.fail(outcome.Printed, "it printed: "+f.FailsBy)
	}
	if f.Exit == "" {
		j.judgeRest(r)
	}
	for _, v := range r.Budgets() {
		j.judgeBudget(v)
	}
	switch {
	case len(j.failures) > 0:
		return Verdict{outcome.Failed, j.kind, strings.Join(j.failures, "; "), j.notes}
	case len(j.warnings) > 0:
		return Verdict{outcome.Succeeded, outcome.Warning, strings.Join(j.warnings, "; "), j.notes}
	}
	return Verdict{Outcome: outcome.Succeeded, Notes: j.notes}
}

// A judgement is what was found so far.
type judgement struct {
	facts              Facts
	kind               outcome.Kind // of the first failure
	failures, warnings []string     // reasons
	notes              []string
}

func (j *judgement) fail(kind outcome.Kind, reason string) {
	if len(j.failures) == 0 {
		j.kind = kind
	}
	j.failures = append(j.failures, reason)
}

func (j *judgement) warn(reason string) { j.warnings = append(j.warnings, reason) }

// judgeRest looks at all but the exit code and the lines of fail_if.
func (j *judgement) judgeRest(r Rules) {
	if r.FailIf.Stderr && j.facts.Stderr {
		j.fail(outcome.Printed, "it printed to stderr")
	}
	for i, file := range r.Require {
		if wrong := wrongWith(file, j.facts.Required[i]); wrong != "" {
			j.fail(outcome.Required, wrong)
		}
	}
	j.warnings = append(j.warnings, j.facts.Warnings...)
	for _, v := range r.Values {
		number, reported := j.facts.Values[v.Name]
		if !reported {
			j.judgeMissing(v)
			continue
		}
		j.judgeBounds(v, number)
	}
	if j.facts.WarnsBy != "" {
		j.warn("it printed: " + j.facts.WarnsBy)
	}
	if r.WarnIf.Stderr && j.facts.Stderr {
		j.warn("it printed to stderr")
	}
}

// wrongWith says what is wrong with a required file; "" for nothing.
func wrongWith(file File, is FileState) string {
	switch {
	case is.Error != "":
		return fmt.Sprintf("%s: %s", is.Name, is.Error)
	case !is.Found:
		return is.Name + " is missing"
	case file.New && !is.IsNew:
		return is.Name + " was not written by this run"
	case is.Size < file.AtLeast:
		size, least := Value{Unit: Bytes}.Apart(float64(is.Size), float64(file.AtLeast))
		return fmt.Sprintf("%s has %s, at least %s was asked for", is.Name, size, least)
	}
	return ""
}

// judgeMissing looks at a value that was not reported.
func (j *judgement) judgeMissing(v Value) {
	text := v.Name + " was not reported"
	if j.facts.Printed[v.Name] {
		text += ": it was printed, and counts only in the file $SCHED_REPORT"
	}
	switch {
	case v.AtLeast != nil, v.AtMost != nil:
		j.fail(outcome.Reported, text)
	case v.WarnBelow != nil, v.WarnAbove != nil, v.Usual > 0:
		j.warn(text)
	}
}

// judgeBounds looks at the bounds of a value, and at what is usual for it.
func (j *judgement) judgeBounds(v Value, number float64) {
	is := func(bound float64, format string) string {
		ofNumber, ofBound := v.Apart(number, bound)
		return v.Name + " is " + ofNumber + ", " + fmt.Sprintf(format, ofBound)
	}
	switch {
	case v.AtLeast != nil && number < *v.AtLeast:
		j.fail(outcome.Reported, is(*v.AtLeast, "at least %s was asked for"))
	case v.AtMost != nil && number > *v.AtMost:
		j.fail(outcome.Reported, is(*v.AtMost, "at most %s was asked for"))
	case v.WarnBelow != nil && number < *v.WarnBelow:
		j.warn(is(*v.WarnBelow, "below %s"))
	case v.WarnAbove != nil && number > *v.WarnAbove:
		j.warn(is(*v.WarnAbove, "above %s"))
	}
	if low, high, ok := UsualRange(v, j.facts.Usual[v.Name]); ok && (number < low || number > high) {
		j.warn(fmt.Sprintf("%s is %s, usual is %s to %s", v.Name, v.Text(number), v.Text(low), v.Text(high)))
	}
}

// judgeBudget looks at what the runs have used up together of the budget of a value. If this
// attempt has used up the last of it, a note says that the next runs do not begin.
func (j *judgement) judgeBudget(v Value) {
	number, reported := j.facts.Values[v.Name]
	spent := append(slices.Clone(j.facts.Spent[v.Name]), Spending{At: j.facts.Now, Value: number})
	until, sum := SpentUntil(v, spent, j.facts.Now)
	if !reported || until.IsZero() {
		return
	}
	over := fmt.Sprintf("the budget of %s is spent: %s of %s in %s",
		v.Name, v.Text(sum), v.Text(v.Budget.AtMost), humanize.Setting(v.Budget.Per))
	isOver, isGood := sum > v.Budget.AtMost, j.facts.Exit == ""
	switch then := v.Budget.Then; {
	case then == Fail && isOver && isGood:
		j.fail(outcome.Budget, over)
	case then == Warn && isOver && isGood:
		j.warn(over)
	case then != Warn:
		j.notes = append(j.notes, over)
	}
}

// MaxHistory is how many successes the median is of, and minHistory how many there must be.
const (
	MaxHistory = 50
	minHistory = 10
)

// UsualRange returns between which numbers a value is usual, by the values of the last successes.
// With 50% that is within half of the median above and below it. From 100% on, where nothing would
// be too little, it is within that factor: with 200% from a third of the median to three times the
// median. It returns false if too few successes are known, or if the rule does not ask.
func UsualRange(v Value, before []float64) (low, high float64, ok bool) {
	if v.Usual == 0 || len(before) < minHistory {
		return 0, 0, false
	}
	sorted := slices.Sorted(slices.Values(before))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = sorted[len(sorted)/2-1]/2 + middle/2
	}
	near, far := middle*(1-v.Usual), middle*(1+v.Usual)
	if v.Usual >= 1 {
		near = middle / (1 + v.Usual)
	}
	return min(near, far), max(near, far), true
}
