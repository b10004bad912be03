package oncalendar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Cron is a calendar expression as a cron expression, and what has to be said beside it.
type Cron struct {
	Expression string   // five fields, or six that begin with seconds
	Days       []string // names of weekdays: a start must be on one of them, too; nil: any day
	First      int      // the first year; 0: any
	Last       int      // the last year, with First
}

// CronOf writes an expression for a cron that knows L, 1L and 1#2. The error says what it cannot
// say.
func CronOf(s Spec) (c Cron, err error) {
	if c.First, c.Last, err = yearsOf(s); err != nil {
		return c, err
	}
	dayText, weekdayText := fieldText(s.fields[day], day), weekdaysOf(s, "")
	switch {
	case s.fields[day] == nil:
	case s.fromEnd:
		if dayText, weekdayText, err = fromEndOf(s); err != nil {
			return c, err
		}
	case weekdayText != "*": // either of two day fields is enough for cron, and both must match here
		if weeks := weeksOf(s); weeks != nil {
			dayText, weekdayText = "*", weekdayNumbers(s, weeks)
		} else {
			c.Days, weekdayText = strings.Split(strings.ToLower(weekdaysOf(s, ",")), ","), "*"
		}
	}
	c.Expression = strings.Join([]string{fieldText(s.fields[minute], minute), fieldText(s.fields[hour], hour), dayText,
		fieldText(s.fields[month], month), weekdayText}, " ")
	for _, one := range s.fields[second] {
		if one.first%perSecond != 0 || one.step%perSecond != 0 {
			return c, errors.New("it has fractions of seconds")
		}
	}
	if seconds := fieldText(s.fields[second], second); seconds != "0" {
		c.Expression = seconds + " " + c.Expression
	}
	return c, nil
}

// yearsOf returns the first and the last year, both 0 if each year counts.
func yearsOf(s Spec) (first, last int, err error) {
	if s.fields[year] == nil {
		return 0, 0, nil
	}
	for y := lows[year]; y <= highs[year]; y++ {
		if next, ok := s.fields[year].next(y); !ok || next != y {
			continue
		}
		if first != 0 && last != y-1 {
			return 0, 0, errors.New("its years are not in a row")
		}
		if last = y; first == 0 {
			first = y
		}
	}
	return first, last, nil
}

// fieldText writes the field of a cron expression.
func fieldText(f field, index int) string {
	unit := 1
	if index == second {
		unit = perSecond
	}
	if f == nil || len(f) == 1 && f[0] == (span{lows[index], -1, unit}) {
		return "*"
	}
	var parts []string
	for _, one := range f {
		text := fmt.Sprint(one.first / unit)
		if one.last >= 0 {
			text += fmt.Sprintf("-%d", one.last/unit)
		}
		switch {
		case one.last < 0 && one.step > 0 && one.first == lows[index]:
			text = fmt.Sprintf("*/%d", one.step/unit)
		case one.last < 0 && one.step > 0:
			text += fmt.Sprintf("-%d/%d", highs[index]/unit, one.step/unit)
		case one.step > unit:
			text += fmt.Sprintf("/%d", one.step/unit)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

// weekdaysOf writes the weekdays, each with a text behind it. Without a text three in a row are a
// range. "*" stands for all days.
func weekdaysOf(s Spec, behind string) string {
	text := strings.ToUpper(strings.TrimSpace(s.weekdaysText()))
	if text == "" {
		return "*"
	}
	if behind == "" {
		return strings.ReplaceAll(text, "..", "-")
	}
	var names []string
	for i, is := range s.weekdays {
		if is {
			names = append(names, strings.ToUpper(days[i][:3])+strings.TrimSuffix(behind, ","))
		}
	}
	return strings.Join(names, ",")
}

// weeksOf returns which weeks of the month the days are: 1 for the days 1 to 7, 5 for the days from
// 29 on. It returns nil if the days are no whole weeks.
func weeksOf(s Spec) (weeks []int) {
	has := func(d int) bool { next, ok := s.fields[day].next(d); return ok && next == d }
	for d := 1; d <= 31; d++ {
		begins := (d-1)/7*7 + 1
		switch {
		case has(d) != has(begins):
			return nil
		case has(d) && d == begins:
			weeks = append(weeks, (d-1)/7+1)
		}
	}
	return weeks
}

func weekdayNumbers(s Spec, weeks []int) string {
	var parts []string
	for _, week := range weeks {
		parts = append(parts, weekdaysOf(s, fmt.Sprintf("#%d", week)))
	}
	return strings.Join(parts, ",")
}

// fromEndOf writes days that count from the end of the month: the last day, or weekdays of the
// last seven days.
func fromEndOf(s Spec) (dayText, weekdayText string, err error) {
	var counted []int
	for at := (wall{2001, 1, 1}); at[day] <= 31; at[day]++ { // January has 31 days
		if next, ok := s.values(day, at).next(at[day]); ok && next == at[day] {
			counted = append(counted, 32-at[day])
		}
	}
	lastWeek := []int{7, 6, 5, 4, 3, 2, 1}
	switch weekdays := weekdaysOf(s, "L"); {
	case weekdays == "*" && slices.Equal(counted, []int{1}):
		return "L", "*", nil
	case weekdays != "*" && slices.Equal(counted, lastWeek):
		return "*", weekdays, nil
	}
	return "", "", errors.New("cron counts no days from the end of a month but the last day and the last Monday")
}

// Starts yields the instants of [from, to) at which any of some expressions is due, the oldest
// first.
func Starts(all []Spec, from, to time.Time) func(yield func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		next := make([]time.Time, len(all))
		for i, spec := range all {
			next[i] = spec.Next(from.Add(-time.Microsecond))
		}
		for {
			var at time.Time
			for _, one := range next {
				if !one.IsZero() && (at.IsZero() || one.Before(at)) {
					at = one
				}
			}
			if at.IsZero() || !at.Before(to) || !yield(at) {
				return
			}
			for i, spec := range all {
				if next[i].Equal(at) {
					next[i] = spec.Next(at)
				}
			}
		}
	}
}
