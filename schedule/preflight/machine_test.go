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

func TestTheProgramWithWhichALineBegins(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"php artisan queue:work", "php"},
		{"/usr/bin/php artisan >> log 2>&1", "/usr/bin/php"},
		{"ls | sort -u; uniq", "ls"},
		{"  mkdir -p backup &&\n  tar czf x.tgz .", "mkdir"},
		{"flock -n /tmp/x rsync -a a b", "flock"},

		// A word that may be no program is no mistake.
		{"echo one; tidy", ""},
		{"cd /srv/app && ./bin/console x", ""},
		{"if grep -q x y; then z; fi", ""},
		{"command -v wp && wp cron", ""},
		{". ./env.sh; tool", ""},
		{"helper() { x; }; helper", ""},
		{"helper () { x; }; helper", ""},

		// A word that the shell expands is not known.
		{"$HOME/bin/report", ""},
		{"~/bin/report", ""},
		{"`which php` x", ""},
		{"pre$(uname) x", ""},
		{"'my program' x", ""},
		{"PATH=/opt/bin:$PATH tool", ""},
		{"LANG=C ./run.sh", ""},
		{"2>/dev/null ls", ""},
		{"(sleep 1; x) & wait", ""},
		{"tool;other", ""},
		{"# only a comment", ""},
		{"", ""},
	} {
		if got := FirstProgram(test.line); got != test.want {
			t.Errorf("%q begins with %q, not %q", test.line, got, test.want)
		}
	}
}

func TestAShellThatCannotReadALine(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, shell := range []string{"sh", "dash", "bash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for line, wrong := range map[string]bool{
			"echo 'open":                              true,
			"if true; then\n  false":                  true,
			"true | | false":                          true,
			"x=$((1 + 2)); echo \"$x\"":               false,
			"touch " + ran + "; $(touch " + ran + ")": false,
		} {
			got := (&shells{}).syntaxError(schedule.Command{Line: line, Shell: []string{path, "-ic"}})
			if (got != "") != wrong || strings.Contains(got, "\n") {
				t.Errorf("%s, %q: %q", shell, line, got)
			}
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a line was run")
	}
	if got := (&shells{}).syntaxError(schedule.Command{Line: "echo 'open", Shell: []string{"/opt/none/bash", "-c"}}); got != "" {
		t.Errorf("without a shell: %q", got)
	}
}

func TestBashismsAreSeen(t *testing.T) {
	var shells shells
	for _, b := range bashisms() { // a shell that knows no bashism
		shells.answers.get(question("/bin/sh\x00-c\x00"+b.probe), func() answer { return answer{failed: true} })
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
		{"run &> log", []string{"&>"}},
		{"run >&2 & wait", nil},
		{"echo \"${name//a/b}\"", []string{"${name//a/b}"}},
		{"echo ${name%.txt} ${name:-x}", nil},
		{"shopt -s nullglob; echo ${name^^} ${name:1:2}", []string{"shopt", "${name^^}"}},
		{"for i in {1..3}; do x; done", []string{"{1..3}"}},
		{"x=$((1 + 2)); echo $x", nil},
	} {
		c := schedule.Command{Line: test.line, Shell: []string{"/bin/sh", "-c"}}
		if got := shells.unknownWords(c); !slices.Equal(got, test.want) {
			t.Errorf("%q has %v, not %v", test.line, got, test.want)
		}
	}
}

