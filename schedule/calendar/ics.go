package calendar

import (
	"fmt"
	"strings"
	"time"
)

// lastYear is the last year for which a yearly event is written out.
const lastYear = 2099

// ReadICS calls add for each day of each event of an iCalendar file (RFC 5545), with its name.
// Events are whole days, and may come again each year (RRULE with FREQ=YEARLY). An error is about
// the line that it returns.
func ReadICS(text string, add func(Date, string)) (line int, err error) {
	var e *event
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for n := range lines {
		content := lines[n]
		for i := n + 1; i < len(lines) && strings.HasPrefix(lines[i], " "); i++ {
			content += lines[i][1:] // a line that begins with a space goes on with the line before it
		}
		name, value, _ := strings.Cut(content, ":")
		name, _, _ = strings.Cut(name, ";")
		switch {
		case content == "BEGIN:VEVENT":
			e = &event{}
		case content == "END:VEVENT" && e != nil:
			err, e = e.days(add), nil
		case e != nil:
			err = e.read(name, value)
		}
		if err != nil {
			return n + 1, err
		}
	}
	return 0, nil
}

// An event is a VEVENT while it is read.
type event struct {
	name       string
	start, end time.Time // the first day, and the first day after it; zero: not given
	yearly     bool
	until      time.Time // the last day on which it may come again; zero: no bound
}

func (e *event) read(name, value string) (err error) {
	switch name {
	case "SUMMARY":
		e.name = strings.TrimSpace(strings.ReplaceAll(value, `\`, ""))
	case "DTSTART":
		e.start, err = wholeDay(name, value)
	case "DTEND":
		e.end, err = wholeDay(name, value)
	case "RRULE":
		for part := range strings.SplitSeq(value, ";") {
			key, text, _ := strings.Cut(part, "=")
			switch {
			case part == "FREQ=YEARLY":
				e.yearly = true
			case key == "UNTIL" && len(text) >= 8:
				e.until, err = wholeDay(key, text[:8])
			case part != "INTERVAL=1" && key != "WKST":
				return fmt.Errorf("RRULE:%s is not understood: write FREQ=YEARLY, or an event for each year", value)
			}
		}
	case "RDATE", "EXDATE", "DURATION", "RECURRENCE-ID":
		return fmt.Errorf("%s is not understood: write an event for each year, with DTSTART and DTEND", name)
	}
	return err
}

// wholeDay reads 20270101, or its midnight without a zone.
func wholeDay(name, value string) (time.Time, error) {
	day, err := time.Parse("20060102", strings.TrimSuffix(value, "T000000"))
	if err != nil {
		return day, fmt.Errorf("%s:%s is not a whole day, as in %s;VALUE=DATE:20270101", name, value, name)
	}
	return day, nil
}

// days calls add for each day of the event.
func (e *event) days(add func(Date, string)) error {
	length := max(1, int(e.end.Sub(e.start)/(24*time.Hour)))
	if e.start.IsZero() || length > 366 && !e.end.IsZero() {
		return fmt.Errorf("the event has no DTSTART, or is longer than a year")
	}
	last := e.start.Year()
	if e.yearly {
		last = lastYear
	}
	for year := e.start.Year(); year <= last; year++ {
		day := time.Date(year, e.start.Month(), e.start.Day(), 0, 0, 0, 0, time.UTC)
		if day.Day() != e.start.Day() || !e.until.IsZero() && day.After(e.until) { // 29 February; over
			continue
		}
		for i := range length {
			add(DateOf(day.AddDate(0, 0, i)), e.name)
		}
	}
	return nil
}
