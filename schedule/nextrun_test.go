package schedule_test

import (
	"testing"
	"time"

	"sched/schedule/load"
)

const conditional = `
timezone: America/Santiago
holidays: [2026-01-01, 2026-01-02]
tasks:
  - {name: weekday, every: hour, days: weekdays, command: "true"}
  - {name: window, cron: "*/7 * * * *", between: ["8:03", "8:30"], command: "true"}
  - {name: not-window, every: minute, unless_between: ["0:00", "23:57"], command: "true"}
  - {name: night, cron: "*/20 * * * *", between: ["23:00", "1:00"], days: [sunday], command: "true"}
  - {name: second, every: 10 seconds, days: [monday], between: ["10:00", "10:00"], command: "true"}
  - {name: holiday, every: day at 9:00, except: holidays, command: "true"}
  - {name: never, every: day at 9:00, between: ["10:00", "11:00"], command: "true"}
`

// The next run is the first of the next slots that meets the conditions, also in a zone whose
// clocks skip midnight, as in Santiago.
func TestTheNextRunIsTheFirstSlotThatMeetsItsConditions(t *testing.T) {
	s, err := load.Text([]byte(conditional), "/s/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"2025-12-31T12:00:00Z", "2026-01-03T03:10:30Z", "2026-09-05T23:59:00Z",
		"2026-09-06T03:59:59Z", "2026-04-05T02:30:00Z"} {
		at, err := time.Parse(time.RFC3339, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range s.Tasks {
			want, found := at, false
			for range 70_000 { // a week of every 10 seconds
				if want, found = task.When.Next(want); !found || task.UnmetCondition(want) == "" {
					break
				}
				found = false
			}
			got, ok := task.NextRun(at)
			if ok != found || ok && !got.Equal(want) {
				t.Errorf("%s after %s: %s %t, not %s %t", task.Name, from, got, ok, want, found)
			}
		}
	}
}

func TestConditionsInWords(t *testing.T) {
	s, err := load.Text([]byte(`
holidays: [12-25]
tasks:
  - {name: all, every: hour, days: weekdays, between: ["8:00", "17:00"], unless_between: ["12:00", "13:00"], except: holidays, command: "true"}
  - {name: days, every: hour, days: [sunday, tue], command: "true"}
  - {name: none, every: hour, command: "true"}
`), "/s/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"weekdays, 8:00-17:00, not 12:00-13:00, not on holidays", "Tue Sun", ""} {
		if got := s.Tasks[i].Conditions.String(); got != want {
			t.Errorf("%s: %q, not %q", s.Tasks[i].Name, got, want)
		}
	}
}
