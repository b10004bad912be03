package dialect

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// A form is a day that is not a number: the last Friday, the working day nearest to the 15th.
type form struct {
	kind formKind
	n    int // the day, the weekday from Sunday as 0, or how many days before the last
	nth  int // of nthWeekday; 0: of lastWeekday and the others
}

type formKind int

const (
	beforeLast        formKind = iota // L and L-3
	workdayBeforeLast                 // LW and L-3W
	nearestWorkday                    // 15W
	lastWeekday                       // 5L
	nthWeekday                        // 5#2
)

// A month is one month of one year.
type month struct {
	first  time.Weekday // of its first day
	length int
}

func monthOf(year, number int) month {
	first := time.Date(year, time.Month(number), 1, 0, 0, 0, 0, time.UTC)
	return month{first.Weekday(), first.AddDate(0, 1, -1).Day()}
}

// on returns the days of the month that are a weekday, a bit for each.
func (m month) on(weekday int) (days uint64) {
	for day := 1 + (weekday-int(m.first)+7)%7; day <= m.length; day += 7 {
		days |= 1 << day
	}
	return days
}

func (m month) weekday(day int) int { return (int(m.first) + day - 1) % 7 }

// workday returns the day of the month nearest to a day, Monday to Friday.
func (m month) workday(day int) int {
	switch m.weekday(day) {
	case 6:
		if day > 1 {
			return day - 1
		}
		return day + 2
	case 0:
		if day < m.length {
			return day + 1
		}
		return day - 2
	}
	return day
}

// days returns the days of the month that the form means, a bit for each.
func (f form) days(m month) uint64 {
	day := m.length - f.n
	switch f.kind {
	case beforeLast:
		return bit(day)
	case workdayBeforeLast:
		if day < 1 {
			return 0
		}
		return bit(m.workday(day))
	case nearestWorkday:
		if f.n > m.length {
			return 0
		}
		return bit(m.workday(f.n))
	case lastWeekday:
		return 1 << (bits.Len64(m.on(f.n)) - 1)
	}
	days := m.on(f.n)
	for range f.nth - 1 {
		days &= days - 1
	}
	return days & -days
}

// bit returns the set of one day; of none, if there is no such day.
func bit(day int) uint64 {
	if day < 1 {
		return 0
	}
	return 1 << day
}

// text returns the form as sched reads it.
func (f form) text() string {
	name := strings.ToUpper(time.Weekday(f.n % 7).String()[:3])
	switch f.kind {
	case beforeLast:
		if f.n == 0 {
			return "L"
		}
		return fmt.Sprintf("L-%d", f.n)
	case workdayBeforeLast:
		return "LW"
	case nearestWorkday:
		return fmt.Sprintf("%dW", f.n)
	case lastWeekday:
		return name + "L"
	}
	return fmt.Sprintf("%s#%d", name, f.nth)
}

// words says the form in words.
func (f form) words() string {
	name := strings.ToUpper(time.Weekday(f.n % 7).String()[:3])
	switch f.kind {
	case beforeLast:
		if f.n == 0 {
			return "the last day"
		}
		return fmt.Sprintf("%s before the last", humanize.Count(f.n, "day"))
	case workdayBeforeLast:
		if f.n == 0 {
			return "the last working day"
		}
		return fmt.Sprintf("the working day nearest to %s before the last", humanize.Count(f.n, "day"))
	case nearestWorkday:
		return fmt.Sprintf("the working day nearest to day %d", f.n)
	case lastWeekday:
		return "the last " + name
	}
	return "the " + [...]string{"", "first", "second", "third", "fourth", "fifth"}[f.nth%6] + " " + name
}
