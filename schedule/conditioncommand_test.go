package schedule

import (
	"strings"
	"testing"
)

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
	want := []string{"when bash default", "when sh true; skip pgrep x", "", "when bash default; skip bash group", "when bash own"}
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

func TestAllows(t *testing.T) {
	for _, row := range []struct {
		key              string
		code             int
		allows, answered bool
	}{
		{"when", 0, true, true}, {"when", 1, false, true}, {"when", 125, false, true},
		{"skip", 0, false, true}, {"skip", 1, true, true}, {"skip", 125, true, true},
		{"when", 126, false, false}, {"when", 127, false, false}, {"skip", 137, false, false}, {"skip", 255, false, false},
	} {
		if allows, answered := (ConditionCommand{Key: row.key}).Allows(row.code); allows != row.allows || answered != row.answered {
			t.Errorf("%s with %d: allows %v, answered %v", row.key, row.code, allows, answered)
		}
	}
}