// The probes are right if bash knows all of them, and dash knows no probe.
func TestProbesTellShellsApart(t *testing.T) {
	for shell, want := range map[string]bool{"bash": true, "dash": false} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for _, b := range bashisms() {
			if strings.Contains(b.probe, "pipefail") && shell == "dash" {
				continue // newer ones know it
			}
			if got := (&shells{}).ask(path, "-c", b.probe); got.failed == want {
				t.Errorf("%s knows %s: %v", shell, b.probe, !got.failed)
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
	write("bare", "echo x\n", 0o755)
	write("binary", "\x7fELF\x02\n", 0o755)
	write("env", "#!/usr/bin/env no-such-program\n", 0o755)
	for _, test := range []struct {
		yaml string
		want string // in the first message and its hint; empty for no message
	}{
		{"command: ./good", ""},
		{"command: [./good, x]", ""},
		{"command: ./plain", "./plain is not executable"},
		{"command: ./windows", "line ends of Windows"},
		{"command: ./ruby", "there is no /opt/none/ruby"},
		{"command: ./env", "there is no program no-such-program in /usr/bin:/bin"},
		{"command: ./absent", "there is no " + filepath.Join(dir, "absent")},
		{"command: \"echo 'open\"", "command: /bin/sh cannot read it: "},
		{"{command: \"echo 'open\", shell: [no-such-shell, -c]}", "there is no program no-such-shell"},
		{"command: absent", "there is no program absent in /usr/bin:/bin"},
		{"{command: good, env: {PATH: '" + dir + ":/bin'}}", ""},
		{"{command: absent, env_file: none.env}", ""},
		{"{command: x, dir: gone}", "there is no folder " + filepath.Join(dir, "gone")},
		{"{command: x, dir: good}", "good is not a folder"},
		{"{command: ./good, output: logs/of/x.log}", ""},
		{"{command: ./good, output: plain/x.log}", "output: " + filepath.Join(dir, "plain") + " is not a folder"},
		{"{command: ./good, output: plain/of/x.log}", "output: " +
			filepath.Join(dir, "plain", "of") + ": not a directory"},
		{"{command: ./good, shell: [/opt/none/bash, -c]}", "there is no /opt/none/bash"},
		{"{command: ./good, when: ./absent}", "when: there is no"},
		{"{command: ./good, on_failure: absent}", "on_failure: there is no program absent"},
		{"{command: ./good, on_failure: {mail: a@example.com}}", ""},

		{"command: ./absent", "absent; paths are relative to the folder of the file, or to `dir`"},
		{"{command: ./absent, dir: /usr}", "; paths are relative to the folder in which the task runs, /usr"},
		{"command: /none/absent", "there is no /none/absent; "},
		{"command: good", "there is no program good in /usr/bin:/bin; write ./good"},
		{"command: ['./absent --foo']", "; write one text, or [./absent, --foo]"},
		{"command: ['absent --foo']", "there is no program absent --foo in /usr/bin:/bin; write one text, or [absent, --foo]"},
		{"command: [./bare]", "./bare names no interpreter, and no shell starts a list; its first line must be #!/bin/sh"},
		{"command: ./bare", ""},
		{"command: [nohup, ./bare]", ""},
		{"command: [./binary]", ""},
		{"{command: absent, env: {PATH: '/opt/a/bin:/opt/b/bin:/opt/c/bin:/opt/d/bin:/opt/e/bin:/opt/f/bin'}}",
			"there is no program absent in /opt/a/bin:/opt/b/bin:/opt/c/bin:/opt/d/bin:…; "},
		{"command: sh ./absent.sh", "there is no " + filepath.Join(dir, "absent.sh") + " (the script of sh); paths"},
		{"command: sh absent.sh; echo", "absent.sh (the script of sh)"},
		{"command: [sh, /none/absent.sh]", "there is no /none/absent.sh (the script of sh); "},
		{"command: nohup ./absent.sh", "there is no " + filepath.Join(dir, "absent.sh") + "; "},
		{"command: [nohup, sh, -e, absent.sh]", "absent.sh (the script of sh)"},
		{"command: nohup nice -n 5 absent --all", "there is no program absent in /usr/bin:/bin"},
		{"command: sh good", ""},
		{"command: sh env.sh || sh 'absent.sh'", "env.sh (the script of sh)"},
		{"command: sh -c absent.sh", ""},
		{"command: [sh, -s, absent.sh]", ""},
		{"command: cd sub && sh absent.sh", ""},
		{"command: sh $SCRIPT", ""},
		{"{command: sh absent.sh, env_file: none.env}", ""},
		{"{command: x, shell: [no-such-shell, -c]}", "there is no program no-such-shell"},
	} {
		yaml := "tasks: [{name: a, every: minute, " + strings.TrimPrefix(test.yaml, "{") + "]"
		if !strings.HasPrefix(test.yaml, "{") {
			yaml = "tasks:\n  - name: a\n    every: minute\n    " + test.yaml
		}
		s, err := load.Text([]byte(yaml), filepath.Join(dir, "schedule.yaml"), load.Options{Origins: true})
		if err != nil {
			t.Fatal(yaml, err)
		}
		lacks := (&Machine{Environ: []string{"PATH=/usr/bin:/bin"}}).Lacks(s.Tasks[0])
		lacks = slices.DeleteFunc(lacks, func(l Lack) bool { return l.Kind == EnvFile })
		got := ""
		if len(lacks) > 0 {
			got = lacks[0].Text + "; " + lacks[0].Hint
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, not %q", test.yaml, got, test.want)
		}
	}
}

// Which interpreters a machine has does not matter here.
func TestTheScriptThatAnInterpreterRuns(t *testing.T) {
	for line, want := range map[string]string{
		"python3 /srv/import.py --all":       "/srv/import.py",
		"/usr/bin/python3.11 -u import.py":   "import.py",
		"php artisan schedule:run >> x":      "artisan",
		"php8.2 bin/console x":               "bin/console",
		"perl job.pl":                        "job.pl",
		"ruby job.rb":                        "job.rb",
		"node dist/job.js":                   "dist/job.js",
		"nohup bash -eu ./run.sh > x 2>&1 &": "./run.sh",

		// An option may take a value, and Node looks for job.js, too.
		"python3 -m http.server":    "",
		"python3 -W error x.py":     "",
		"php -r 'x'":                "",
		"perl -e x":                 "",
		"bash -o pipefail x.sh":     "",
		"node job":                  "",
		"node inspect job.js":       "",
		"python3":                   "",
		"ssh host sh x.sh":          "",
		"nohup -x sh y.sh":          "",
		"sh \"$DIR/x.sh\"":          "",
		"cat x | python3 y.py":      "",
		"test -f x && python3 y.py": "",
	} {
		c := schedule.Command{Line: line, Shell: []string{"/bin/sh", "-c"}}
		if _, got := scriptOf(c); got != want {
			t.Errorf("%q runs %q, not %q", line, got, want)
		}
	}
	login := schedule.Command{Line: "sh x.sh", Shell: []string{"/bin/bash", "-lc"}}
	if _, got := scriptOf(login); got != "" {
		t.Errorf("a profile may go elsewhere: %q", got)
	}
}

func TestTheProgramsBehindWrappers(t *testing.T) {
	for line, want := range map[string]string{
		"flock -n /tmp/x.lock timeout 5m backup --all": "timeout backup",
		"nice -n 10 ionice -c2 -n7 /srv/backup.sh":     "ionice /srv/backup.sh",
		"nice -10 backup":                                        "",
		"timeout -k 5 --signal=KILL 1h backup":                   "backup",
		"timeout -s KILL --foreground 1h backup":                 "backup",
		"stdbuf -oL nohup backup":                                "nohup backup",
		"flock --exclusive --timeout=5 /tmp/x.lock python3 x.py": "python3",
		"flock -w 5 /tmp/x.lock setsid -f backup":                "setsid backup",

		// The shell of flock reads more than words, and what a shell expands is not known here.
		"flock -n /tmp/x.lock -c 'backup --all'": "",
		"flock --timeout 5 /tmp/x.lock backup":   "",
		"timeout 5m \"$PROGRAM\"":                "",
		"flock -n 9 || exit 1":                   "",
		"timeout --unknown 5m backup":            "",
		"backup timeout 5m other":                "",
	} {
		programs := wrapped(schedule.Command{Line: line, Shell: []string{"/bin/sh", "-c"}})
		if got := strings.Join(programs, " "); got != want {
			t.Errorf("%q starts %q, not %q", line, got, want)
		}
	}
}

func TestTheVariablesThatACommandTakesFromItsEnvironment(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`curl -H "Authorization: $API_TOKEN" x`, "API_TOKEN"},
		{`docker run -e API_TOKEN=${API_TOKEN} image $OTHER $API_TOKEN`, "API_TOKEN OTHER"},
		{`x "${A:?set it}" "${B%/}" ${C#x}`, "A B C"},
		{`$TOOL/bin/x && cd $DEST`, "TOOL DEST"},
		// A line with its own value for the variable works anywhere.
		{`x ${A:-default} ${B-} ${C:+y} ${D=z}`, ""},
		{`A=1; x $A`, ""},
		{`A=1 B=2 sh x; y $B`, ""},
		{`export A=1 && x "$A"`, ""},
		{`for f in *; do x "$f"; done; while read -r a b; do y $a $b; done`, ""},
		{`. ./env.sh; x $A`, ""},
		{`set -a; source .env; x $A`, ""},
		{`export $(cat .env | xargs); x $A`, ""},
		// A name that a shell does not replace is no variable.
		{`awk '{print $NF}' x; echo \$A "\$B" '$C' # $D`, ""},
		{`echo $1 $$ $? $# $@ $PWD $RANDOM`, ""},
		{`x`, ""},
	} {
		task := &schedule.Task{Command: schedule.Command{Line: test.line, Shell: []string{"/bin/sh", "-c"}}}
		if got := strings.Join(UsedVariables(task), " "); got != test.want {
			t.Errorf("%q uses %q, not %q", test.line, got, test.want)
		}
	}
	options := &schedule.Task{Command: schedule.Command{Line: "x $A", Shell: []string{"/bin/bash", "--posix", "-c"}}}
	if got := strings.Join(UsedVariables(options), " "); got != "A" {
		t.Errorf("--posix reads no profile: %q", got)
	}
	login := &schedule.Task{Command: schedule.Command{Line: "x $A", Shell: []string{"/bin/bash", "-lc"}}}
	list := &schedule.Task{Command: schedule.Command{List: []string{"x", "$A"}}}
	if got := append(UsedVariables(login), UsedVariables(list)...); got != nil {
		t.Errorf("a profile may set it, and a list expands nothing: %q", got)
	}
}

