package crontab_test

import (
	"reflect"
	"slices"
	"testing"

	"sched/schedule"
	. "sched/schedule/crontab"
	"sched/schedule/load"
)

func TestFilesAreToldApartByNameOrTextAndNeverByGuess(t *testing.T) {
	isUser := func(name string) bool { return name == "root" || name == "mail" }
	for _, row := range []struct {
		path, text string
		want       Format
		system     bool
	}{
		{"/srv/schedule.yaml", "* * * * * echo\n", NotCrontab, false},
		{"/srv/x.yml", "", NotCrontab, false},
		{"/srv/crontab", "", User, false},
		{"/srv/crontab", "tasks: []\n", User, false},
		{"/srv/jobs.crontab", "0 3 * * * echo a: b\n", User, false},
		{"/srv/jobs.cron", "hello\n", User, false},
		{"/srv/jobs", "* * * * * echo\n", User, false},
		{"/srv/jobs", "@daily echo\nA=b\nhello\n", User, false},
		{"/srv/jobs", "#* * * * * echo\n", NotCrontab, false},
		{"/srv/jobs", "A=b\n", NotCrontab, false},
		{"/srv/jobs", "", NotCrontab, false},
		{"/srv/jobs", "tasks: []\n# 0 3 * * * echo x\n", NotCrontab, false},
		{"/srv/jobs", "0 3 * * * echo a: b\n", Unclear, false},
		{"/srv/jobs", "tasks: [{command: |\n   0 3 * * * x\n   }]\n", User, false}, // it is no YAML
		{"/etc/cron.d/php", "0 3 * * * echo hi\n", System, false},
		{"/srv/cron.d/php", "# sched: system=false\n\n0 3 * * * root echo hi\n", User, false},
		{"/etc/crontab", "0 3 * * * root echo\n0 3 *\t* *\troot\techo\n#0 3 * * * echo\n", System, false},
		{"/etc/crontab", "0 3 * * * root echo\n0 3 * * * nobody-here echo\n", Unclear, false},
		{"/etc/crontab", "0 3 * * * echo\n0 3 * * * mail -s x me\n", Unclear, false},
		{"/etc/crontab", "0 3 * * * echo hi\n", User, false},
		{"/etc/crontab", "# sched: system=false\n\n0 3 * * * root echo hi\n", User, false},
		{"/srv/crontab", "0 3 * * * root echo\n* * * * * mail -s x me\n", Unclear, false},
		{"/srv/crontab", "0 3 * * *\troot\techo\n", Unclear, false},
		{"/srv/crontab", "0 3 * * * root echo\n* * * * * echo\n", User, false},
		{"/srv/crontab", "0 3 * * * mail\n", User, false}, // there is no command behind it
		{"/srv/crontab", "# sched: system\n\n0 3 * * * root echo\n", System, false},
		{"/srv/crontab", "# sched: system\n0 3 * * * root echo\n", Unclear, false}, // it is about the line
		{"/srv/crontab", "0 3 * * * root echo\n", System, true},
		{"/srv/crontab", "0 3 * * * nobody-here echo\n", System, true},
		{"/srv/crontab", "# sched: system=false\n\n0 3 * * * root echo\n", User, true},
		{"/srv/x.yml", "", NotCrontab, true},
	} {
		format, problem, hint := FormatOf(row.path, row.text, row.system, isUser)
		if format != row.want || (format == Unclear) != (problem != "" && hint != "") {
			t.Errorf("%s with %q: %d, %q", row.path, row.text, format, problem)
		}
	}
}

