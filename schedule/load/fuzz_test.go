package load

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// dump returns everything that a schedule makes of its text, except the places.
func dump(s *schedule.Schedule) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Name, s.Location, s.Environment, s.StateDir, s.History, s.Holidays, s.Maintenance)
	for _, t := range s.Tasks {
		snapshot, err := json.Marshal(t)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%s %q %q %s %v %q %v %q %v\n", snapshot, t.When.Crons, t.When.Every, t.When.Location,
			t.Enabled, t.Environments, t.Conditions, t.ConditionCommands, t.EvenInMaintenance)
	}
	return b.String()
}

// FuzzLoad: whatever the text is, there is either a schedule, which its archive makes again, or a
// problem with a place.
func FuzzLoad(f *testing.F) {
	for _, m := range mistakes {
		f.Add([]byte(m.yaml))
	}
	f.Add([]byte("a: &a {b: c}\nenv: {<<: *a, x: \"\\u2028\\x7f\\U0001F600\", y: 2001-12-14 21:59:43.10 -5, z: .5}\ntasks: []\n"))
	f.Add([]byte("tasks:\n- group: g\n  every: hour\n  tasks:\n  - &t {name: a, command: |\n    x\n    }\n"))
	f.Add([]byte("tasks:\n- name: a\n  every: hour\n  command: >-\n   a\n   b\n\n   c: d\n  output: ${X:-a}$${b}\n  between: [8:00, 9:00]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Text(data, "/srv/shop/schedule.yaml", testOptions())
		if err == nil {
			sameFromArchive(t, s)
			return
		}
		problems := err.(*InvalidError).Problems
		if len(problems) == 0 {
			t.Fatal("invalid, and no problem")
		}
		for i, p := range problems {
			if i < yamldoc.MaxProblems && (p.Place.Line < 1 || p.Place.Column < 1) || p.Text == "" {
				t.Errorf("a problem without a place or a text: %+v", p)
			}
		}
	})
}
