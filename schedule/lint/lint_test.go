package lint_test

import (
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/lint"
	"sched/schedule/load"
)

func TestTasksThatNeverRun(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		task string
		want string // in the warning; empty for none
	}{
		{`every: day at 3:00, between: ["8:00", "17:00"]`, "outside 8:00-17:00"},
		{`every: monday at 3:00, days: weekends`, "not on Monday"},
		{`cron: "0 12 * * *", unless_between: ["11:00", "13:00"]`, "inside 11:00-13:00"},
		{`every: day at 3:00, days: weekends`, ""},
		{`every: hour, between: ["8:00", "8:30"]`, ""},
		{`every: hour at :45, between: ["8:00", "8:30"]`, "outside 8:00-8:30"},
		{`every: monday at 3:00, days: weekends, enabled: false`, ""},
		{`every: month, days: monday`, ""},
	} {
		s, err := load.Text([]byte("tasks: [{name: a, command: x, "+test.task+"}]"),
			"/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(test.task, err)
		}
		warnings := lint.NeverRuns(s, now)
		if len(warnings) > 0 != (test.want != "") ||
			len(warnings) > 0 && !strings.Contains(warnings[0].Text, test.want) {
			t.Errorf("%s: %v", test.task, warnings)
		}
	}
}

func TestBackgroundTasksThatLoseTheirMutex(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for second, warned := range map[string]bool{
		"every: day at 3:00, mutex: db":                                                false, // it has the Sundays
		"every: day at 3:00, mutex: db, days: weekdays":                                true,
		"every: monday at 3:00, mutex: db":                                             true,
		"every: hour, mutex: db":                                                       false, // it loses one of 24
		"every: day at 3:01, mutex: db":                                                false,
		"every: day at 3:00, mutex: db, without_overlapping: wait":                     false,
		"every: day at 3:00, mutex: db, without_overlapping: false":                    false,
		"every: day at 3:00, mutex: db, background: false":                             false,
		"every: day at 3:00, mutex: db, enabled: false":                                false,
		"every: day at 3:00, mutex: db, days: sunday":                                  false,
		"every: day at 3:00, without_overlapping: true":                                false,
		"every: boot, mutex: db":                                                       false,
		"every: 2 weeks from 2026-03-05 at 3:00, mutex: db, between: ['2:00', '4:00']": true,
	} {
		yaml := "defaults: {background: true}\ntasks:\n- {name: a, command: x, every: day at 3:00, days: [mon, tue, wed, thu, fri, sat], mutex: db}\n- {name: b, command: x, " + second + "}\n"
		s, err := load.Text([]byte(yaml), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(second, err)
		}
		warnings := lint.LosesItsMutex(s, now)
		if len(warnings) > 0 != warned ||
			warned && (warnings[0].Task != "b" ||
				!strings.Contains(warnings[0].Text, "a starts before it and takes their mutex db")) {
			t.Errorf("%s: %v", second, warnings)
		}
	}
}

