package schedule

import (
	"slices"
	"strings"
	"time"

	"sched/schedule/calendar"
)

// Conditions say at which instants a task that is due may run. The zero value is always met.
type Conditions struct {
	Days          Days     // on one of these days of the week
	Holidays      Holidays // on none of these days
	Between       []Window // inside one of these; empty: at any time
	UnlessBetween []Window // and inside none of these
}

// IsAlwaysMet reports whether there is no condition.
func (c Conditions) IsAlwaysMet() bool {
	return c.Days == 0 && len(c.Holidays)+len(c.Between)+len(c.UnlessBetween) == 0
}

// FirstUnmet says in words which condition keeps the task from running at this instant, read on the
// wall clock of at's own zone; "" if no condition does.
func (c Conditions) FirstUnmet(at time.Time) string {
	if !c.Days.Contains(at.Weekday()) {
		return "not on " + at.Weekday().String()
	}
	if holiday := c.Holidays.On(at); holiday != "" {
		return "it is a holiday: " + holiday
	}
	contains := func(w Window) bool { return w.Contains(at) }
	if len(c.Between) > 0 && !slices.ContainsFunc(c.Between, contains) {
		return "outside " + windowText(c.Between)
	}
	if i := slices.IndexFunc(c.UnlessBetween, contains); i >= 0 {
		return "inside " + c.UnlessBetween[i].String()
	}
	return ""
}

// A ConditionCommand decides right before a task starts whether it may, by its exit code.
type ConditionCommand struct {
	Key     string // when or skip
	Command Command
}

// Allows reports whether the task may start after the exit code: for `when` after 0, for `skip`
// after 1 to 125. Other codes are no answer: shells and ssh(1) give them when they cannot run the
// command.
func (c ConditionCommand) Allows(code int) (allows, answered bool) {
	if code < 0 || code > 125 {
		return false, false
	}
	return (code == 0) == (c.Key == "when"), true
}

// maxSteps bounds the search of NextRun. A task that is due each minute is searched for a week,
// and a task that is due each day for 27 years.
const maxSteps = 10_000

// String returns the conditions as people read them beside the expressions: "weekdays, 8:00-17:00,
// not 12:00-13:00"; "" for none.
func (c Conditions) String() string {
	var words []string
	if days := c.Days.String(); days != "" {
		words = append(words, days)
	}
	if len(c.Between) > 0 {
		words = append(words, windowText(c.Between))
	}
	if len(c.UnlessBetween) > 0 {
		words = append(words, "not "+windowText(c.UnlessBetween))
	}
	if len(c.Holidays) > 0 {
		words = append(words, "not on holidays")
	}
	return strings.Join(words, ", ")
}

// Package calendar has the words for days, holidays and windows of the day.
type (
	Days     = calendar.Days
	Holidays = calendar.Holidays
	Date     = calendar.Date
	Window   = calendar.Window
)

func windowText(windows []Window) string {
	texts := make([]string, len(windows))
	for i, w := range windows {
		texts[i] = w.String()
	}
	return strings.Join(texts, " and ")
}