// A crontab as a schedule equals the YAML that import writes of it, but for the places.
func TestACrontabIsTheScheduleThatImportWrites(t *testing.T) {
	const text = `# sched: name=shop defaults.timeout=1h
MAILTO=a@example.com
A=1
# sched: timeout=5m env.B='2' env.A=3 description="x: y"
0 3 * * * /bin/one %in%put
PATH=/opt/bin
SHELL=/bin/bash
-n 5 4 * * * x
5 4 * * * -n /bin/two 'it''s' "$HOME" \\ \% ünï
CRON_TZ=America/New_York
HOME=/srv
#@daily /bin/three
MAILTO=
# sched: name=vier dir=/tmp retry.attempts=2 on_failure="echo no"
@reboot /bin/four
~ 3 * * 5-7 /bin/five
MAILTO=b@example.com
# sched: after.ping=https://example.com/x
* * * * * /bin/six
`
	for _, from := range []string{text, "* * * * * a\n", "MAILTO=x@y.z\n* * * * * a\nMAILTO=\n* * * * * b\n", ""} {
		isRoot := func(string) (string, bool) { return "/root", true }
		options := load.Options{Home: isRoot, Getenv: isRoot, Texts: map[string][]byte{"/srv/x.crontab": []byte(from)}}
		asItIs, err := load.File("/srv/x.crontab", options)
		if err != nil {
			t.Fatal(err)
		}
		lines := Convert([]*Table{Parse(Source{Name: "x.crontab", Text: from})}, Options{})
		imported, err := load.Text(lines.YAML([]string{"A test."}), "/srv/x.crontab", options)
		if err != nil {
			t.Fatal(err)
		}
		if asItIs.Name != imported.Name || len(asItIs.Tasks) != len(lines.Tasks) {
			t.Errorf("%s has %d tasks, not %d", asItIs.Name, len(asItIs.Tasks), len(lines.Tasks))
		}
		for _, s := range []*schedule.Schedule{asItIs, imported} {
			for _, task := range s.Tasks {
				task.Place, task.EnvOverrides = schedule.Place{}, slices.Sorted(slices.Values(task.EnvOverrides))
			}
		}
		for i, task := range asItIs.Tasks {
			if !reflect.DeepEqual(task, imported.Tasks[i]) {
				t.Errorf("%s is\n%+v, imported\n%+v", task.Name, task, imported.Tasks[i])
			}
		}
		archive, err := asItIs.Archive()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := load.Archive(archive, "/srv/x.crontab", options); err != nil ||
			len(again.Tasks) != len(asItIs.Tasks) {
			t.Errorf("kept as the last valid one it is %v, %v", again, err)
		}
	}
}

// Each line of any crontab is a task, or is left out with its place. Only keys of the whole file
// make it invalid.
func FuzzACrontabAsASchedule(f *testing.F) {
	f.Add("A=b\n# sched: name=x timeout=5m,env.B=\"c d\" retry.attempts=[1\n5 4 * * * a%b\n61 * * * * b\n")
	f.Add("# sched: on_failure={mail: x} a.b.c=&x b=*x ''=| !t=%\n#@daily b\n# sched: name=\n@reboot c\n# sched: name=x\n~ * * * * d\n")
	f.Fuzz(func(t *testing.T, text string) {
		parsed := Parse(Source{Text: text})
		options := load.Options{Getenv: func(string) (string, bool) { return "/root", true },
			Texts: map[string][]byte{"/srv/x.crontab": []byte(text)}}
		s, err := load.File("/srv/x.crontab", options)
		if err != nil {
			if len(parsed.Keys) == 0 {
				t.Fatal(err)
			}
			return
		}
		for _, e := range parsed.Entries {
			at := func(p schedule.Place) bool {
				return p.Line == e.Line || slices.ContainsFunc(e.Keys, func(k Key) bool { return p.Line == k.Line })
			}
			isTask := slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return at(t.Place) })
			isSaid := slices.ContainsFunc(slices.Concat(s.BadLines, s.Warnings),
				func(p schedule.Problem) bool { return at(p.Place) })
			if !isTask && !isSaid {
				t.Fatalf("line %d is neither a task nor left: %v", e.Line, s.BadLines)
			}
		}
	})
}

func TestLinesOfSupercronicHaveSecondsAndYears(t *testing.T) {
	for _, row := range []struct{ line, cron, command string }{
		{"* * * * * * * echo hi", "* * * * * *", "echo hi"},
		{"*/5 * * * * * * /bin/sleep 0.1 & exec /bin/sleep 0", "*/5 * * * * *", "/bin/sleep 0.1 & exec /bin/sleep 0"},
		{"0 3 * * * * echo hi", "0 3 * * *", "echo hi"},
		{"0 3 * * * 7z a x", "0 3 * * *", "7z a x"},
		{"0 3 * * * 2030 echo hi", "", ""},
		{"0 0 3 * * * 2030-2031 echo hi", "", ""},
		{"@daily 5 x", "@daily", "5 x"},
	} {
		s := Convert([]*Table{Parse(Source{Name: "crontab", Text: row.line + "\n"})}, Options{})
		if row.cron == "" {
			if len(s.Tasks) > 0 || !s.OmitsLines() {
				t.Errorf("%s became %v", row.line, s.Tasks)
			}
		} else if len(s.Tasks) != 1 || s.Tasks[0].Cron != row.cron || s.Tasks[0].Command != row.command {
			t.Errorf("%s became %+v, %v", row.line, s.Tasks, s.Findings)
		}
	}
}
