// Package calendar says which days are working days, on which day something runs that was meant for
// another day, and why. It is pure, and counts days from 1 January 1970 on, without a time zone:
// the caller says which day it is.
//
//   - A Calendar has holidays, working weekdays, extra working days, and an end. A Set of calendars
//     works on the days on which all of them work.
//   - A Rule moves a day that is no working day to one that is (move.go).
//   - An Nth is a working day of a week, a month, a quarter or a year (nth.go).
//   - ReadICS reads the days of an iCalendar file (ics.go).
package calendar

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// farthest is how many days a day moves at most. A day farther from all working days is skipped.
const farthest = 100

const daySeconds = 24 * 60 * 60

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

// Of returns the date of a day.
func Of(day int64) Date { return DateOf(midnight(day)) }

// midnight returns the beginning of a day, as if it were in UTC.
func midnight(day int64) time.Time { return time.Unix(day*daySeconds, 0).UTC() }

// DayOf returns the day of t in its zone.
func DayOf(t time.Time) int64 { return DateOf(t).Number() }

// Number returns the day of a date with a year.
func (d Date) Number() int64 {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
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

// LengthOf returns how many days a month has. Package time is slower by far (BenchmarkForward of
// package cron).
func LengthOf(year int, number time.Month) int {
	switch number {
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

// Holidays are days with their names, which may be empty. Nil is a schedule that has none.
type Holidays map[Date]string

// On returns the date and name of the holiday on which at falls, or "". A date with a year wins,
// unless it has no name.
func (h Holidays) On(at time.Time) string {
	if len(h) == 0 {
		return ""
	}
	day := DateOf(at)
	name, isHoliday := h.named(day)
	if !isHoliday {
		return ""
	}
	return strings.TrimSpace(day.String() + " " + name)
}

func (h Holidays) named(day Date) (name string, has bool) {
	name, has = h[day]
	if yearlyName, isYearly := h[Date{Month: day.Month, Day: day.Day}]; name == "" && isYearly {
		name, has = yearlyName, true
	}
	return name, has
}

// Newest returns the last of the dates that have a year; Year is 0 if none has one.
func (h Holidays) Newest() (newest Date) {
	for date := range h {
		if date.Year > 0 && date.Compare(newest) > 0 {
			newest = date
		}
	}
	return newest
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

// A Calendar says which days are working days: Extra days, and days of Weekdays that are no
// holidays. After Through the holidays are not known, and weekdays alone count.
type Calendar struct {
	Name     string
	Holidays Holidays
	Weekdays Days
	Extra    Holidays
	Through  Date // Year is 0 for a calendar without an end
}

// Office is the calendar of a task that names none: Monday to Friday, without holidays.
var Office = Set{{Weekdays: Weekdays}}

// off says why a day is no working day: "weekend", "holiday Christmas"; "" for a working day.
func (c *Calendar) off(day int64) string {
	date, weekday := Of(day), time.Weekday(((day+4)%7+7)%7)
	if !c.Ended(date) {
		if _, isExtra := c.Extra.named(date); isExtra {
			return ""
		}
		if name, isHoliday := c.Holidays.named(date); isHoliday {
			return strings.TrimSpace("holiday " + name)
		}
	}
	switch {
	case c.Weekdays.Contains(weekday):
		return ""
	case Weekends.Contains(weekday):
		return "weekend"
	}
	return "no working day"
}

// Ended reports whether a date comes after the end of the calendar.
func (c *Calendar) Ended(date Date) bool { return c.Through.Year > 0 && date.Compare(c.Through) > 0 }

// EndText says that the calendar ends within 60 days, or has ended. Without Through it says that
// the newest of its holidays has passed. Else it is "".
func (c *Calendar) EndText(today Date) string {
	const then = ": later days count by their weekday alone"
	newest := c.Holidays.Newest()
	switch {
	case c.Through.Year == 0 && newest.Year > 0 && newest.Compare(today) < 0:
		return "the newest of the holidays of calendar " + c.Name + ", " + newest.String() + ", has passed"
	case c.Ended(today):
		return "calendar " + c.Name + " ended " + c.Through.String() + then
	case c.Through.Year > 0 && c.Through.Number()-today.Number() <= 60:
		return "calendar " + c.Name + " ends " + c.Through.String() + then
	}
	return ""
}

// A Set is the calendars of a task. A working day is one in all of them.
type Set []*Calendar

// Off says why a day is no working day, by the first calendar that says so; "" for a working day.
// It names the calendar if there are several.
func (s Set) Off(day int64) string {
	for _, c := range s {
		why := c.off(day)
		if why != "" && len(s) > 1 {
			why += " (" + c.Name + ")"
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// Works reports whether a day is a working day.
func (s Set) Works(day int64) bool {
	for _, c := range s {
		if c.off(day) != "" {
			return false
		}
	}
	return true
}

// End returns the calendar of the set that ends first; nil if none ends.
func (s Set) End() (first *Calendar) {
	for _, c := range s {
		if c.Through.Year > 0 && (first == nil || c.Through.Compare(first.Through) < 0) {
			first = c
		}
	}
	return first
}

// String returns the names of the calendars.
func (s Set) String() string {
	var names []string
	for _, c := range s {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// dayText returns a day for people: "Sat 1 May".
func dayText(day int64) string { return midnight(day).Format("Mon 2 Jan") }

// WeekdayWords returns the weekdays that a word, in lower case, means. Sunday is 0.
var WeekdayWords = sync.OnceValue(func() map[string][]int {
	words := map[string][]int{
		"weekday": {1, 2, 3, 4, 5}, "weekend": {0, 6},
		"sunday": {0}, "monday": {1}, "tuesday": {2}, "wednesday": {3}, "thursday": {4}, "friday": {5}, "saturday": {6},
		"sun": {0}, "mon": {1}, "tue": {2}, "wed": {3}, "thu": {4}, "fri": {5}, "sat": {6},
	}
	for word, days := range maps.Clone(words) {
		words[word+"s"] = days
	}
	return words
})
