package calendar_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sched/schedule/calendar"
)

func TestReadICS(t *testing.T) {
	event := func(lines ...string) string {
		return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") +
			"\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	}
	for _, row := range []struct {
		text, want string
		line       int
	}{
		{event("DTSTART;VALUE=DATE:20270101", `SUMMARY:New Year\, Da`, " y"), "2027-01-01 New Year, Day", 0},
		{event("DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261227"), "2026-12-25 2026-12-26", 0},
		{event("DTSTART:20261225T000000", "DTEND:20261226T000000"), "2026-12-25", 0},
		{event("DTSTART;VALUE=DATE:20240229", "RRULE:FREQ=YEARLY;UNTIL=20330101T000000Z"), "2024-02-29 2028-02-29 2032-02-29", 0},
		{event("DTSTART;VALUE=DATE:20970501", "RRULE:FREQ=YEARLY"), "2097-05-01 2098-05-01 2099-05-01", 0},
		{event("DTSTART:20261225T080000Z"), "DTSTART:20261225T080000Z is not a whole day, as in DTSTART;VALUE=DATE:20270101", 4},
		{event("DTSTART;VALUE=DATE:20261225", "RRULE:FREQ=YEARLY;BYDAY=4TH"),
			"RRULE:FREQ=YEARLY;BYDAY=4TH is not understood: write FREQ=YEARLY, or an event for each year", 5},
		{event("DTSTART;VALUE=DATE:20261225", "EXDATE:20271225"),
			"EXDATE is not understood: write an event for each year, with DTSTART and DTEND", 5},
		{event("SUMMARY:nothing"), "the event has no DTSTART, or is longer than a year", 5},
		{"BEGIN:VCALENDAR\nDTSTART:this is no event\nEND:VCALENDAR\n", "", 0},
	} {
		var got []string
		line, err := calendar.ReadICS(row.text, func(d calendar.Date, name string) {
			got = append(got, strings.TrimSpace(d.String()+" "+name))
		})
		if err != nil {
			got = []string{fmt.Sprint(err)}
		}
		slices.Sort(got)
		if said := strings.Join(got, " "); said != row.want || line != row.line {
			t.Errorf("%s: %s, line %d", row.text, said, line)
		}
	}
}
