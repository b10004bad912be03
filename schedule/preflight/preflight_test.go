package preflight

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/load"
)

func TestProgramsThatALineStartsForSure(t *testing.T) {
	for _, test := range []struct {
		line string
		want string
	}{
		{"php artisan queue:work", "php"},
		{"/usr/bin/php artisan >> log 2>&1", "/usr/bin/php"},
		{"2>/dev/null ls | sort -u; uniq", "ls sort uniq"},
		{"LANG=C APP_ENV='a b' ./run.sh && echo done", "./run.sh"},
		{"mkdir -p backup &&\n  tar czf x.tgz .", "mkdir tar"},
		{"echo one; true; tidy", "tidy"},
		{"(sleep 1; x) & wait", ""},

		// A program that is there or not, as the line itself says, is no mistake.
		{"test -x /opt/tool && /opt/tool", ""},
		{"[ -x /usr/sbin/anacron ] || run-parts /etc/cron.daily", ""},
		{"command -v wp && wp cron", ""},
		{"if grep -q x y; then z; fi", ""},
		{"pgrep worker || ./start-worker", "pgrep"},

		// What the shell makes of words is not known.
		{"$HOME/bin/report", ""},
		{"~/bin/report", ""},
		{"`which php` x", ""},
		{"$(which php) x", ""},
		{"pre$(uname) x", ""},
		{"sort \"$(ls)\"; absent", "sort"},
		{"PATH=/opt/bin:$PATH; tool", ""},
		{". ./env.sh; tool", ""},
		{"helper() { x; }; helper", ""},
		{"cat <<EOF\nnot a program\nEOF", "cat"},
		{"# only a comment", ""},
		{"", ""},

		// Wrappers start what stands behind their own words.
		{"flock -n /tmp/x timeout -k 5 30 rsync -a a b >/dev/null 2>&1", "flock timeout rsync"},
		{"flock -w 10 /tmp/x -c 'rsync a b'", "flock"},
		{"flock /tmp/x sh -c 'rsync a b'", "flock sh"},
		{"nice -n 10 ionice -c3 -n 7 /opt/backup; chronic tidy", "nice ionice /opt/backup chronic tidy"},
		{"timeout $LIMIT tool", "timeout tool"},
		{"timeout 5 $TOOL", "timeout"},
		{"cd /srv && timeout 5 ./run", "timeout"},
		{"timeout", "timeout"},

		// After cd a relative path is one in another folder.
		{"cd /srv/app && ./bin/console x && php y", "php"},
	} {
		if got := strings.Join(certainPrograms(test.line), " "); got != test.want {
			t.Errorf("%q starts %q, not %q", test.line, got, test.want)
		}
	}
}

func FuzzCertainPrograms(f *testing.F) {
	for _, seed := range []string{"a && b", "a 'b' \"c\" \\", "2>&1 x <<EOF", "(a;b)&", "a | b || c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, name := range certainPrograms(line) {
			if !isPlain(name) || !strings.Contains(line, name) {
				t.Errorf("%q starts %q", line, name)
			}
		}
	})
}

func TestBashismsAreSeen(t *testing.T) {
	m := &Machine{shells: map[string]bool{}}
	for _, b := range bashisms {
		m.shells["/bin/sh\x00-c\x00"+b.probe] = false // a shell that knows none of them
	}
	for _, test := range []struct {
		line string
		want []string
	}{
		{"[[ -f x ]] && y", []string{"[["}},
		{"if [[ -f x ]]; then y; fi", []string{"[["}},
		{"echo '[[ x ]]'; echo \"[[ y ]]\" # [[ z", nil},
		{"source venv/bin/activate", []string{"source"}},
		{"open source x", nil},
		{"set -euo pipefail; x", []string{"pipefail"}},
		{"diff <(a) <(b)", []string{"<( )"}},
		{"run &> log", []string{"&>"}},
		{"run >&2 & wait", nil},
		{"echo \"${name//a/b}\"", []string{"${x//a/b}"}},
		{"echo ${name%.txt} ${name:-x}", nil},
		{"for i in {1..3}; do x; done", []string{"{1..9}"}},
		{"x=$((1 + 2)); echo $x", nil},
	} {
		c := schedule.Command{Line: test.line, Shell: []string{"/bin/sh", "-c"}}
		if got := m.unknownWords(c); !slices.Equal(got, test.want) {
			t.Errorf("%q has %v, not %v", test.line, got, test.want)
		}
	}
}

// The probes are right when bash knows each, and dash none.
func TestProbesTellShellsApart(t *testing.T) {
	for shell, want := range map[string]bool{"bash": true, "dash": false} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for _, b := range bashisms {
			if b.name == "pipefail" && shell == "dash" {
				continue // newer ones know it
			}
			if got := new(Machine).knows([]string{path, "-c"}, b.probe); got != want {
				t.Errorf("%s knows %s: %v", shell, b.name, got)
			}
		}
	}
}

func TestWhatATaskLacks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("good", "#!/bin/sh\n", 0o755)
	write("plain", "#!/bin/sh\n", 0o644)
	write("windows", "#!/bin/sh\r\n", 0o755)
	write("ruby", "#!/opt/none/ruby\n", 0o755)
	write("env", "#!/usr/bin/env no-such-program\n", 0o755)
	for _, test := range []struct {
		yaml string
		want string // in the first message; empty for no message
	}{
		{"command: ./good", ""},
		{"command: [./good, x]", ""},
		{"command: ./plain", "./plain is not executable"},
		{"command: ./windows", "line ends of Windows"},
		{"command: ./ruby", "there is no /opt/none/ruby"},
		{"command: ./env", "there is no program no-such-program in /usr/bin:/bin"},
		{"command: ./absent", "there is no " + filepath.Join(dir, "absent")},
		{"command: absent", "there is no program absent in /usr/bin:/bin"},
		{"{command: good, env: {PATH: '" + dir + ":/bin'}}", ""},
		{"{command: absent, env_file: none.env}", ""},
		{"{command: x, dir: gone}", "there is no folder " + filepath.Join(dir, "gone")},
		{"{command: x, dir: good}", "good is not a folder"},
		{"{command: ./good, output: logs/x.log}", "output: there is no folder"},
		{"{command: ./good, shell: [/opt/none/bash, -c]}", "there is no /opt/none/bash"},
		{"{command: ./good, when: ./absent}", "when: there is no"},
		{"{command: ./good, on_failure: absent}", "on_failure: there is no program absent"},
		{"{command: ./good, on_failure: {mail: a@example.com}}", ""},
	} {
		yaml := "tasks: [{name: a, every: minute, " + strings.TrimPrefix(test.yaml, "{") + "]"
		if !strings.HasPrefix(test.yaml, "{") {
			yaml = "tasks:\n  - name: a\n    every: minute\n    " + test.yaml
		}
		s, err := load.Text([]byte(yaml), filepath.Join(dir, "schedule.yaml"), load.Options{Origins: true})
		if err != nil {
			t.Fatal(yaml, err)
		}
		lacks := (&Machine{Environ: []string{"PATH=/usr/bin:/bin"}}).Task(s.Tasks[0])
		got := ""
		if len(lacks) > 0 {
			got = lacks[0].Text
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, not %q", test.yaml, got, test.want)
		}
	}
}
