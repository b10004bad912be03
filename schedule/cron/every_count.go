package cron

import (
	"fmt"
	"strings"
)

// This file reads "5 minutes" and "2 hours at :15". The number must divide the next larger unit, so
// that the slots are evenly spaced. "2 weeks" needs a date to count from (every_from.go).

// A countableUnit is a unit of which a whole number makes the next larger unit. Its texts are cron
// expressions.
type countableUnit struct {
	whole   int    // how many make the next larger unit
	every   string // each one
	step    string // each n-th one; %d is n
	larger  string // each next larger unit
	restart string // when a step that does not divide whole begins anew, in words
}

// countable are the countable units, by name.
var countable = map[string]countableUnit{
	"second": {60, "* * * * * *", "*/%d * * * * *", "* * * * *", "at each full minute"},
	"minute": {60, "* * * * *", "*/%d * * * *", "0 * * * *", "at each full hour"},
	"hour":   {24, "0 * * * *", "0 */%d * * *", "0 0 * * *", "at midnight"},
}

func (p phrase) counted(n int) ([]string, error) {
	if len(p.what) == 1 {
		return nil, wrong("%q lacks a unit", p.what[0]).SetHint("write \"%s minutes\", for example", p.what[0])
	}
	switch n {
	case 0:
		return nil, neverDue(p.what)
	case 1:
		p.what = p.what[1:]
		return p.crons()
	}
	if weekdayWords()[p.what[1]] != nil {
		return nil, p.uncountable(n, p.what[1])
	}
	unit, err := p.unit(p.what[1:])
	if err != nil {
		return nil, err
	}
	c, ok := countable[unit]
	switch {
	case !ok:
		return nil, p.uncountable(n, unit)
	case c.whole%n != 0:
		return nil, c.indivisible(n, unit)
	case unit == "hour" && n == c.whole:
		return p.hours("0")
	case unit == "hour":
		return p.hours(fmt.Sprintf("*/%d", n))
	case n == c.whole:
		return p.bare(c.larger)
	}
	return p.bare(fmt.Sprintf(c.step, n))
}

// indivisible returns the error about "7 minutes", which no cron expression spaces evenly.
func (c countableUnit) indivisible(n int, unit string) error {
	e := wrong("%d does not divide %d, so %d %ss would not be evenly spaced", n, c.whole, n, unit)
	from := fmt.Sprintf(`"%d %ss from %s 06:00", which counts from then`, n, unit, exampleDate)
	switch {
	case n < c.whole && unit != "second":
		return e.SetHint(`write cron: "%s", which restarts %s; or %s`, fmt.Sprintf(c.step, n), c.restart, from)
	case n < c.whole:
		return e.SetHint(`write cron: "%s", which restarts %s`, fmt.Sprintf(c.step, n), c.restart)
	case unit != "second":
		return e.SetHint("write %s", from)
	}
	var divisors []int
	for d := 1; d <= c.whole; d++ {
		if c.whole%d == 0 {
			divisors = append(divisors, d)
		}
	}
	return e.SetHint("the numbers of %ss that do are %s", unit, joinNumbers(divisors))
}

func neverDue(what []string) error {
	return wrong("%q would be never", strings.Join(what, " ")).SetHint(`write "enabled: false" to switch the task off`)
}

// uncountable returns the error about "2 weeks": an expression cannot say which weeks these are.
func (p phrase) uncountable(n int, unit string) error {
	unit = strings.TrimSuffix(unit, "s")
	counted := func(unit string) string {
		text := fmt.Sprintf("%d %ss from %s", n, unit, exampleDate)
		if p.at != nil {
			text += " at " + strings.ReplaceAll(strings.Join(p.at, " "), " ,", ",")
		}
		return text
	}
	e := wrong("%d %ss cannot be told from the calendar alone", n, unit)
	switch {
	case unit == "day" && n < 31:
		e.SetHint(`write "%s", with a day on which it is due; or cron: "0 0 */%d * *", which restarts at each month`, counted(unit), n)
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
