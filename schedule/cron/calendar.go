package cron

import "time"

// Days are counted from 1 January 1970, and are those of the wall clock: neither daylight saving nor the zone's history
// moves them.

// A month is one of the calendar.
type month struct {
	number int // 1 is January
	first  int64
	length int
}

// monthOf returns the month that holds a day, and which of its days that is.
func monthOf(day int64) (m month, inMonth int) {
	year, number, inMonth := time.Unix(day*daySeconds, 0).UTC().Date()
	first := day - int64(inMonth) + 1
	next := time.Date(year, number+1, 1, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
	return month{int(number), first, int(next - first)}, inMonth
}

// day returns the day of the calendar that is the n-th of the month.
func (m month) day(n int) int64 { return m.first + int64(n) - 1 }

// shapes is how many shapes months have: 28 to 31 days, the first of which is any weekday.
const shapes = 4 * 7

// shape tells months of different length or first weekday apart, from 0.
func (m month) shape() int { return (m.length-28)*7 + int(mod(m.first, 7)) }

// dates are the days that an expression's fields for day, month and weekday let through.
type dates struct {
	months         set
	days, weekdays *dayTable
	either         bool // both day fields are restricted: one of them is enough
}

// in returns the due days of a month. It joins the day fields as Vixie cron does: both must match where either starts
// with *, else one is enough.
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
