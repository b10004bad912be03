package cron

import (
	"fmt"
	"strings"
)

// A countableUnit is one of which the next larger unit holds a whole number.
type countableUnit struct {
	whole   int
	every   string // as cron
	step    string // every n-th, as cron
	larger  string // every whole-th, as cron
	restart string // when a step that does not divide the whole starts anew
}

var countable = map[string]countableUnit{
	"second": {60, "* * * * * *", "*/%d * * * * *", "* * * * *", "at each full minute"},
	"minute": {60, "* * * * *", "*/%d * * * *", "0 * * * *", "at each full hour"},
	"hour":   {24, "0 * * * *", "0 */%d * * *", "0 0 * * *", "at midnight"},
}

// counted reads "5 minutes" and "2 hours at :15".
func (p phrase) counted(n int) ([]string, error) {
	if len(p.what) == 1 {
		return nil, wrong("%q lacks a unit", p.what[0]).hint("write \"%s minutes\", for example", p.what[0])
	}
	switch n {
	case 0:
		return nil, never(p.what)
	case 1:
		p.what = p.what[1:]
		return p.crons()
	}
	if weekdayWords[p.what[1]] != nil {
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
		return p.plain(c.larger)
	}
	return p.plain(fmt.Sprintf(c.step, n))
}

// indivisible explains why "7 minutes" has no cron expression that keeps the promise of its words.
func (c countableUnit) indivisible(n int, unit string) error {
	e := wrong("%d does not divide %d, so %d %ss would not be evenly spaced", n, c.whole, n, unit)
	if n < c.whole {
		return e.hint(`write cron: "%s", which restarts %s`, fmt.Sprintf(c.step, n), c.restart)
	}
	var divisors []int
	for d := 1; d <= c.whole; d++ {
		if c.whole%d == 0 {
			divisors = append(divisors, d)
		}
	}
	return e.hint("the numbers of %ss that do are %s", unit, joinNumbers(divisors))
}

func never(what []string) error {
	return wrong("%q would be never", strings.Join(what, " ")).hint(`write "enabled: false" to switch the task off`)
}

// uncountable explains "2 weeks": the calendar alone does not tell which, and nobody remembers the last one.
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
		e.hint(`write "%s", with a day on which it is due; or cron: "0 0 */%d * *", which restarts at each month`, counted(unit), n)
	case unit == "day" || unit == "week":
		e.hint(`write "%s", with a day on which it is due`, counted(unit))
	case len(weekdayWords[unit]) == 1:
		e.hint(`write "%s", with the date of a %s on which it is due`, counted("week"), unit)
	case unit == "month" && n == 3:
		e.hint("write quarter")
	case unit == "month" && n <= 12:
		e.hint(`write cron: "0 0 1 */%d *", which restarts at each year`, n)
	default:
		e.hint(everyForms)
	}
	return e
}