func TestTheVariablesThatACommandNeeds(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`echo [$FOO_BAR] "${OTHER}"`, "FOO_BAR OTHER"},
		{`A=1 B=2; x $A $B`, ""},
		{`export A=1 B=2; x $A $B`, ""},
		{`declare -i a=1 b; x $a $b`, ""},
		{`let N=1; x $N; x $((N+1))`, ""},
		{`[ -n "$DEBUG" ] && x "$DEBUG"; test -z $Q || x $Q; if $W; then x; fi; case $C in x) ;; esac`, ""},
		{"cat <<'END'\n$A\nEND", ""},
		{`x $SCHED_RUN $HOME $BASH_VERSION $PATH $TRACEPARENT ${A:-} ${B:=b}`, ""},
	} {
		task := &schedule.Task{Command: schedule.Command{Line: test.line, Shell: []string{"/bin/sh", "-c"}}}
		if got := strings.Join(NeededVariables(task), " "); got != test.want {
			t.Errorf("%q needs %q, not %q", test.line, got, test.want)
		}
	}
}

func TestFoldersThatALineNeeds(t *testing.T) {
	for line, want := range map[string]string{
		`cd /nope && make`:                       "/nope",
		`cd /nope; make`:                         "/nope",
		`cd /nope`:                               "/nope",
		`backup > /var/nofolder/x`:               "/var/nofolder",
		`cd /nope && x >> /var/nofolder/x`:       "/nope",
		`backup 2>&1 >/var/nofolder/x 2>&1`:      "/var/nofolder",
		`cd /nope || mkdir /nope`:                "",
		`mkdir -p /nope && cd /nope`:             "",
		`mkdir -p /nope; x > /nope/x`:            "",
		`cd nope && make`:                        "",
		`cd /nope/$DAY && make`:                  "",
		`cd "/nope" && make`:                     "",
		`ssh host "x > /var/nofolder/x"`:         "",
		`ssh host 'cd /nope && x'`:               "",
		`x 2>&1; y > /var/nofolder/x`:            "",
		`if cd /nope; then x > /nope/y; fi`:      "",
		`x > /var/nofolder/"a b"`:                "",
		`x > /var/nofolder/$(date +%F).txt`:      "",
		`echo done # cd /nope; > /nope/x`:        "",
		`x && (cd /nope && y > /var/nofolder/x)`: "",
	} {
		got := strings.Join(foldersOf(schedule.Command{Line: line, Shell: []string{"/bin/sh", "-c"}}), " ")
		if got != want {
			t.Errorf("%q needs %q, not %q", line, got, want)
		}
	}
}
