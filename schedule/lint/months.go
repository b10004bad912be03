package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/every"
	"sched/schedule/humanize"
)

// SkippedMonths notes days that some of the months lack in which a task is due: the 31st in April,
// and 29 February in most years.
func SkippedMonths(s *schedule.Schedule) (notes []schedule.Problem) {
	for t := range s.ActiveTasks() {
		for _, c := range t.When.Crons {
			words := strings.Fields(c.String())
			day, text := skippedDay(words)
			if text == "" {
				continue
			}
			notes = append(notes, t.Problem(timingKey(t), lastDayHint(t, words, day), "%s %q: %s",
				timingKey(t), cmp.Or(t.When.Every, c.String()), text))
			if t.When.Every != "" {
				break // each time of the day has an expression
			}
		}
	}
	return notes
}

// skippedDay returns the latest day of an expression that some months lack, and what is skipped. A
// range such as 28-31, or a last day beside it, says that its author knows.
func skippedDay(words []string) (day, text string) {
	last := len(words) - 1
	if last < 4 || strings.Trim(words[last], "*?") != "" || strings.ContainsAny(words[last-2], "Ll") {
		return "", ""
	}
	latest := 28
	for element := range strings.SplitSeq(words[last-2], ",") {
		if n, isNumber := humanize.Digits(element); isNumber && n > latest {
			latest, day = n, element
		}
	}
	if day == "" {
		return "", ""
	}
	return day, skipped(latest, monthsOf(words[last-1]))
}

// monthsOf returns the months of a field of a cron expression.
func monthsOf(field string) (months []time.Month) {
	c, err := cron.Parse("0 0 1 "+field+" *", "")
	if err != nil {
		return nil
	}
	when := cron.When{Crons: []cron.Expression{c}, Location: time.UTC}
	for month := time.January; month <= time.December; month++ {
		if len(when.Slots(time.Date(2027, month, 1, 0, 0, 0, 0, time.UTC))) > 0 {
			months = append(months, month)
		}
	}
	return months
}

// skipped says which of the months lack a day; "" if all of them have it.
func skipped(day int, months []time.Month) string {
	const inLeapYears = "February has a day 29 in leap years alone"
	var lacking []string
	hasFebruary := false
	for _, month := range months {
		hasFebruary = hasFebruary || month == time.February
		if month != time.February && day > time.Date(2027, month+1, 0, 0, 0, 0, 0, time.UTC).Day() {
			lacking = append(lacking, month.String())
		}
	}
	switch {
	case day == 29 && hasFebruary && len(months) == 1:
		return inLeapYears + ", so it is skipped in all other years"
	case day == 29 && hasFebruary:
		return inLeapYears + ", so it is skipped in the others"
	case hasFebruary:
		lacking = append([]string{time.February.String()}, lacking...)
	}
	if len(lacking) == 0 {
		return ""
	}
	return fmt.Sprintf("it is skipped in %s, without a day %d", strings.Join(lacking, ", "), day)
}

// lastDayHint says how to write the last day of the month in place of a day.
func lastDayHint(t *schedule.Task, words []string, day string) string {
	words = slices.Clone(words)
	field := &words[len(words)-3]
	*field = strings.Replace(*field, day, "L", 1)
	meant := "`cron: \"" + strings.Join(words, " ") + "\"`"
	if whole := strings.Replace(t.When.Every, day, "last day", 1); whole != t.When.Every {
		if _, err := every.Parse(whole); err == nil {
			meant = "`every: " + whole + "`"
		}
	}
	return "for the last day of the month write " + meant
}
