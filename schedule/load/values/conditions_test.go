package values

import (
	"testing"

	"sched/schedule"
)

func TestDays(t *testing.T) {
	for text, want := range map[string]schedule.Days{
		"weekdays": schedule.Weekdays, "Weekend": schedule.Weekends, "sunday": 1, "SUN": 1, "sundays": 1, "0": 1, "7": 1, "6": 1 << 6, "wed": 1 << 3,
		"8": 0, "": 0, "tues": 0, "01": 0, "day": 0,
	} {
		if got := daysOf(text); got != want {
			t.Errorf("%q is %07b, want %07b", text, got, want)
		}
	}
}
