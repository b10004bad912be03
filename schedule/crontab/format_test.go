package crontab_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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
		asItIs, options := isWhatImportWrites(t, from, false)
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

// isWhatImportWrites loads a crontab, and compares all of its tasks with the YAML that import
// writes.
func isWhatImportWrites(t *testing.T, text string, system bool) (*schedule.Schedule, load.Options) {
	t.Helper()
	isRoot := func(string) (string, bool) { return "/root", true }
	options := load.Options{Home: isRoot, Getenv: isRoot, System: system,
		Texts: map[string][]byte{"/srv/x.crontab": []byte(text)}}
	asItIs, err := load.File("/srv/x.crontab", options)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	lines := Convert([]*Table{Parse(Source{Name: "x.crontab", Text: text, System: system})}, Options{Home: isRoot})
	yaml := lines.YAML([]string{"A test."})
	options.System = false
	imported, err := load.Text(yaml, "/srv/x.crontab", options)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, yaml)
	}
	if asItIs.Name != imported.Name || len(asItIs.Tasks) != len(lines.Tasks) {
		t.Fatalf("%s has %d tasks, not %d: %v\n%s", asItIs.Name, len(asItIs.Tasks), len(lines.Tasks),
			asItIs.BadLines, text)
	}
	for _, s := range []*schedule.Schedule{asItIs, imported} {
		for _, task := range s.Tasks {
			task.Place, task.EnvOverrides = schedule.Place{}, slices.Sorted(slices.Values(task.EnvOverrides))
		}
	}
	for i, task := range asItIs.Tasks {
		if !reflect.DeepEqual(task, imported.Tasks[i]) {
			t.Fatalf("%s is\n%+v, imported\n%+v\n%s\n%s", task.Name, task, imported.Tasks[i], text, yaml)
		}
	}
	return asItIs, options
}

func TestACrontabOfADebianPackageIsTheScheduleThatImportWrites(t *testing.T) {
	paths, err := filepath.Glob("../../cmd/testdata/crontabs/*/*")
	if err != nil || len(paths) < 40 {
		t.Fatalf("these are %d files, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if system := filepath.Base(filepath.Dir(path)) == "cron.d"; system {
			isWhatImportWrites(t, string(text), true)
		} else {
			isWhatImportWrites(t, "# sched: system=false\n\n"+string(text), false)
		}
	}
}

// Settings change between the lines, comments set keys of lines and of the whole file, and
// import writes what lines share into defaults: in any order of them each task stays the same.
func TestARandomCrontabIsTheScheduleThatImportWrites(t *testing.T) {
	settings := []string{"MAILTO=alice@example.com", "MAILTO=bob@example.com", `MAILTO=""`,
		"MAILTO=alice@example.com,carol@example.com", "A=1", "A=${A}", `B="x y"`, "PATH=/opt/bin", "HOME=/srv/a",
		"HOME=/root", "SHELL=/bin/bash", "SHELL=/bin/sh", "CRON_TZ=Asia/Tokyo", `CRON_TZ=""`}
	keys := []string{"after.ping=https://example.com/x", "after=[]", "after={mail: dan@example.com}", "env.A=7",
		"env={B: 'yes', C: 5}", "dir=/tmp", "user=daemon", "shell=[/bin/zsh, -c]", "timezone=UTC", "background=false",
		"on_failure.mail=dan@example.com", "timeout=5m", "success_codes=[0, 3]"}
	ofFile := []string{"defaults.after.mail=eve@example.com", "defaults.env.A=8", "env.A=9", "env={D: 1, B: 2.50}",
		"defaults={retry: {attempts: 3}, env: {PATH: /x}}", "defaults.dir=/var", "defaults.shell=[/bin/ksh, -c]",
		"defaults.background=false", "defaults.timezone=Asia/Tokyo", "timezone=Europe/Berlin",
		"defaults.on_failure=./page", "defaults.user=nobody"}
	random := rand.New(rand.NewPCG(7, 11))
	pick := func(of []string) string { return of[random.IntN(len(of))] }
	for range 1500 {
		var text strings.Builder
		system := random.IntN(3) == 0
		for _, i := range random.Perm(len(ofFile))[:random.IntN(3)] {
			text.WriteString("# sched: " + ofFile[i] + "\n\n")
		}
		for i := range 1 + random.IntN(5) {
			for range random.IntN(3) {
				text.WriteString(pick(settings) + "\n")
			}
			if random.IntN(3) == 0 {
				text.WriteString("# sched: " + pick(keys) + "\n")
			}
			user, flags := "", ""
			if system {
				user = pick([]string{"root ", "daemon "})
			}
			if random.IntN(4) == 0 {
				flags = pick([]string{"-n ", "-s "})
			}
			fmt.Fprintf(&text, "%d * * * * %s%s/bin/job%d\n", i, user, flags, i)
		}
		isWhatImportWrites(t, text.String(), system)
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
