package load

import (
	"errors"
	"strings"
	"testing"

	"sched/schedule"
)

func TestAProblemOfOneTaskLeavesTheRest(t *testing.T) {
	const good = "  - {name: good, every: minute, command: x}\n"
	for _, test := range []struct {
		yaml    string
		want    string // the tasks of the rest
		without string
	}{
		{"tasks:\n" + good + "  - {name: bad, evry: minute, command: x}\n", "good", "bad"},
		{"tasks:\n  - {name: bad, cron: '61 * * * *', command: x, dir: true}\n" + good, "good", "bad"},
		{"tasks:\n" + good + "  - {name: bad, command: x}\n", "good", "bad"}, // no time, which is known at the end
		{"tasks:\n" + good + "  - {command: x}\n  -\n  - word\n", "good", "the entry of line 3"},
		{"tasks:\n  - {name: bad, every: day}\n  - {name: bad, command: x}\n  - {name: a b, every: day, command: x}\n" + good,
			"good", "bad the entry of line 4"},
		{"tasks:\n" + good + good, "good", ""}, // the second has a name that is taken
		{"tasks:\n" + good + "  - {name: bad, every: day, command: x, on_success: {trigger: none}}\n", "good", "bad"},
		{"tasks:\n" + good + "  - {name: a, command: x, on_success: {trigger: b}}\n  - {name: b, command: x, on_success: {trigger: a}}\n", "good a", "b"},
		{"tasks:\n" + good + "  - {name: bad, every: day, command: x, on_failure: {ping: '${NONE}'}}\n", "good bad", "bad"},
		{"tasks:\n" + good + "  - group: g\n    tasks:\n    - {name: a, every: day, command: x}\n    - {name: bad, every: day}\n", "good a", "bad"},
		{"tasks:\n" + good + "  - group: g\n    evry: day\n    tasks:\n    - {name: a, every: day, command: x}\n    - {group: h, tasks: [{name: b, every: day, command: x}]}\n", "good", "a b"},
		{"tasks:\n" + good + "  - {group: g}\n", "good", ""},

		// A task that only lacks a variable stays, with Lacks; but not without its times.
		{"tasks:\n" + good + "  - {name: bad, every: day, command: x, user: '${NONE}'}\n", "good bad", "bad"},
		{"tasks:\n" + good + "  - {name: bad, every: day, command: x, user: '${NONE}', evry: day}\n", "good", "bad"},
		{"tasks:\n" + good + "  - {name: bad, every: day, command: x, timezone: '${NONE}'}\n", "good", "bad"},
		{"env: {A: '${NONE}'}\ntasks:\n" + good, "good", "good"},
		{"defaults: {dir: '${NONE}'}\ntasks:\n" + good + "  - {name: bad, evry: day}\n", "good", "good bad"},
		{"state_dir: '${NONE}'\ntasks:\n" + good, "", ""},
		{"timezone: '${NONE}'\ntasks:\n" + good, "", ""},
		{"include: '${NONE}'\ntasks:\n" + good, "", ""},

		// If a key is wrong that several entries depend on, no schedule is left.
		{"timezon: UTC\ntasks:\n" + good, "", ""},
		{"timezone: Nowhere\ntasks:\n" + good + "  - {name: bad}\n", "", ""},
		{"defaults: {dir: true}\ntasks:\n" + good, "", ""},
		{"defaults: {on_failure: {trigger: none}}\ntasks:\n" + good, "", ""},
		{"include: none.yaml\ntasks:\n" + good, "", ""},
		{"tasks:\n" + good + "  - {name: bad", "", ""},
		{"tasks:\n  - {name: bad}\n", "", ""},
	} {
		_, err := Text([]byte(test.yaml), "/srv/schedule.yaml", Options{
			CheckNotification: func(schedule.Notification) (string,
				string) {
				return "the variable NONE is not set", ""
			},
		})
		invalid, is := errors.AsType[*InvalidError](err)
		if !is {
			t.Errorf("%s: %v", test.yaml, err)
			continue
		}
		var names []string
		without := ""
		if invalid.Rest != nil {
			for _, task := range invalid.Rest.Tasks {
				names = append(names, task.Name)
			}
			without = strings.Join(invalid.Rest.Without, " ")
		}
		if got := strings.Join(names, " "); got != test.want || without != test.without {
			t.Errorf("%s: %q is left, without %q", test.yaml, got, without)
		}
	}
}
