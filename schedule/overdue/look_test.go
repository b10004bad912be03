package overdue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// The task report is to succeed every hour, and to run for ten minutes at most.
func TestWhatALookFinds(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	row := func(id string, minutes int) state.Row {
		return state.Row{ID: id, Task: "report", Started: ago(minutes)}
	}
	reported := func(id string) Incident { return Incident{ID: id, Kind: Within, Reported: true} }
	open := Incident{ID: "open", Kind: Every, Since: ago(90), Expected: time.Hour}
	for _, test := range []struct {
		name       string
		before     entry
		live       []state.Row
		succeeded  int64 // how many runs, the last one a minute ago
		elsewhere  time.Time
		unknown    error
		began      []Kind
		unreported int
		after      []string // the ids of incidents; new for one of Every that began
	}{
		{name: "a success an hour ago", before: entry{Since: ago(60)}},
		{name: "no success for longer", before: entry{Since: ago(61)},
			began: []Kind{Every}, unreported: 1, after: []string{"new"}},
		{name: "a new success here", before: entry{Since: ago(61)}, succeeded: 1},
		{name: "a new success elsewhere", before: entry{Since: ago(61)}, elsewhere: ago(5)},
		{name: "an old success elsewhere", before: entry{Since: ago(61)}, elsewhere: ago(65),
			began: []Kind{Every}, unreported: 1, after: []string{"new"}},
		{name: "a store that is down", before: entry{Since: ago(61)}, unknown: errors.New("down")},
		{name: "an incident that goes on while the store is down", unknown: errors.New("down"),
			before: entry{Since: ago(90), Incidents: []Incident{open}}, unreported: 1, after: []string{"open"}},
		{name: "an incident that is over and that nobody has reported", succeeded: 1,
			before: entry{Since: ago(90), Incidents: []Incident{open}}, unreported: 1, after: []string{"open"}},
		{name: "a run of ten minutes", before: entry{Since: now}, live: []state.Row{row("a", 10)}},
		{name: "runs that take longer", before: entry{Since: now, Incidents: []Incident{reported("a")}},
			live:  []state.Row{row("a", 30), row("b", 11), {ID: "queued", Task: "report"}},
			began: []Kind{Within}, unreported: 1, after: []string{"a", "b"}},
		{name: "a reported run that has ended", before: entry{Since: now, Incidents: []Incident{reported("a")}}},
	} {
		task := &schedule.Task{Name: "report", Expect: schedule.Expect{Every: time.Hour, Within: 10 * time.Minute}}
		m := &memory{Tasks: map[string]*entry{"report": &test.before, "another": {}}}
		total := past.Total{Outcome: outcome.Succeeded, Slots: test.succeeded, Ended: ago(1)}
		began, unreported := m.look(sight{
			now:       reading{time: now},
			tasks:     []*schedule.Task{task},
			live:      test.live,
			totals:    map[string][]past.Total{"report": {total}},
			elsewhere: map[string]time.Time{"report": test.elsewhere},
			unknown:   map[string]error{"report": test.unknown},
		})
		var kinds []Kind
		for _, i := range began {
			kinds = append(kinds, i.Kind)
		}
		var after []string
		for _, i := range m.Tasks["report"].Incidents {
			if len(began) == 1 && i.Kind == Every && i.ID == began[0].ID {
				i.ID = "new"
			}
			after = append(after, i.ID)
		}
		if !slices.Equal(kinds, test.began) || len(unreported) != test.unreported || !slices.Equal(after, test.after) {
			t.Errorf("%s: %v began, %d are unreported, the memory has %v", test.name, kinds, len(unreported), after)
		}
		if len(m.Tasks) != 1 {
			t.Errorf("%s: the memory has a task without `expect`", test.name)
		}
	}
}
