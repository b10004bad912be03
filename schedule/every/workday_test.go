package every_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/cron"
	"sched/schedule/every"
)

// Words for working days, alternate weeks and seconds, with the first times from 4 December 2026.
// The text of an expression is read as the same expression.
func TestWorkingDaysAndAlternateWeeks(t *testing.T) {
	for words, want := range map[string]string{
		"last working day of month at 18:00":                "12-31 18:00, 01-29 18:00",
		"the last business day of every month at 18:00":     "12-31 18:00, 01-29 18:00",
		"month on last workday at 18:00":                    "12-31 18:00, 01-29 18:00",
		"first and last working day of week":                "12-04 00:00, 12-07 00:00",
		"second last working day of quarter at 8:00, 9:30":  "12-30 08:00, 12-30 09:30",
		"first, third working day of year":                  "01-01 00:00, 01-05 00:00",
		"10th working day of month":                         "12-14 00:00, 01-14 00:00",
		"2 working days before last day of month":           "12-29 00:00, 01-28 00:00",
		"1 working day after first working day of month":    "01-04 00:00, 02-02 00:00",
		"5 working days before first day of year at 7:00":   "12-25 07:00, 12-27 07:00",
		"3 working days after last working day of month":    "01-05 00:00, 02-03 00:00",
		"other friday at 17:00 from 2026-12-04":             "12-04 17:00, 12-18 17:00",
		"other friday at 17:00 from 2026-12-01":             "12-04 17:00, 12-18 17:00",
		"2 weeks on monday from 2026-12-01":                 "12-14 00:00, 12-28 00:00",
		"3 weeks on monday, friday at 9:00 from 2026-11-30": "12-04 09:00, 12-21 09:00",
		"90 seconds":              "12-04 00:01, 12-04 00:03",
		"2 weeks from 2026-12-04": "12-18 00:00, 01-01 00:00",
	} {
		crons, err := every.Parse(words)
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		when := cron.When{Crons: crons}
		var got []string
		at := time.Date(2026, 12, 4, 0, 0, 0, 0, time.UTC)
		if strings.Contains(want, "12-04 17") || strings.Contains(want, "12-04 00:00,") {
			at = at.Add(-time.Second)
		}
		for range 2 {
			at, _ = when.Next(at)
			got = append(got, at.Format("01-02 15:04"))
		}
		if said := strings.Join(got, ", "); said != want {
			t.Errorf("%s: %s, want %s", words, said, want)
		}
		for _, c := range crons {
			again, err := every.Parse(c.String())
			if err != nil {
				again = nil
				if c, err := cron.Parse(c.String(), ""); err == nil {
					again = []cron.Expression{c}
				}
			}
			if !slices.Equal(again, []cron.Expression{c}) {
				t.Errorf("%s: %s is read as %v", words, c, again)
			}
		}
	}
	for words, want := range map[string]string{
		"2 weeks on monday":                          `2 weeks cannot be told from the calendar alone`,
		"working day at 8:00":                        `"working day" does not say which working day`,
		"last working day":                           `"last working day" does not say which working day`,
		"last working day of month on monday":        `"on" does not go with "last working day of month"`,
		"last working day of month from 2026-01-05":  `"from" does not go with working days, which the calendar counts`,
		"0 working days after first day of month":    `"0 working days after" is not 1 to 60 working days`,
		"some working days after first day of month": `"some working days after" is not understood`,
		"first, , last working day of month":         `"first , , last working day" has an empty element`,
		"2 working days before second day of month":  `"second day" is no working day of a period`,
	} {
		if _, err := every.Parse(words); err == nil || err.Error() != want {
			t.Errorf("%s: %v", words, err)
		}
	}
}
