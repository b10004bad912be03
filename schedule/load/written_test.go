package load

import (
	"errors"
	"strings"
	"testing"
)

// A key of another scheduler leads to a line with the value that it has, and that line is valid.
func TestAKeyThatSaysWhenLeadsToItsOwnTimes(t *testing.T) {
	for keys, want := range map[string]string{
		"dailyAt: '02:30'":               "every: day at 02:30",
		"daily_at: 2:30":                 "every: day at 2:30",
		"dailyAt: 8pm":                   "every: day at 20:00",
		"hourlyAt: 5":                    "every: hour at :05",
		"hourlyAt: [5, 35]":              "every: hour at :05, :35",
		"twiceDaily: [3, 15]":            "every: day at 3:00, 15:00",
		"weeklyOn: [1, '7:00']":          "every: week on monday at 7:00",
		"monthlyOn: [31, '7:00']":        "every: month on 31 at 7:00",
		"yearlyOn: [2, 3, '7:00']":       "every: year on 3 February at 7:00",
		"lastDayOfMonth: '7:00'":         "every: month on last day at 7:00",
		"daily: 7:15":                    "every: day at 7:15",
		"weekly: tuesday":                "every: week on tuesday",
		"time: 7:15":                     "every: day at 7:15",
		"minutes: 10":                    "every: 10 minutes",
		"minutes: 90":                    "every: 90 minutes from 2026-01-05 06:00",
		"hour: 3":                        "every: day at 3:00",
		"every: weekly\nat: '8:00'":      "every: week at 8:00",
		"every: monday\nat: '8:00'":      "every: monday at 8:00",
		"every: weekdays\ntime: 9am":     "every: weekdays at 9:00",
		"every: monthly\nat: '8:00'":     "every: month at 8:00",
		"every: day\nat: ['8:00', noon]": "every: day at 8:00, 12:00",
		"every: 5 minutes\nat: '8:00'":   "every: day at 8:00",

		// a value that says nothing leaves the example
		"dailyAt: {a: b}": "every: day at 13:00",
		"dailyAt: 99":     "every: day at 13:00",
		"dailyAt: true":   "every: day at 13:00",
		"dailyAt:":        "every: day at 13:00",
	} {
		task := "tasks:\n- name: t\n  command: x\n  "
		_, err := Text([]byte(task+strings.ReplaceAll(keys, "\n", "\n  ")+"\n"), "/srv/schedule.yaml", Options{})
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || !strings.Contains(invalid.Error(), "hint: write `"+want+"`") {
			t.Errorf("%s: want %s\n%v", keys, want, err)
		}
		if _, err := Text([]byte(task+want+"\n"), "/srv/schedule.yaml", Options{}); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}
