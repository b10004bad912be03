package cron

import (
	"fmt"
	"strings"
	"time"
)

// Two ways say which days are due: dates, from fields, and cycle, counted from a date. times say
// which times of the day are due, and interval says both. A day is a number of days of the wall
// clock, counted from 1 January 1970.

// dayOf returns the day that holds a wall second.
func dayOf(t int64) int64 { return (t - mod(t, daySeconds)) / daySeconds }

// dateText returns a day as people write it: 2026-01-05.
func dateText(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly) }

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

func (m month) day(n int) int64 { return m.first + int64(n) - 1 }

// shapes is the number of shapes of a month: its length, and the weekday of its first day. Months
// of one shape have the same due days.
const shapes = 4 * 7

func (m month) shape() int { return (m.length-28)*7 + int(mod(m.first, 7)) }

// dates are the days that match the fields for day, month and weekday.
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

// startText returns the first due day as people write it.
func (c cycle) startText() string { return dateText(c.from) }

// why says in words whether a day is due. The day is since days after the first due day; since is
// negative for earlier days.
func (c cycle) why(since int64) string {
	day := dateText(c.from + since)
	switch {
	case since < 0:
		return fmt.Sprintf("%s is before %s", day, c.startText())
	case since%c.days == 0:
		return fmt.Sprintf("%s is %d days after %s, a multiple of %d", day, since, c.startText(), c.days)
	}
	return fmt.Sprintf("%s is %d days after %s, not a multiple of %d", day, since, c.startText(), c.days)
}

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds
)

// times are the times of day, in seconds, that match the fields for second, minute and hour.
type times struct{ seconds, minutes, hours set }

// next returns the first due time of day from second on.
func (t times) next(second int64) (int64, bool) {
	h, m, s := int(second/hourSeconds), int(second/minuteSeconds%60), int(second%60)
	if t.hours.has(h) {
		if t.minutes.has(m) {
			if s, ok := t.seconds.from(s); ok {
				return secondOfDay(h, m, s), true
			}
		}
		if m, ok := t.minutes.from(m + 1); ok {
			return secondOfDay(h, m, t.seconds.first()), true
		}
	}
	h, ok := t.hours.from(h + 1)
	return secondOfDay(h, t.minutes.first(), t.seconds.first()), ok
}

func secondOfDay(h, m, s int) int64 {
	return int64(h)*hourSeconds + int64(m)*minuteSeconds + int64(s)
}

// ceil returns the smallest multiple of unit that is t or larger.
func ceil(t, unit int64) int64 { return t + mod(-t, unit) }

// mod returns the remainder of t by unit. It is never negative, even for times before 1970.
func mod(t, unit int64) int64 { return (t%unit + unit) % unit }

// atTimes returns the times of day, to the minute, in words: " at 8:00, 9:00"; "" for midnight
// alone.
func (t times) atTimes() string {
	var words []string
	for hour, ok := t.hours.from(0); ok; hour, ok = t.hours.from(hour + 1) {
		words = append(words, fmt.Sprintf("%d:%02d", hour, t.minutes.first()))
	}
	if len(words) == 1 && words[0] == "0:00" {
		return ""
	}
	return " at " + strings.Join(words, ", ")
}

// An interval ("90 minutes from 2026-01-05 06:00") is a time that comes every so many seconds of
// elapsed time from a wall time on, whatever the clocks do. The zero interval means that the fields
// of an expression decide.
type interval struct {
	every int64 // from one due instant to the next, in seconds; 0 only in the zero interval
	from  int64 // the first due time, on the wall clock, in seconds as if that were UTC
}

// start returns the first due instant. If a wall time comes twice, the first time counts. A skipped
// wall time lies the same distance after the gap.
func (v interval) start(zone *time.Location) int64 {
	before, after := v.from-offsetAt(zone, v.from-daySeconds), v.from-offsetAt(zone, v.from+daySeconds)
	if before+offsetAt(zone, before) != v.from && after+offsetAt(zone, after) == v.from {
		return after
	}
	return before
}

// offsetAt is how far the wall clock is ahead of UTC around an instant.
func offsetAt(zone *time.Location, t int64) int64 {
	_, offset := time.Unix(t, 0).In(zone).Zone()
	return int64(offset)
}

// next returns the first due instant that is not before an instant.
func (v interval) next(zone *time.Location, at int64) int64 {
	start := v.start(zone)
	return start + max(0, ceil(at-start, v.every))
}

// String returns the words that ParseEvery reads.
func (v interval) String() string {
	n, unit := v.every/minuteSeconds, "minute"
	if v.every%hourSeconds == 0 {
		n, unit = v.every/hourSeconds, "hour"
	}
	if n > 1 {
		unit = fmt.Sprintf("%d %ss", n, unit)
	}
	return unit + " from " + v.startText()
}

// startText returns the first due time as people write it.
func (v interval) startText() string { return time.Unix(v.from, 0).UTC().Format("2006-01-02 15:04") }

// compare says whether the minute that begins at an instant is due.
func (v interval) compare(zone *time.Location, minute int64, due bool) []Field {
	since := minute + minuteSeconds - 1 - v.start(zone)
	minutes := (since - mod(since, minuteSeconds)) / minuteSeconds
	f := Field{Name: "interval", Text: v.String(), Value: int(minutes), Matches: due}
	not := "not "
	if due {
		not = ""
	}
	f.comparison = fmt.Sprintf("it is %d minutes after %s, %sa multiple of %d",
		f.Value, v.startText(), not, v.every/minuteSeconds)
	if f.Value < 0 {
		f.comparison = "it is before " + v.startText()
	}
	return []Field{f}
}