func TestForegroundTasksThatHoldUpOthers(t *testing.T) {
	const yaml = `tasks:
  - {name: quick, every: day at 3:00, command: x}
  - {name: slow, every: day at 3:00, command: x}
  - {name: same, cron: "0 3 * * 1", command: x}
  - {name: also, every: hour, command: x}
  - {name: beside, every: day at 3:00, command: x, background: true}
  - {name: elsewhere, every: day at 4:10, command: x}
`
	s, err := load.Text([]byte(yaml), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	usual := map[string]time.Duration{
		"quick": 4 * time.Second, "slow": 40 * time.Second, "same": time.Second, "beside": time.Hour,
		"elsewhere": 59 * time.Second,
	}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	warnings := lint.SlowForeground(s, usual, now)
	if len(warnings) != 1 || warnings[0].Task != "slow" || !strings.Contains(warnings[0].Text, "same (and 1 other)") {
		t.Errorf("%v", warnings)
	}
	usual["elsewhere"] = time.Minute
	if warnings = lint.SlowForeground(s, usual, now); len(warnings) != 2 || warnings[1].Task != "elsewhere" {
		t.Errorf("%v", warnings)
	}
}

func TestTasksThatNeverCatchUp(t *testing.T) {
	const yaml = `tasks:
  - {name: behind, every: 10 minutes, missed: all, command: x}
  - {name: quick, every: 10 minutes, missed: all, command: x}
  - {name: once, every: 10 minutes, missed: once, command: x}
  - {name: boot, every: boot, missed: all, command: x}
`
	s, err := load.Text([]byte(yaml), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	usual := map[string]time.Duration{"behind": 10 * time.Minute, "quick": 9 * time.Minute,
		"once": time.Hour, "boot": time.Hour}
	warnings := lint.NeverCatchesUp(s, usual, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	if len(warnings) != 1 || warnings[0].Text != "it usually takes 10 m 0 s, and is due each 10 m 0 s: with missed: all it never catches up" {
		t.Errorf("%v", warnings)
	}
}

func TestACommandThatBecomesAnotherUserByItself(t *testing.T) {
	for _, test := range []struct{ command, program string }{ // the user is app; "": no warning
		{`su - app -c 'cd /srv && ./work'`, "su"},
		{`su -c "./work --all" app`, "su"},
		{`cd /srv; exec su -l app -s /bin/sh -c x`, "su"},
		{`if true; then su - app -c x; fi`, "su"},
		{`/sbin/runuser -l app -c 'x'`, "runuser"},
		{`runuser -u app -- ./work`, "runuser"},
		{`sudo -iu app ./work`, "sudo"},
		{`sudo -n --user=app -i ./work`, "sudo"},
		{`su - -c x`, ""},
		{`su - root -c x`, ""},
		{`sudo -i ./work -u app`, ""},
		{`sudo -u app ./work`, ""},
		{`echo su - app -c x`, ""},
		{`echo 'one; su - app -c x'`, ""},
		{`sum -c app`, ""},
		{`su app`, ""},
	} {
		s, err := load.Text([]byte("tasks:\n- name: a\n  every: day\n  command: |\n    "+test.command+"\n"+
			"- {name: b, every: day, user: app, command: su - app -c x}"), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(test.command, err)
		}
		warnings := lint.BecomesUser(s)
		if len(warnings) != min(1, len(test.program)) {
			t.Errorf("%s: %v", test.command, warnings)
		} else if len(warnings) > 0 && warnings[0].Hint !=
			"if root runs sched, write `user: app`, and the command without "+test.program {
			t.Errorf("%s: %v", test.command, warnings)
		}
	}
}

func TestCommandsThatEndWithAnAmpersand(t *testing.T) {
	for _, test := range []struct {
		command string
		hint    string // of the warning; empty for none
	}{
		{`sleep 21 &`, "remove the &, and write `background: true`"},
		{`nohup ./serve >log 2>&1 &`, "remove the &, and write `background: true`"},
		{`./serve& # goes on`, "remove the &, and write `background: true`"},
		{"./a\n./b 'it''s' &\n", "remove the &, and write `background: true`"},
		{`# don't wait` + "\n./serve &", "remove the &, and write `background: true`"},
		{`./serve & wait`, ""},
		{`true &&`, ""},
		{`echo no >&`, ""},
		{`echo no >&2`, ""},
		{`echo 'a &'`, ""},
		{`echo "a &"`, ""},
		{`echo a \&`, ""},
		{`echo a # and &`, ""},
		{`curl "http://localhost/?a=1&b=2"`, ""},
	} {
		for _, background := range []bool{false, true} {
			s := &schedule.Schedule{Tasks: []*schedule.Task{{
				Name: "a", Enabled: true, Background: background, Command: schedule.Command{Line: test.command}}}}
			want := test.hint
			if want != "" && background {
				want = "remove the &"
			}
			hint := ""
			for _, w := range lint.LeavesItself(s) {
				hint = w.Hint
			}
			if hint != want {
				t.Errorf("%q: %q, want %q", test.command, hint, want)
			}
		}
	}
}

func TestAHookThatNamesATaskIsACommand(t *testing.T) {
	s, err := load.Text([]byte("tasks:\n- {name: dump, every: day, command: x, on_success: load, after: {trigger: load}}\n"+
		"- {name: load, every: hand, command: x, on_failure: load --again}\n"), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	warnings := lint.HooksNamedAsTasks(s)
	if len(warnings) != 1 || warnings[0].Text != "on_success: load is a task, and here it is a command" ||
		warnings[0].Hint != "write `{trigger: load}` to start the task" {
		t.Errorf("%+v", warnings)
	}
}
