package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file reads "5 minutes" and "2 hours at :15". The number must divide the next larger unit, so
// that the slots are evenly spaced. "2 weeks" needs a date to count from: the second half of the
// file reads such phrases.

// A countableUnit is a unit that fits into the next larger unit a whole number of times. Its texts
// are cron expressions.
type countableUnit struct {
	perLarger int    // how many make the next larger unit
	every     string // each one
	step      string // each n-th one; %d is n
	larger    string // each next larger unit
	restart   string // when a step that does not divide perLarger begins anew, in words
}

var countable = map[string]countableUnit{
	"second": {
		perLarger: 60, every: "* * * * * *", step: "*/%d * * * * *", larger: "* * * * *",
		restart: "at each full minute",
	},
	"minute": {
		perLarger: 60, every: "* * * * *", step: "*/%d * * * *", larger: "0 * * * *", restart: "at each full hour",
	},
	"hour": {perLarger: 24, every: "0 * * * *", step: "0 */%d * * *", larger: "0 0 * * *", restart: "at midnight"},
}

// counted returns the cron expressions of "5 minutes" and "2 hours at :15". n is the number that
// the period begins with.
func (p phrase) counted(n int) ([]string, error) {
	if len(p.period) == 1 {
		return nil, newError("%q lacks a unit", p.period[0]).SetHint("write \"%s minutes\", for example", p.period[0])
	}
	switch n {
	case 0:
		return nil, neverDueError(p.period)
	case 1:
		p.period = p.period[1:]
		return p.crons()
	}
	if isWeekday(p.period[1]) {
		return nil, p.uncountableError(n, p.period[1])
	}
	unit, err := p.unit(p.period[1:])
	if err != nil {
		return nil, err
	}
	c, ok := countable[unit]
	switch {
	case !ok:
		return nil, p.uncountableError(n, unit)
	case c.perLarger%n != 0:
		return nil, c.indivisibleError(n, unit)
	case unit == "hour" && n == c.perLarger:
		return p.hours("0")
	case unit == "hour":
		return p.hours(fmt.Sprintf("*/%d", n))
	case n == c.perLarger:
		return p.bare(c.larger)
	}
	return p.bare(fmt.Sprintf(c.step, n))
}

// indivisibleError returns the error about "7 minutes", which no cron expression spaces evenly.
func (c countableUnit) indivisibleError(n int, unit string) error {
	e := newError("%d does not divide %d, so %d %ss would not be evenly spaced", n, c.perLarger, n, unit)
	from := fmt.Sprintf(`"%d %ss from %s 06:00", which counts from then`, n, unit, exampleDate)
	switch {
	case n < c.perLarger && unit != "second":
		return e.SetHint(`write cron: "%s", which restarts %s; or %s`, fmt.Sprintf(c.step, n), c.restart, from)
	case n < c.perLarger:
		return e.SetHint(`write cron: "%s", which restarts %s`, fmt.Sprintf(c.step, n), c.restart)
	case unit != "second":
		return e.SetHint("write %s", from)
	}
	var divisors []int
	for d := 1; d <= c.perLarger; d++ {
		if c.perLarger%d == 0 {
			divisors = append(divisors, d)
		}
	}
	return e.SetHint("the numbers of %ss that do are %s", unit, joinNumbers(divisors))
}

// neverDueError returns the error about a period of length 0.
func neverDueError(period []string) error {
	e := newError("%q would be never", strings.Join(period, " "))
	return e.SetHint(`write "enabled: false" to switch the task off`)
}

// uncountableError returns the error about "2 weeks": an expression cannot say which weeks these
// are.
func (p phrase) uncountableError(n int, unit string) error {
	unit = strings.TrimSuffix(unit, "s")
	counted := func(unit string) string {
		text := fmt.Sprintf("%d %ss from %s", n, unit, exampleDate)
		if p.at != nil {
			text += " at " + strings.ReplaceAll(strings.Join(p.at, " "), " ,", ",")
		}
		return text
	}
	e := newError("%d %ss cannot be told from the calendar alone", n, unit)
	switch {
	case unit == "day" && n < 31:
		e.SetHint(`write "%s", with a day on which it is due; or cron: "0 0 */%d * *", which restarts at each month`,
			counted(unit), n)
	case unit == "day" || unit == "week":
		e.SetHint(`write "%s", with a day on which it is due`, counted(unit))
	case len(weekdayWords()[unit]) == 1:
		e.SetHint(`write "%s", with the date of a %s on which it is due`, counted("week"), unit)
	case unit == "month" && n == 3:
		e.SetHint("write quarter")
	case unit == "month" && n <= 12:
		e.SetHint(`write cron: "0 0 1 */%d *", which restarts at each year`, n)
	default:
		e.SetHint(everyForms)
	}
	return e
}

// The functions from here on read phrases that count from a date: "2 weeks from 2026-01-05 at
// 8:00", "90 minutes from 2026-01-05 06:00".

// maxCycle is ten years, in days. A rarer task has a date of its own in the year.
const maxCycle = 3653

