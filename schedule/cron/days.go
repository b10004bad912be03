package cron

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule/calendar"
)

// dates and cycle say which days are due, by fields or counted from a date. times say which times
// of the day are due. Package cron counts time in int64s of four units:
//
//	instant      seconds since 1970 in UTC
//	wall second  what the clock on the wall shows, in seconds as if that were UTC
//	day          days of the wall clock since 1 January 1970
//	second       of a day, from 0

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds
)

func dayOf(wall int64) int64 { return (wall - mod(wall, daySeconds)) / daySeconds }

// A month is one month of one year.
type month struct {
	number int   // 1 is January
	first  int64 // its first day
	length int   // in days
}

// monthOf returns the month that holds a day, and the day's number in it, from 1.
func monthOf(day int64) (m month, inMonth int) {
	year, number, inMonth := time.Unix(day*daySeconds, 0).UTC().Date()
	return month{int(number), day - int64(inMonth) + 1, calendar.LengthOf(year, number)}, inMonth
}

func (m month) day(n int) int64 { return m.first + int64(n) - 1 }

// shapes is the number of shapes of a month: its length, and the weekday of its first day. Months
// of one shape have the same due days.
const shapes = 4 * 7

func (m month) shape() int { return (m.length-28)*7 + int(mod(m.first, 7)) }

// A cycle is every so many days from a first day on, as in "2 weeks from 2026-01-05", which no cron
// expression can say. The zero cycle means that dates decide.
type cycle struct {
	days  int64 // from one due day to the next; 0 only in the zero cycle
	first int64 // the first due day
}

// next returns the first due day from one day through another.
func (c cycle) next(day, last int64) (int64, bool) {
	due := c.first + max(0, ceil(day-c.first, c.days))
	return due, due <= last
}

// startText returns the first due day as people write it.
func (c cycle) startText() string { return calendar.Of(c.first).String() }

// why says in words whether the day that lies so many days after the first due day is due. Earlier
// days have a negative number.
func (c cycle) why(since int64) string {
	day := calendar.Of(c.first + since)
	switch {
	case since < 0:
		return fmt.Sprintf("%s is before %s", day, c.startText())
	case since%c.days == 0:
		return fmt.Sprintf("%s is %d days after %s, a multiple of %d", day, since, c.startText(), c.days)
	}
	return fmt.Sprintf("%s is %d days after %s, not a multiple of %d", day, since, c.startText(), c.days)
}

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

// offsetAt returns how many seconds the wall clock is ahead of UTC at an instant.
func offsetAt(zone *time.Location, instant int64) int64 {
	_, offset := time.Unix(instant, 0).In(zone).Zone()
	return int64(offset)
}

func wallTime(wall int64) time.Time { return time.Unix(wall, 0).UTC() }
