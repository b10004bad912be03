package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Date is a day of one year, or of every year if Year is 0.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

func dateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// String returns the date as 2026-12-25, or 12-25 for every year.
func (d Date) String() string {
	if d.Year == 0 {
		return fmt.Sprintf("%02d-%02d", d.Month, d.Day)
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// Compare orders dates: it is negative if d comes before e. Dates of every year come first.
func (d Date) Compare(e Date) int {
	return (d.Year-e.Year)*1000 + int(d.Month-e.Month)*40 + d.Day - e.Day
}

// Holidays are days with their names, which may be empty. Nil is a schedule that has none.
type Holidays map[Date]string

// On returns the date and name of the holiday on which at falls, or "". A date with a year wins.
func (h Holidays) On(at time.Time) string {
	day := dateOf(at)
	name, is := h[day]
	if every, yearly := h[Date{0, day.Month, day.Day}]; name == "" && yearly {
		name, is = every, true
	}
	if !is {
		return ""
	}
	return strings.TrimSpace(day.String() + " " + name)
}

// OutOfDate warns when the newest holiday has passed at now and a task depends on them. Holidays of
// every year never pass.
func (s *Schedule) OutOfDate(now time.Time) []Problem {
	used := slices.ContainsFunc(s.Tasks, func(t *Task) bool { return len(t.Conditions.Holidays) > 0 })
	if newest := s.NewestHoliday; used && newest.Year > 0 && newest.Compare(dateOf(now.In(s.Location))) < 0 {
		return []Problem{{
			Place: s.NewestHolidayAt,
			Text:  fmt.Sprintf("the newest of the holidays, %s, has passed", newest),
			Hint:  "add those of the time to come, or write a day of every year as 12-25",
		}}
	}
	return nil
}
