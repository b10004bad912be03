package schedule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sched/schedule/cron"
	"sched/schedule/yamldoc"
)

// A Param is a variable of a task to which a person may give another value for one run. Its default
// is also in Task.Env, so a run for which nobody sets values needs nothing of this file.
type Param struct {
	Name    string   `json:"name"`
	Default *string  `json:"default"` // nil: each run must be given a value
	Values  []string `json:"values"`  // that it may have; empty: the pattern decides
	Pattern string   `json:"pattern"` // RE2, which the whole value must match; "" for any value
}

// maxValueSize is the most bytes of a value: the row of a run keeps it, and people read it.
const maxValueSize = 1000

// Refuses returns why the param cannot have a value, or "".
func (p Param) Refuses(value string) string {
	switch {
	case len(value) > maxValueSize:
		return fmt.Sprintf("a value has at most %d bytes, not %d", maxValueSize, len(value))
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Sprintf("%s is not one line of text", yamldoc.Quote(value))
	case len(p.Values) > 0 && !slices.Contains(p.Values, value):
		return fmt.Sprintf("%s is not among its values: %s", yamldoc.Quote(value), strings.Join(p.Values, ", "))
	case p.Pattern != "" && !matchesWhole(p.Pattern, value):
		return fmt.Sprintf("%s does not match the pattern %s", yamldoc.Quote(value), p.Pattern)
	}
	return ""
}

// matchesWhole reports whether the longest match of a valid pattern is the whole value.
func matchesWhole(pattern, value string) bool {
	expression := regexp.MustCompile(pattern)
	expression.Longest()
	at := expression.FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// String says in words what the param may be.
func (p Param) String() string {
	words := "no default"
	if p.Default != nil {
		words = "default " + quoted(*p.Default)
	}
	if len(p.Values) > 0 {
		words += ", one of " + strings.Join(p.Values, ", ")
	}
	if p.Pattern != "" {
		words += ", matches " + p.Pattern
	}
	return words
}

// A MissingValueError says that a param without a default has no value.
type MissingValueError struct{ Task, Param string }

func (e *MissingValueError) Error() string {
	return fmt.Sprintf("%s needs a value for %s, which has no default", e.Task, e.Param)
}

// WithValues returns the words for an action, followed by the values that somebody set with it, if
// any. Long values are shortened.
func WithValues(action string, values map[string]string) string {
	var pairs []string
	for _, pair := range Pairs(values) {
		name, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, name+"="+quoted(yamldoc.Shorten(value)))
	}
	if len(pairs) == 0 {
		return action
	}
	return strings.TrimSpace(action + " with " + strings.Join(pairs, ", "))
}

// Pairs returns values as the environment of a process has them, by name.
func Pairs(values map[string]string) (pairs []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, name+"="+values[name])
	}
	return pairs
}

// quoted puts a value in quotes if it does not read as one word.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, " \"',()") {
		return strconv.Quote(value)
	}
	return value
}

// A TimeValues gives params their values in the runs of some of the times of a task (key schedule).
type TimeValues struct {
	Crons  []cron.Expression // some of Task.When
	Params map[string]string
}
