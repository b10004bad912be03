// Package judge decides what the end of a command is worth: by its exit code, the values that it
// reported, what it printed, the files that it had to leave, and the successes before it. The same
// facts always have the same verdict. Package evidence collects the facts.
package judge

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// Rules are what a task asks of its runs, beside the exit code.
type Rules struct {
	Values  []Value `json:"values,omitempty"` // in the order of the file
	FailIf  Printed `json:"fail_if,omitzero"`
	WarnIf  Printed `json:"warn_if,omitzero"`
	Require []File  `json:"require,omitempty"`
}

// IsEmpty reports whether the exit code alone decides.
func (r Rules) IsEmpty() bool {
	return len(r.Values)+len(r.Require) == 0 && r.FailIf == Printed{} && r.WarnIf == Printed{}
}

// NeedsReport reports whether the command gets a file for its report: whether a rule is about a
// value that the command reports.
func (r Rules) NeedsReport() bool {
	return slices.ContainsFunc(r.Values, func(v Value) bool { return v.Name != Duration })
}

// NeedsDuration reports whether a rule is about how long a run took.
func (r Rules) NeedsDuration() bool {
	return slices.ContainsFunc(r.Values, func(v Value) bool { return v.Name == Duration })
}

// ReadsOutput reports whether a rule is about the lines that were printed.
func (r Rules) ReadsOutput() bool { return r.FailIf.Output+r.WarnIf.Output != "" }

// WatchesStderr reports whether a rule asks whether anything was printed to stderr.
func (r Rules) WatchesStderr() bool { return r.FailIf.Stderr || r.WarnIf.Stderr }

// Budgets returns the values that have a budget.
func (r Rules) Budgets() (budgets []Value) {
	for _, v := range r.Values {
		if v.Budget.Per > 0 {
			budgets = append(budgets, v)
		}
	}
	return budgets
}

// Duration is the value that sched measures itself: from the start of the first attempt to the end,
// in seconds.
const Duration = "duration"

// A Value says what a number must be that a run reports. A bound that is nil does not count.
type Value struct {
	Name      string   `json:"name"`
	Unit      string   `json:"unit,omitempty"` // one of Bytes, Seconds and Percent, a text for people, or empty
	AtLeast   *float64 `json:"at_least,omitempty"`
	AtMost    *float64 `json:"at_most,omitempty"`
	WarnBelow *float64 `json:"warn_below,omitempty"`
	WarnAbove *float64 `json:"warn_above,omitempty"`
	Usual     float64  `json:"usual,omitempty"` // the part of the median by which it may differ; 0: any value is usual
	Budget    Budget   `json:"budget,omitzero"`
}

// The units that have their own notation. Any other unit stands behind the number.
const (
	Bytes   = "bytes"
	Seconds = "seconds"
	Percent = "percent"
)

// String says in one line what is asked of the value.
func (v Value) String() string {
	words := []string{v.Name}
	add := func(key string, bound *float64) {
		if bound != nil {
			words = append(words, key+" "+v.Text(*bound))
		}
	}
	add("at_least", v.AtLeast)
	add("at_most", v.AtMost)
	add("warn_below", v.WarnBelow)
	add("warn_above", v.WarnAbove)
	if v.Usual > 0 {
		words = append(words, "usual "+strconv.FormatFloat(v.Usual*100, 'f', -1, 64)+"%")
	}
	if b := v.Budget; b.Per > 0 {
		words = append(words, "budget "+v.Text(b.AtMost)+" per "+humanize.Setting(b.Per)+" then "+string(b.Then))
	}
	return strings.Join(words, " ")
}

// Text returns a number as people read it: 100 MiB, 1 m 30 s, 80%, 0.31 usd.
func (v Value) Text(number float64) string { return Text(number, v.Unit) }

// Apart returns the texts of a number and of the bound that it does not keep. If rounding makes the
// two the same, they have all their digits.
func (v Value) Apart(number, bound float64) (ofNumber, ofBound string) {
	if v.Text(number) != v.Text(bound) {
		return v.Text(number), v.Text(bound)
	}
	return exact(number) + " " + v.Unit, exact(bound) + " " + v.Unit
}

// Text returns a number with its unit as people read it.
func Text(number float64, unit string) string {
	plain := exact(number)
	switch {
	case unit == Percent:
		return plain + "%"
	case unit == Bytes && 0 <= number && number < 10<<10 && (number == 0 || math.Mod(number, 1<<10) != 0):
		return humanize.Count(int(number), "byte")
	case unit == Bytes && number >= 0 && number < 1<<62:
		return humanize.Bytes(int64(math.Round(number)))
	case unit == Seconds && math.Abs(number) < 1e9:
		return humanize.Duration(time.Duration(number * float64(time.Second)))
	case unit == "":
		return plain
	}
	return plain + " " + unit
}

// exact returns a number with all its digits.
func exact(number float64) string {
	if math.Abs(number) >= 1e15 {
		return strconv.FormatFloat(number, 'g', -1, 64)
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// A Budget bounds the sum of a value over all runs of its task, and all their attempts, in any span
// of time of the length Per. The zero value is no budget.
type Budget struct {
	AtMost float64       `json:"at_most,omitempty"`
	Per    time.Duration `json:"per,omitempty"`
	Then   Then          `json:"then,omitempty"`
}

// Then says what happens when a budget is spent.
type Then string

const (
	Pause Then = "pause" // no run begins until enough of it lies in the past
	Fail  Then = "fail"  // the same, and the run that has spent more than the budget fails
	Warn  Then = "warn"  // runs go on, each with a warning
)

// Printed is about what the command prints. The zero value asks nothing.
type Printed struct {
	Output string `json:"output,omitempty"` // RE2, for a part of one line
	Stderr bool   `json:"stderr,omitempty"` // anything at all on stderr
}

// String says what is asked for; "" for nothing.
func (p Printed) String() string {
	var words []string
	if p.Output != "" {
		words = append(words, "output "+p.Output)
	}
	if p.Stderr {
		words = append(words, "stderr any")
	}
	return strings.Join(words, " ")
}

// Pattern returns the pattern of the lines; nil for none. It was valid when it was read.
func (p Printed) Pattern() *regexp.Regexp {
	if p.Output == "" {
		return nil
	}
	return regexp.MustCompile(p.Output)
}

// A File must be there when the command has ended.
type File struct {
	Path    string `json:"path"`              // absolute; with *, ? or [ one of the files that match
	New     bool   `json:"new,omitempty"`     // it was written since the run began
	AtLeast int64  `json:"at_least,omitzero"` // bytes
}

// String says what is asked of the file.
func (f File) String() string {
	text := f.Path
	if f.New {
		text += " newer_than run"
	}
	if f.AtLeast > 0 {
		text += " at_least " + Text(float64(f.AtLeast), Bytes)
	}
	return text
}
