package export

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sched/schedule/crontab/cover"
)

// onCalendar returns the values of OnCalendar= that have the times, which are two if either of two
// day fields is enough. A step has an end: a step without one misses times in systemd 252, and may
// end the timer where clocks change at midnight.
func onCalendar(t cover.Times, zone *time.Location) []string {
	end := fmt.Sprintf(" %s:%s:00", valuesOf(t.Hours, 23), valuesOf(t.Minutes, 59))
	if name := zone.String(); name != "Local" {
		end += " " + name
	}
	month, weekdays := valuesOf(t.Months, 12), weekdaysOf(t.Weekdays)
	byDay := "*-" + month + "-" + valuesOf(t.Days, 31) + end
	switch {
	case t.Weekdays == "*":
		return []string{byDay}
	case t.Days == "*":
		return []string{weekdays + " *-" + month + "-*" + end}
	case t.Both:
		return []string{weekdays + " " + byDay}
	}
	return []string{byDay, weekdays + " *-" + month + "-*" + end}
}

// valuesOf writes a field of numbers as systemd reads it: 9-17 as 09..17, */5 as 00..59/5.
func valuesOf(field string, last int) string {
	if field == "*" {
		return "*"
	}
	var parts []string
	for part := range strings.SplitSeq(field, ",") {
		span, step, isStepped := strings.Cut(part, "/")
		if span == "*" {
			span = fmt.Sprintf("0-%d", last)
		}
		var numbers []string
		for word := range strings.SplitSeq(span, "-") {
			numbers = append(numbers, fmt.Sprintf("%02s", word))
		}
		text := strings.Join(numbers, "..")
		if isStepped {
			text += "/" + step
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

// weekdaysOf writes numbers of weekdays, from Sunday as 0, as names.
func weekdaysOf(field string) string {
	var names []string
	for part := range strings.SplitSeq(field, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		for day := from; day <= to; day++ {
			names = append(names, time.Weekday(day % 7).String()[:3])
		}
	}
	return strings.Join(names, ",")
}