// cycle reads a phrase with a "from" that counts days or weeks.
func (p phrase) cycle() (f frequency, err error) {
	if f.words, f.days, err = p.cycleLength(); err != nil {
		return frequency{}, err
	}
	if f.from, err = readStart(strings.Join(p.from, " ")); err != nil {
		return frequency{}, err
	}
	f.crons, err = p.everyDay()
	return f, err
}

// cycleLength reads "2 weeks", "week" or "10 days", and returns it in days and in these words.
func (p phrase) cycleLength() (words string, days int, err error) {
	n, unit := p.multiple()
	if n == 0 {
		return "", 0, neverDueError(p.period)
	}
	days = n
	switch unit {
	case "day": // n is the number of days
	case "week":
		days = 7 * n
	default:
		return "", 0, notCountedFromDateError(p.period, unit)
	}
	if days > maxCycle {
		return "", 0, newError("%s is longer than ten years", strings.Join(p.period, " ")).
			SetHint(`write cron: "0 0 1 6 *" for a date in each year`)
	}
	if n > 1 {
		return fmt.Sprintf("%d %ss", n, unit), days, nil
	}
	return unit, days, nil
}

// multiple reads "2 weeks" or "week" as a number of units. For other words the unit is empty.
func (p phrase) multiple() (n int, unit string) {
	words := p.period
	n, counted := digits(words[0])
	if counted {
		words = words[1:]
	} else {
		n = 1
	}
	if len(words) == 1 {
		unit = unitWords()[words[0]]
	}
	return n, unit
}

// onDate has the words for a date in a unit that has dates.
var onDate = map[string]string{"month": "month on 5", "quarter": "quarter on 5", "year": "year on 5 January"}

// notCountedFromDateError returns the error about "5 minutes from 2026-01-05" and "month from
// 2026-01-05".
func notCountedFromDateError(period []string, unit string) error {
	if last := period[len(period)-1]; len(period) == 2 && unit == "" && !isWeekday(last) {
		return unknownWordError(last)
	}
	e := newError("%q is not counted from a date: only minutes, hours, days and weeks are", strings.Join(period, " "))
	if onDate[unit] != "" {
		return e.SetHint("write %q", onDate[unit])
	}
	return e.SetHint(`write "2 weeks from %s" or "10 days from %s"`, exampleDate, exampleDate)
}

// exampleDate is a Monday, for hints.
const exampleDate = "2026-01-05"

// readStart reads the date that days are counted from: 2026-01-05, at midnight UTC.
func readStart(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err == nil {
		return day, nil
	}
	if date, clock, hasSpace := strings.Cut(text, " "); hasSpace && strings.Contains(clock, ":") {
		if _, err := readStart(date); err == nil {
			return day, newError("%q is not a date", text).SetHint(`put "at" before the time`)
		}
	}
	return day, notADateError(text)
}

// notADateError returns the error about a text that is not a date, with what is wrong in it.
func notADateError(text string) error {
	e := newError("%q is not a date", text)
	const hint = "write it as %s: the year, the month, the day"
	parts := strings.Split(text, "-")
	var numbers [3]int
	if len(parts) != len(numbers) || len(parts[0]) != 4 {
		return e.SetHint(hint, exampleDate)
	}
	for i, part := range parts {
		var ok bool
		if numbers[i], ok = digits(part); !ok {
			return e.SetHint(hint, exampleDate)
		}
	}
	year, month, inMonth := numbers[0], numbers[1], numbers[2]
	if month < 1 || month > 12 {
		return newError("%q is not a date: month %s is not in 1-12", text, parts[1])
	}
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if inMonth < 1 || inMonth > last {
		return newError("%q is not a date: %s %d has %d days", text, time.Month(month), year, last)
	}
	return e.SetHint("write %04d-%02d-%02d", year, month, inMonth)
}

// interval reads a phrase that counts minutes or hours from an instant. It reports false for a
// phrase that counts something else.
func (p phrase) interval() (f frequency, ok bool, err error) {
	n, unit := p.multiple()
	size := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}[unit]
	switch {
	case size == 0:
		return f, false, nil
	case n == 0:
		return f, true, neverDueError(p.period)
	case n > int(maxCycle*24*time.Hour/size):
		return f, true, newError("%s is longer than ten years", strings.Join(p.period, " "))
	}
	f.interval = time.Duration(n) * size
	f.from, err = p.instant()
	return f, true, err
}

// instant reads the date and the time from which an interval is counted: 2026-01-05 06:00. Without
// a time it is midnight.
func (p phrase) instant() (time.Time, error) {
	if err := p.refuse("on"); err != nil {
		return time.Time{}, err
	}
	words := slices.Concat(p.from, p.at)
	day, err := readStart(words[0])
	if err != nil {
		return time.Time{}, err
	}
	switch {
	case len(words) == 1:
		return day, nil
	case len(words) > 2:
		e := newError("%q is not one date and one time", strings.Join(words, " "))
		return time.Time{}, e.SetHint("write %s 06:00", exampleDate)
	}
	clock, err := time.Parse("15:04", words[1])
	if err != nil {
		return time.Time{}, newError("%q is not a time of the day", words[1]).SetHint("write %s 06:00", words[0])
	}
	return day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute), nil
}
