package export_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sched/schedule"
	. "sched/schedule/crontab"
	. "sched/schedule/crontab/export"
	"sched/schedule/load"
)

// loadAs reads a text as the file of that name in /srv.
func loadAs(t *testing.T, name, text string) *schedule.Schedule {
	t.Helper()
	s, err := load.File("/srv/"+name, load.Options{
		Origins: true, Home: homeOfRoot, Getenv: func(string) (string, bool) { return "/root", true },
		Texts: map[string][]byte{"/srv/" + name: []byte(text)},
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return s
}

func homeOfRoot(user string) (string, bool) { return "/root", user == "root" }

func TestACrontabThatIsExportedStaysTheSame(t *testing.T) {
	for _, text := range []string{
		"PATH=/bin\nA='1'\nMAILTO=a@b.de\n0 3 * * * /bin/a 100\\% \\\\\\\\ \\x 'it''s'\n# sched: name=x timeout=5m\n# About it\n@reboot b%in%put \\% x%\nMAILTO=\n#5 4 * * 1-5 c\n",
		"SHELL=/bin/bash\n* * * * * a\nB=2\nSHELL=/bin/sh\n* * * * * b\nCRON_TZ=America/New_York\n* * * * * c\\\n",
		"# sched: system\n\n* * * * * root id\nHOME=/srv\n* * * * * root id -u\n",
		"HOME=/opt\n# sched: env.C=\"it's\" tags=[a, 'b, c'] success_codes=[0, 3] retry.attempts=3 when=\"test -x 'a'\"\n@daily a\n",
	} {
		before := loadAs(t, "x.crontab", text)
		exported := Export(before, "UTC", "root", homeOfRoot, load.Settings)
		after := loadAs(t, "x.crontab", exported.Text)
		again := Export(after, "UTC", "root", homeOfRoot, load.Settings)
		if len(before.Tasks) != len(after.Tasks) || len(after.BadLines) > 0 || len(before.BadLines) > 0 {
			t.Fatalf("%d tasks became %d, %v, of\n%s\nis\n%s",
				len(before.Tasks), len(after.Tasks), after.BadLines, text, exported.Text)
		}
		for i, task := range before.Tasks {
			line, prefixed := after.Tasks[i].Command.Line, ""
			if task.Dir != after.Tasks[i].Dir {
				prefixed = "cd " + task.Dir + " || exit; "
			}
			if of, is := strings.CutPrefix(line, prefixed); !is ||
				!strings.HasSuffix(of, task.Command.Line) && !strings.Contains(task.Command.Line, "\n") {
				t.Errorf("the command %q became %q", task.Command.Line, line)
			}
			task.Command, task.Dir, task.Env = after.Tasks[i].Command, after.Tasks[i].Dir, after.Tasks[i].Env
			task.Place, after.Tasks[i].Place, task.Origins, after.Tasks[i].Origins = schedule.Place{},
				schedule.Place{}, nil, nil
			if !reflect.DeepEqual(task, after.Tasks[i]) {
				t.Errorf("%+v became\n%+v in\n%s", task, after.Tasks[i], exported.Text)
			}
		}
		if len(exported.Omitted) > 0 || len(exported.Warnings) > strings.Count(text, "CRON_TZ") {
			t.Errorf("lost is %v, and not the same %v", exported.Omitted, exported.Warnings)
		}
		if again.Text != exported.Text {
			t.Errorf("exported twice it is\n%s, not\n%s", again.Text, exported.Text)
		}
	}
}

func TestEachLineHasItsOwnMailTo(t *testing.T) {
	crontab := "MAILTO=alice@example.com\n* * * * * a\n* * * * * b\nMAILTO=bob@example.com\n* * * * * c\n" +
		"MAILTO=\n* * * * * d\n"
	lines := Convert([]*Table{Parse(Source{Name: "x.crontab", Text: crontab})}, Options{})
	for _, row := range []struct{ name, text, want string }{
		{"x.crontab", crontab, "alice@example.com bob@example.com "},
		{"imported.yaml", string(lines.YAML([]string{"A test."})), "alice@example.com bob@example.com "},
		{"two.yaml", "defaults: {after: {mail: alice@example.com, when: output}}\ntasks:\n" +
			"  - {name: a, every: hour, command: a, after: {mail: [bob@example.com, alice@example.com], when: output}}\n" +
			"  - {name: b, every: hour, command: b, after: {mail: carol@example.com}}\n",
			"alice@example.com,bob@example.com alice@example.com"},
	} {
		exported := Export(loadAs(t, row.name, row.text), "UTC", "root", homeOfRoot, load.Settings)
		var got []string
		for line := range strings.Lines(exported.Text) {
			if to, ok := strings.CutPrefix(line, "MAILTO="); ok {
				got = append(got, strings.Trim(to, "\"\n"))
			}
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s is mailed to %q in\n%s", row.name, got, exported.Text)
		}
	}
}

func TestADescriptionIsReadBackAsItWas(t *testing.T) {
	for _, description := range []string{"About it", "sched: timeout=5m", "sched timeout=5m", "* * * * * echo hi",
		"For example:", "m h dom mon dow", "----", strings.Repeat("long ", 40) + "end", `it's "so" \ % ${x}`} {
		text := "tasks: [{name: a, every: day, dir: /root, command: x, description: " + strconv.Quote(description) + "}]\n"
		exported := Export(loadAs(t, "schedule.yaml", text), "UTC", "root", homeOfRoot, load.Settings)
		after := loadAs(t, "x.crontab", exported.Text)
		if len(after.Tasks) != 1 || after.Tasks[0].Description != description {
			t.Errorf("%q is not the description of\n%s", description, exported.Text)
		}
	}
}

func TestAShellIsSetForTheTasksThatNeedIt(t *testing.T) {
	const text = `tasks:
  - {name: omitted, command: a, dir: /root, every: 10 seconds, shell: [/bin/ksh, -c]}
  - {name: bash, command: b, dir: /root, every: day, shell: [/bin/bash, -c]}
  - {name: list, command: [c], dir: /root, every: day, env: {SHELL: /bin/bash}}
`
	exported := Export(loadAs(t, "schedule.yaml", text), "UTC", "root", homeOfRoot, load.Settings)
	if strings.Contains(exported.Text, "ksh") {
		t.Errorf("a task that is omitted sets its shell:\n%s", exported.Text)
	}
	for _, want := range []string{"SHELL=/bin/bash\n", "SHELL=/bin/sh\n", " export SHELL=/bin/bash; c\n"} {
		if !strings.Contains(exported.Text, want) {
			t.Errorf("there is no %q in\n%s", want, exported.Text)
		}
	}
}

// Cron's words are proven to be due in the same minutes, also when the clocks change.
func TestTimesInTheWordsOfCron(t *testing.T) {
	for when, want := range map[string]string{
		"0 3 * * *":       "0 3 * * *",
		"0 3 ? * 1":       "0 3 * * 1",
		"0 3 15 * ?":      "0 3 15 * *",
		"0 3 * * FRI-SUN": "0 3 * * FRI-7",
		"0 3 * * 2,5-0":   "0 3 * * 2,5-7",
		"5/15 * * * *":    "5-59/15 * * * *",
		"30 2/8 1/10 * ?": "30 2-23/8 1-31/10 * *",
		"0 3 * JAN/3 *":   "0 3 * JAN-12/3 *",
		"0 3 * * MON/2":   "0 3 * * MON-6/2",
		"0 3 * * 2#1":     "",
		"0 3 LW * *":      "",
		"0 0 3 * * *":     "",
	} {
		text := "timezone: Europe/Berlin\ntasks: [{name: a, command: x, background: true, dir: /root, cron: '" + when + "'}]"
		exported := Export(loadAs(t, "schedule.yaml", text), "Europe/Berlin", "root", homeOfRoot, load.Settings)
		hasLine := want != "" && strings.HasSuffix(exported.Text, "\n"+want+" x\n")
		if hasLine != (len(exported.Omitted) == 0) || hasLine != (want != "") {
			t.Errorf("%q: %v in %s", when, exported.Omitted, exported.Text)
		}
	}
}

func TestWhatACrontabCannotSayIsNamed(t *testing.T) {
	const head = "tasks:\n  - {name: a, command: x, background: true, dir: /root, "
	for _, row := range []struct{ task, lost, asComments string }{
		{"every: day}", "", ""},
		{"every: day, timeout: 5m}", "", "timeout: for sched alone, in a comment"},
		{"every: day, on_failure: {mail: a@b.de}}", "on_failure: cron has no hooks", ""},
		{"every: day, after: {mail: a@b.de, when: output}}", "", ""},
		{"every: 10 seconds}", "cron does not know the times \"*/10 * * * * *\"", ""},
		{"every: day, days: mondays}", "days: cron has no such key", ""},
		{"every: day, between: ['8:00', '9:00']}", "between: cron has no such key", ""},
		{"cron: '0 3 * * FRI-SUN'}", "", ""},
		{"cron: '0 3 L * *'}", "cron does not know the times \"0 3 L * *\"", ""},
		{"every: day, env: {A: '${HOME}x'}}", "A comes from a variable, which a crontab does not expand", ""},
		{"every: day, shell: [bash], command: \"a\\nb\"}", "", ""},
		{"every: day, command: \"a\\n\"}", "", ""},
		{"every: day, env: {A-B: x}}\n  - {name: b, command: y, background: true, dir: /root, every: day}", "no shell can set a variable with the name \"A-B\"", ""},
		{"every: day, pool: p}\npools: {p: 2}", "pool: cron has no such key", ""},
		{"every: day, timezone: Europe/Berlin}", "warning: its zone is a CRON_TZ, which cronie alone knows: other crons start it in the zone of the machine", ""},
		{"cron: ['0 3 * * *', '5 4 * * *']}",
			"warning: it has several times, and so several lines: sched takes each for a task of its own", ""},
	} {
		text := head + row.task + "\n"
		if strings.Contains(row.task, `command: "`) {
			text = strings.Replace(text, "command: x, ", "", 1)
		}
		if strings.Contains(row.task, "shell") {
			row.lost = "its command has several lines, and a crontab has one"
		}
		exported := Export(loadAs(t, "schedule.yaml", text), "UTC", "root", homeOfRoot, load.Settings)
		said := func(all []schedule.Problem) string {
			var texts []string
			for _, p := range all {
				texts = append(texts, p.Text)
			}
			return strings.Join(texts, "; ")
		}
		lost := said(exported.Omitted)
		if len(exported.Warnings) > 0 {
			lost += "warning: " + said(exported.Warnings)
		}
		if lost != row.lost || said(exported.AsComments) != row.asComments {
			t.Errorf("%s: lost %q, kept %q", row.task, lost, said(exported.AsComments))
		}
	}
}
