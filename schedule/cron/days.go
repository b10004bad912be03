package cron

import (
	"fmt"
	"time"
)

// This file holds the two ways to say which days are due: dates, from fields, and cycle, counted
// from a date. A day is a number of days of the wall clock, counted from 1 January 1970.

// dayOf returns the day that holds a wall second.
func dayOf(t int64) int64 { return (t - mod(t, daySeconds)) / daySeconds }

// date returns a day as people write it: 2026-01-05.
func date(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly) }

// A month is one month of one year.
type month struct {
	number int   // 1 is January
	first  int64 // its first day
	length int   // in days
}

// monthOf returns the month that holds a day, and the day's number in it, from 1.
func monthOf(day int64) (m month, inMonth int) {
	year, number, inMonth := time.Unix(day*daySeconds, 0).UTC().Date()
	return month{int(number), day - int64(inMonth) + 1, lengthOf(year, number)}, inMonth
}

// lengthOf returns how many days a month has. Package time is slower by far (BenchmarkForward).
func lengthOf(year int, number time.Month) int {
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

// day returns the n-th day of the month.
func (m month) day(n int) int64 { return m.first + int64(n) - 1 }

// shapes is the number of shapes of a month: its length, and the weekday of its first day. Months
// of one shape have the same due days.
const shapes = 4 * 7

// shape returns the number of the month's shape, from 0.
func (m month) shape() int { return (m.length-28)*7 + int(mod(m.first, 7)) }

// dates are the days that match an expression's fields for day, month and weekday.
type dates struct {
	months         set
	days, weekdays *dayTable
	either         bool // both day fields are restricted, so one of them is enough
}

// in returns the due days of a month, from 1. It joins the day fields as Vixie cron does: if one of
// them starts with *, both must match, else one is enough.
func (d dates) in(m month) set {
	if !d.months.has(m.number) {
		return 0
	}
	if d.either {
		return d.days.in(m) | d.weekdays.in(m)
	}
	return d.days.in(m) & d.weekdays.in(m)
}

// next returns the first due day from one day through another.
func (d dates) next(day, last int64) (int64, bool) {
	for day <= last {
		m, inMonth := monthOf(day)
		if due, ok := d.in(m).from(inMonth); ok {
			return m.day(due), m.day(due) <= last
		}
		day = m.day(m.length + 1)
	}
	return 0, false
}

// A cycle is every so many days from a first day on, as in "2 weeks from 2026-01-05", which no cron
// expression can say. The zero cycle means that dates decide.
type cycle struct {
	days int64 // from one due day to the next; 0 only in the zero cycle
	from int64 // the first due day
}

// next returns the first due day from one day through another.
func (c cycle) next(day, last int64) (int64, bool) {
	due := c.from + max(0, ceil(day-c.from, c.days))
	return due, due <= last
}

func (c cycle) due(day int64) bool {
	next, ok := c.next(day, day)
	return ok && next == day
}

// start returns the first due day as people write it.
func (c cycle) start() string { return date(c.from) }

// why says in words whether a day is due. The day is since days after the first due day; since is
// negative for earlier days.
func (c cycle) why(since int64) string {
	day := date(c.from + since)
	switch {
	case since < 0:
		return fmt.Sprintf("%s is before %s", day, c.start())
	case since%c.days == 0:
		return fmt.Sprintf("%s is %d days after %s, a multiple of %d", day, since, c.start(), c.days)
	}
	return fmt.Sprintf("%s is %d days after %s, not a multiple of %d", day, since, c.start(), c.days)
}
