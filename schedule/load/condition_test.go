package load

import (
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/calendar"
)

// Labels and the name of the machine are looked up only if a task asks for them.
func TestServers(t *testing.T) {
	asked := ""
	load := func(text string) *schedule.Schedule {
		asked = ""
		s, err := Text([]byte(text), "/srv/shop/schedule.yaml", Options{
			Server: func(string) string { asked += "name "; return "web-2" },
			Labels: func() ([]string, string) { asked += "labels"; return []string{"role=db"}, "" },
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if load("tasks: [{name: a, every: minute, command: x}]"); asked != "" {
		t.Errorf("a schedule without servers asks for %s", asked)
	}
	if load("tasks: [{name: a, every: minute, command: x, servers: web-1}]"); asked != "name " {
		t.Errorf("a schedule without labels asks for %s", asked)
	}
	s := load(`defaults: {servers: web-1}
tasks:
- {name: inherited, every: minute, command: x}
- {name: freed, every: minute, command: x, servers: false}
- {name: replaced, every: minute, command: x, servers: [a, 'role=d?']}
- {name: off, every: minute, command: x, enabled: false, servers: web-2}
- group: named
  servers: web-*
  tasks: [{name: of-group, every: minute, command: x}]
`)
	want := map[string]string{"inherited": "not for this server: servers is web-1, and this is web-2 (labels: role=db)",
		"off": "switched off"}
	for _, task := range s.Tasks {
		if s.Inactive(task) != want[task.Name] || s.Active(task) != (want[task.Name] == "") {
			t.Errorf("%s: active %v, %q", task.Name, s.Active(task), s.Inactive(task))
		}
	}
}

func TestConditionCommands(t *testing.T) {
	s := parseTest(t, `
defaults: {when: default, shell: [/bin/bash, -c]}
tasks:
- {name: inherited, every: hour, command: x}
- {name: own, every: hour, command: x, skip: [pgrep, x], when: 'true', shell: [sh, -c]}
- {name: none, every: hour, command: x, when: []}
- group: g
  skip: group
  tasks:
  - {name: both, every: hour, command: x}
  - {name: one, every: hour, command: x, skip: [], when: own}
`)
	want := []string{"when bash default", "when sh true; skip pgrep x", "",
		"when bash default; skip bash group", "when bash own"}
	for i, task := range s.Tasks {
		var texts []string
		for _, c := range task.ConditionCommands {
			argv := strings.Join(c.Command.Argv(), " ")
			texts = append(texts, c.Key+" "+strings.TrimPrefix(strings.Replace(argv, " -c ", " ", 1), "/bin/"))
		}
		if got := strings.Join(texts, "; "); got != want[i] {
			t.Errorf("%s has %q, want %q", task.Name, got, want[i])
		}
	}
}

func TestDays(t *testing.T) {
	for text, want := range map[string]schedule.Days{
		"weekdays": calendar.Weekdays, "Weekend": calendar.Weekends, "sunday": 1, "SUN": 1, "sundays": 1, "0": 1,
		"7": 1, "6": 1 << 6, "wed": 1 << 3,
		"8": 0, "": 0, "tues": 0, "01": 0, "day": 0,
	} {
		if got := daysOf(text); got != want {
			t.Errorf("%q is %07b, want %07b", text, got, want)
		}
	}
}
