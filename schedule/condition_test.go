package schedule_test

import (
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/load"
)

func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return t
}

// parsed is the schedule of a text that is valid.
func parsed(t *testing.T, yaml string) *schedule.Schedule {
	t.Helper()
	s, err := load.Text([]byte(yaml), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFirstUnmet(t *testing.T) {
	office := schedule.Conditions{Between: []schedule.Window{{From: 8 * 60, To: 17 * 60}}}
	night := schedule.Conditions{UnlessBetween: []schedule.Window{{From: 22 * 60, To: 6 * 60}}}
	split := schedule.Conditions{Between: []schedule.Window{{From: 8 * 60, To: 12 * 60}, {From: 14 * 60, To: 24 * 60}}}
	working := schedule.Conditions{Days: calendar.Weekdays, Between: office.Between}
	for _, row := range []struct {
		name       string
		conditions schedule.Conditions
		at, want   string // 2024-06-01 was a Saturday
	}{
		{"no condition is always met", schedule.Conditions{}, "2024-06-01 00:00:00", ""},

		{"the first minute is inside", office, "2024-06-01 08:00:00", ""},
		{"the last minute is inside to its end", office, "2024-06-01 17:00:59", ""},
		{"the minute before is outside", office, "2024-06-01 07:59:59", "outside 8:00-17:00"},
		{"the minute after is outside", office, "2024-06-01 17:01:00", "outside 8:00-17:00"},

		{"a window that wraps holds the evening", night, "2024-06-01 22:00:00", "inside 22:00-6:00"},
		{"and midnight", night, "2024-06-01 00:00:00", "inside 22:00-6:00"},
		{"and its last minute", night, "2024-06-01 06:00:00", "inside 22:00-6:00"},
		{"but not the day", night, "2024-06-01 06:01:00", ""},

		{"the first of two windows", split, "2024-06-01 09:00:00", ""},
		{"between two windows", split, "2024-06-01 13:00:00", "outside 8:00-12:00 and 14:00-24:00"},
		{"24:00 is the end of the day", split, "2024-06-01 23:59:59", ""},
		{"and not the start of it", split, "2024-06-01 00:00:00", "outside 8:00-12:00 and 14:00-24:00"},

		{"the day comes before the time", working, "2024-06-02 09:00:00", "not on Sunday"},
		{"a weekday", working, "2024-06-03 09:00:00", ""},
		{"a weekday, too early", working, "2024-06-03 07:00:00", "outside 8:00-17:00"},
	} {
		if got := row.conditions.FirstUnmet(at(row.at)); got != row.want {
			t.Errorf("%s: at %s it is %q, want %q", row.name, row.at, got, row.want)
		}
	}
}

func TestActive(t *testing.T) {
	s := parsed(t, `environment: staging
tasks:
- {name: a, every: minute, command: x}
- {name: b, every: minute, command: x, enabled: false}
- {name: c, every: minute, command: x, environments: production}
- {name: d, every: minute, command: x, environments: [production, staging]}
`)
	want := map[string]bool{"a": true, "d": true}
	for _, task := range s.Tasks {
		if s.Active(task) != want[task.Name] {
			t.Errorf("%s is active: %v", task.Name, s.Active(task))
		}
	}
}

func TestDueIsInTheOrderOfInstantsThenOfTheFile(t *testing.T) {
	s := parsed(t, `
timezone: Asia/Tokyo
tasks:
- {name: half, cron: "*/30 * * * * *", command: x}
- {name: off, cron: "* * * * *", command: x, enabled: false}
- {name: minute, cron: "* * * * *", command: x, days: sunday}
- {name: nine, cron: "0 9 * * *", command: x}
`)
	if len(s.Tasks[0].When.Slots(at("2024-06-01 00:00:00"))) == 0 {
		t.Skip("no time is ever due yet")
	}
	var got string
	for _, slot := range s.Due(at("2024-06-01 00:00:42").In(time.FixedZone("", 5*3600))) {
		got += slot.Task.Name + slot.At.Format(" 15:04:05 MST, ")
	}
	if want := "half 00:00:00 UTC, minute 00:00:00 UTC, nine 00:00:00 UTC, half 00:00:30 UTC, "; got != want {
		t.Errorf("due are %s\nwant     %s", got, want)
	}
}

func TestAllows(t *testing.T) {
	for _, row := range []struct {
		key              string
		code             int
		allows, answered bool
	}{
		{"when", 0, true, true}, {"when", 1, false, true}, {"when", 125, false, true},
		{"skip", 0, false, true}, {"skip", 1, true, true}, {"skip", 125, true, true},
		{"when", 126, false, false}, {"when", 127, false, false}, {"skip", 137, false, false},
		{"skip", 255, false, false},
	} {
		if allows, answered := (schedule.ConditionCommand{Key: row.key}).Allows(row.code); allows != row.allows ||
			answered != row.answered {
			t.Errorf("%s with %d: allows %v, answered %v", row.key, row.code, allows, answered)
		}
	}
}
