package values

import (
	"strconv"
	"strings"
	"time"

	"sched/schedule"
)

// ParseDate reads 2026-12-25 or 12-25. Whether there is such a day is left to Exists.
func ParseDate(text string) (schedule.Date, bool) {
	var d schedule.Date
	parts := strings.Split(text, "-")
	if len(parts) == 3 && len(parts[0]) == 4 {
		year, err := strconv.ParseUint(parts[0], 10, 16)
		if err != nil || year == 0 {
			return d, false
		}
		d.Year, parts = int(year), parts[1:]
	}
	if len(parts) != 2 || len(parts[0]) != 2 || len(parts[1]) != 2 {
		return d, false
	}
	month, err1 := strconv.ParseUint(parts[0], 10, 8)
	day, err2 := strconv.ParseUint(parts[1], 10, 8)
	d.Month, d.Day = time.Month(month), int(day)
	return d, err1 == nil && err2 == nil
}

// Exists reports whether the calendar has the day. February 29 of every year (Year 0) exists: there are leap years.
func Exists(d schedule.Date) bool {
	year, month, day := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Date()
	return schedule.Date{Year: year, Month: month, Day: day} == d
}
