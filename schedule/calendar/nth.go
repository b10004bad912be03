package calendar

import (
	"fmt"
	"time"
)

// A Period is what working days are counted in. A week begins on Monday.
type Period string

const (
	Week    Period = "week"
	Month   Period = "month"
	Quarter Period = "quarter"
	Year    Period = "year"
)

// around returns the first and the last day of the period that holds a day.
func (p Period) around(day int64) (first, last int64) {
	if p == Week {
		first = day - ((day+3)%7+7)%7
		return first, first + 6
	}
	date, months := Of(day), time.Month(1)
	switch p {
	case Quarter:
		months = 3
	case Year:
		months = 12
	}
	date.Month -= (date.Month - 1) % months
	begin := time.Date(date.Year, date.Month, 1, 0, 0, 0, 0, time.UTC)
	return begin.Unix() / daySeconds, begin.AddDate(0, int(months), 0).Unix()/daySeconds - 1
}

// An Nth is one day of each period: its third working day, its last one, or the second working day
// before its last day. A period with fewer working days has no such day. The zero Nth is no day.
type Nth struct {
	N      int // 1 is the first working day, -1 the last
	Of     Period
	AnyDay bool // N counts all days, not working days alone
	Offset int  // then go so many working days on; back if negative
}

// Next returns the first of these days from one day through another.
func (n Nth) Next(set Set, day, last int64) (int64, bool) {
	first, end := n.Of.around(day)
	if n.Offset != 0 { // the day may belong to an earlier period
		for range farthest {
			before, _ := n.Of.around(first - 1)
			due, ok := n.in(set, before, first-1)
			if ok && due < day {
				break
			}
			first, end = before, first-1
		}
	}
	for first <= last+4*farthest {
		due, ok := n.in(set, first, end)
		if ok && due >= day {
			return due, due <= last
		}
		first, end = n.Of.around(end + 1)
	}
	return 0, false
}

// in returns the day of the period from first through last.
func (n Nth) in(set Set, first, last int64) (int64, bool) {
	day, step := first, int64(1)
	if n.N < 0 {
		day, step = last, -1
	}
	for left := n.N * int(step); ; day += step {
		if day < first || day > last {
			return 0, false
		}
		if n.AnyDay || set.Works(day) {
			left--
		}
		if left == 0 {
			break
		}
	}
	step = 1
	if n.Offset < 0 {
		step = -1
	}
	for left, far := n.Offset*int(step), 0; left > 0; far++ {
		if day += step; set.Works(day) {
			left, far = left-1, 0
		}
		if far > farthest {
			return 0, false
		}
	}
	return day, true
}

// Ordinals are the words for the first days of a period.
var Ordinals = []string{"first", "second", "third", "fourth", "fifth"}

// String returns the words that every.Parse reads: "second last working day of month".
func (n Nth) String() string {
	ordinal, count := "", n.N
	if n.N < 0 {
		ordinal, count = " last", -n.N
	}
	switch {
	case n.N == -1:
		ordinal = "last"
	case count <= len(Ordinals):
		ordinal = Ordinals[count-1] + ordinal
	default:
		ordinal = fmt.Sprintf("%dth", count) + ordinal
	}
	kind := " working day of "
	if n.AnyDay {
		kind = " day of "
	}
	text := ordinal + kind + string(n.Of)
	if n.Offset == 0 {
		return text
	}
	count, where := n.Offset, "after"
	if n.Offset < 0 {
		count, where = -n.Offset, "before"
	}
	days := "days"
	if count == 1 {
		days = "day"
	}
	return fmt.Sprintf("%d working %s %s %s", count, days, where, text)
}
