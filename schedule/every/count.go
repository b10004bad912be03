package every

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule/cron"
	"sched/schedule/humanize"
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

// indivisibleError returns the error about "7 minutes", which no cron expression spaces evenly.
func (c countableUnit) indivisibleError(n int, unit string) error {
	e := cron.NewError("%d does not divide %d, so %d %ss would not be evenly spaced", n, c.perLarger, n, unit)
	if unit == "second" {
		return secondsError(n, c, e)
	}
	from := fmt.Sprintf(`"%d %ss from %s 06:00", which counts from then`, n, unit, exampleDate)
	if n < c.perLarger {
		return e.SetHint(`write cron: "%s", which restarts %s; or %s`, fmt.Sprintf(c.step, n), c.restart, from)
	}
	return e.SetHint("write %s", from)
}

// secondsError adds to the error about "7 seconds" how to write them.
func secondsError(n int, c countableUnit, e *cron.Error) error {
	if n < c.perLarger {
		return e.SetHint(`write cron: "%s", which restarts %s`, fmt.Sprintf(c.step, n), c.restart)
	}
	var divisors []int
	for d := 1; d <= c.perLarger; d++ {
		if c.perLarger%d == 0 {
			divisors = append(divisors, d)
		}
	}
	return e.SetHint("the numbers of seconds that do are %s", joinNumbers(divisors))
}

// evenSeconds returns cron expressions that are due together every n seconds. It returns nil if the
// seconds are the same ones again only after a time that does not divide an hour.
func evenSeconds(n int) (crons []string) {
	cycle := 1 // in minutes
	for cycle*60%n != 0 && cycle <= 60 {
		cycle++
	}
	if 60%cycle != 0 {
		return nil
	}
	for minute := range cycle {
		var seconds []int
		for second := range 60 {
			if (minute*60+second)%n == 0 {
				seconds = append(seconds, second)
			}
		}
		if len(seconds) == 0 {
			continue
		}
		minutes := fmt.Sprintf("%d-59/%d", minute, cycle)
		if minute == 0 {
			minutes = fmt.Sprintf("*/%d", cycle)
		}
		crons = append(crons, fmt.Sprintf("%s %s * * * *", joinNumbers(seconds), minutes))
	}
	return crons
}

// neverDueError returns the error about a period of length 0.
func neverDueError(period []string) error {
	e := cron.NewError("%q would be never", strings.Join(period, " "))
	return e.SetHint(`write "enabled: false" to switch the task off`)
}

// The functions from here on read phrases that count from a date: "2 weeks from 2026-01-05 at
// 8:00", "90 minutes from 2026-01-05 06:00".

// maxCycle is ten years, in days. A rarer task has a date of its own in the year.
const maxCycle = 3653

// onDate has the words for a date in a unit that has dates.
var onDate = map[string]string{"month": "month on 5", "quarter": "quarter on 5", "year": "year on 5 January"}

// exampleDate is a Monday, for hints.
const exampleDate = "2026-01-05"

// exampleOf returns a date for hints that is a weekday, by cron's number: 0 is Sunday.
func exampleOf(weekday int) string {
	monday, _ := time.Parse(time.DateOnly, exampleDate)
	return monday.AddDate(0, 0, (weekday+6)%7).Format(time.DateOnly)
}

// readStart reads the date that days are counted from: 2026-01-05, at midnight UTC.
func readStart(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err == nil {
		return day, nil
	}
	if date, clock, hasSpace := strings.Cut(text, " "); hasSpace && strings.Contains(clock, ":") {
		if _, err := readStart(date); err == nil {
			return day, cron.NewError("%q is not a date", text).SetHint(`put "at" before the time`)
		}
	}
	return day, notADateError(text)
}

// notADateError returns the error about a text that is not a date, with what is wrong in it.
func notADateError(text string) error {
	e := cron.NewError("%q is not a date", text)
	const hint = "write it as %s: the year, the month, the day"
	parts := strings.Split(text, "-")
	var numbers [3]int
	if len(parts) != len(numbers) || len(parts[0]) != 4 {
		return e.SetHint(hint, exampleDate)
	}
	for i, part := range parts {
		var ok bool
		if numbers[i], ok = humanize.Digits(part); !ok {
			return e.SetHint(hint, exampleDate)
		}
	}
	year, month, inMonth := numbers[0], numbers[1], numbers[2]
	if month < 1 || month > 12 {
		return cron.NewError("%q is not a date: month %s is not in 1-12", text, parts[1])
	}
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if inMonth < 1 || inMonth > last {
		return cron.NewError("%q is not a date: %s %d has %d days", text, time.Month(month), year, last)
	}
	return e.SetHint("write %04d-%02d-%02d", year, month, inMonth)
}
