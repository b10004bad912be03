package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
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

// Days is a set of weekdays, a bit for each, Sunday the lowest. The empty set means every day.
type Days uint8

const (
	Weekends Days = 1<<time.Sunday | 1<<time.Saturday
	Weekdays Days = 1<<7 - 1 - Weekends
)

// Contains reports whether the day is one of them.
func (d Days) Contains(day time.Weekday) bool { return d == 0 || d&(1<<day) != 0 }

// String returns "weekdays", "weekends", or the names of the days, from Monday on; "" for every
// day.
func (d Days) String() string {
	switch d {
	case Weekdays:
		return "weekdays"
	case Weekends:
		return "weekends"
	}
	var names []string
	for i := range 7 {
		if day := time.Weekday((i + 1) % 7); d&(1<<day) != 0 {
			names = append(names, day.String()[:3])
		}
	}
	return strings.Join(names, " ")
}

// A Window is a part of the day, in minutes since midnight.
type Window struct{ From, To int }

// Contains reports whether t falls in the window, ends included. A window may wrap past midnight.
func (w Window) Contains(t time.Time) bool {
	m := t.Hour()*60 + t.Minute()
	if w.From <= w.To {
		return w.From <= m && m <= w.To
	}
	return m >= w.From || m <= w.To
}

// String returns the window as 8:00-17:00.
func (w Window) String() string {
	return fmt.Sprintf("%d:%02d-%d:%02d", w.From/60, w.From%60, w.To/60, w.To%60)
}

func windowText(windows []Window) string {
	texts := make([]string, len(windows))
	for i, w := range windows {
		texts[i] = w.String()
	}
	return strings.Join(texts, " and ")
}

// A Date is a day of one year, or of every year if Year is 0.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of t in its zone.
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// String returns the date as 2026-12-25, or 12-25 for every year.
func (d Date) String() string {
	if d.Year == 0 {
		return fmt.Sprintf("%02d-%02d", d.Month, d.Day)
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// Compare orders dates: it is negative if d comes before e. Dates of every year come first.
func (d Date) Compare(e Date) int {
	return (d.Year-e.Year)*1000 + int(d.Month-e.Month)*40 + d.Day - e.Day
}

// Holidays are days with their names, which may be empty. Nil is a schedule that has none.
type Holidays map[Date]string

// On returns the date and name of the holiday on which at falls, or "". A date with a year wins,
// unless it has no name.
func (h Holidays) On(at time.Time) string {
	day := DateOf(at)
	name, isHoliday := h[day]
	if yearlyName, isYearly := h[Date{Month: day.Month, Day: day.Day}]; name == "" && isYearly {
		name, isHoliday = yearlyName, true
	}
	if !isHoliday {
		return ""
	}
	return strings.TrimSpace(day.String() + " " + name)
}
