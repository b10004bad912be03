package cron

import (
	"fmt"
	"strings"
	"time"
)

// This file reads days that are counted from a date: "2 weeks from 2026-01-05 at 8:00".

// longestCycle is ten years, in days. Whatever is rarer has a date of its own in the year.
const longestCycle = 3653

// cycles reads a phrase with a "from". No cron expression says it, so the texts of the expressions are words.
func (p phrase) cycles() ([]Expression, error) {
	words, days, err := p.cycleLength()
	if err != nil {
		return nil, err
	}
	from, err := readStart(strings.Join(p.from, " "))
	if err != nil {
		return nil, err
	}
	texts, err := p.daily("* * *", p.refuse("on"))
	if err != nil {
		return nil, err
	}
	expressions := make([]Expression, len(texts))
	for i, text := range texts {
		c, err := Parse(text, "")
		if err != nil {
			return nil, err
		}
		c.cycle = cycle{int64(days), from.Unix() / daySeconds}
		c.text = words + " from " + c.cycle.start() + c.times.atTimes()
		expressions[i] = c
	}
	return expressions, nil
}

// cycleLength reads "2 weeks", "week" or "10 days", and returns it in days and in these words.
func (p phrase) cycleLength() (words string, days int, err error) {
	what := p.what
	n, counted := digits(what[0])
	if counted {
		what = what[1:]
	} else {
		n = 1
	}
	unit := ""
	if len(what) == 1 {
		unit = unitWords()[what[0]]
	}
	if n == 0 {
		return "", 0, neverDue(p.what)
	}
	days = n
	switch unit {
	case "day":
	case "week":
		days = 7 * n
	default:
		return "", 0, notCountedFromDate(p.what, unit)
	}
	if days > longestCycle {
		return "", 0, wrong("%s is longer than ten years", strings.Join(p.what, " ")).
			hint(`write cron: "0 0 1 6 *" for a date in each year`)
	}
	if n > 1 {
		return fmt.Sprintf("%d %ss", n, unit), days, nil
	}
	return unit, days, nil
}

// onDate has, for the units in which a date has its place, the words for that.
var onDate = map[string]string{"month": "month on 5", "quarter": "quarter on 5", "year": "year on 5 January"}

// notCountedFromDate returns the error about "5 minutes from 2026-01-05" and "month from 2026-01-05".
func notCountedFromDate(what []string, unit string) error {
	e := wrong("%q is not counted from a date: only minutes, hours, days and weeks are", strings.Join(what, " "))
	if onDate[unit] != "" {
		return e.hint("write %q", onDate[unit])
	}
	return e.hint(`write "2 weeks from %s" or "10 days from %s"`, exampleDate, exampleDate)
}

// atTimes returns the times of day in words: " at 8:00, 9:00". It is empty for midnight alone, the default. The times are
// those of an expression of daily, which have one minute.
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

// exampleDate is the date of our hints, a Monday.
const exampleDate = "2026-01-05"

// readStart reads the date that days are counted from: 2026-01-05, at midnight UTC.
func readStart(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err == nil {
		return day, nil
	}
	if date, rest, two := strings.Cut(text, " "); two && strings.Contains(rest, ":") {
		if _, err := readStart(date); err == nil {
			return day, wrong("%q is not a date", text).hint(`put "at" before the time`)
		}
	}
	parts := strings.Split(text, "-")
	var numbers [3]int
	for i := range parts {
		n, ok := digits(parts[i])
		if !ok || len(parts) != len(numbers) || len(parts[0]) != 4 {
			return day, wrong("%q is not a date", text).hint("write it as %s: the year, the month, the day", exampleDate)
		}
		numbers[i] = n
	}
	year, month, inMonth := numbers[0], numbers[1], numbers[2]
	if month < 1 || month > 12 {
		return day, wrong("%q is not a date: month %s is not in 1-12", text, parts[1])
	}
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if inMonth < 1 || inMonth > last {
		return day, wrong("%q is not a date: %s %d has %d days", text, time.Month(month), year, last)
	}
	return day, wrong("%q is not a date", text).hint("write %04d-%02d-%02d", year, month, inMonth)
}
