package forecast

import (
	"slices"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
)

// The function minutes and Due give the same answer. The days hold both changes of the clocks.
func TestMinutesAgreeWithDue(t *testing.T) {
	s, err := load.Text([]byte(`
timezone: Europe/Berlin
tasks:
- {name: often, cron: "*/20 */7 * * * *", command: "true"}
- {name: nightly, cron: "30 2 * * *", command: "true"}
- {name: both, cron: ["*/15 2 * * *", "0 12 * * 1"], command: "true"}
- {name: tokyo, every: day at 09:05, timezone: Asia/Tokyo, command: "true"}
- {name: never, cron: "* * * * *", enabled: false, command: "true"}
- {name: hourly, every: hour, command: "true", days: weekdays}
`), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"2026-03-28T20:30:30Z", "2026-10-24T20:30:30Z"} {
		from, _ := time.Parse(time.RFC3339, day)
		to := from.Add(30*time.Hour + 7*time.Minute)
		got := map[time.Time][]schedule.Slot{}
		var order []time.Time
		for minute, due := range minutes(s, from, to) {
			got[minute], order = slices.Clone(due), append(order, minute)
		}
		var want []time.Time
		for minute := from.Truncate(time.Minute); minute.Before(to); minute = minute.Add(time.Minute) {
			due := slices.DeleteFunc(s.Due(minute), func(slot schedule.Slot) bool { return !slot.At.Before(to) })
			if len(due) > 0 {
				want = append(want, minute)
			}
			if !slices.Equal(got[minute], due) {
				t.Errorf("%s: %v, and Due says %v", minute, got[minute], due)
			}
		}
		if !slices.Equal(order, want) {
			t.Errorf("the minutes are %v, not %v", order, want)
		}
	}
}
