package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/crontab/proof"
	"sched/schedule/crontab/vixie"
	"sched/schedule/load"
	"sched/testing/schedtest"
)

// A cronLine is a line of a crontab that starts a command. This test reads it without the importer.
type cronLine struct {
	place    string // FILE:LINE
	settings []string
	when     string
	user     string // "" if lines have none
	text     string // the command with cron's signs in it: \% and what follows a %
	off      bool   // commented out
}

var (
	cronTimes   = `((?:[\d*][\w*/,-]*[ \t]+){2}(?:[\w*][\w*/,-]*[ \t]+){2}[\w*][\w*/,-]*|@[a-z]+)`
	userLine    = regexp.MustCompile(`^[ \t]*(#+\s*)?` + cronTimes + `[ \t]+()(.*)$`)
	systemLine  = regexp.MustCompile(`^[ \t]*(#+\s*)?` + cronTimes + `[ \t]+(\S+)[ \t]+(.*)$`)
	settingLine = regexp.MustCompile(`^\s*["']?\w+["']?\s*=`)
)

// cronLines reads a crontab. The line of a manual that names the columns is no entry.
func cronLines(name, text string, system bool) (all []cronLine) {
	var settings []string
	for i, line := range strings.Split(text, "\n") {
		shape := userLine
		if system {
			shape = systemLine
		}
		switch found := shape.FindStringSubmatch(line); {
		case found != nil && found[4] != "command to be executed":
			when := strings.Join(strings.Fields(found[2]), " ")
			all = append(all, cronLine{fmt.Sprintf("%s:%d", name, i+1), settings, when, found[3],
				found[4], found[1] != ""})
		case settingLine.MatchString(line):
			settings = append(settings[:len(settings):len(settings)], line)
		}
	}
	return all
}

// shipped are the crontabs of Debian's packages: the files of a folder cron.d, and crontabs whose
// lines have no user.
func shipped(t *testing.T) (system []cronLine, user map[string][]cronLine) {
	t.Helper()
	user = map[string][]cronLine{}
	paths, err := filepath.Glob("testdata/crontabs/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		inCronD := filepath.Base(filepath.Dir(path)) == "cron.d"
		lines := cronLines(filepath.Base(path), string(text), inCronD)
		if inCronD {
			system = append(system, lines...)
		} else {
			user[path] = lines
		}
	}
	return system, user
}

// imported returns the tasks that `sched import` makes of crontabs, what it says, and its exit
// code.
func imported(t *testing.T, args ...string) (tasks []*schedule.Task, said string, code int) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "schedule.yaml")
	c := exec.Command(schedtest.Binary, append([]string{"import", "-o", made}, args...)...)
	c.Env = append(os.Environ(), "TZ=Europe/Berlin", "HOME=/root")
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.HasSuffix(string(out), "has no line that starts a command: nothing is written\n") {
		return nil, string(out), c.ProcessState.ExitCode()
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	home := func(name string) (string, bool) { return "/root", name == "HOME" }
	s, err := load.File(made, load.Options{Getenv: home, Local: berlin})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s.Tasks, string(out), c.ProcessState.ExitCode()
}

// dueAsInCron compares two sets of minutes of a year: in the first Debian's cron starts a line, in
// the second the task is due.
func dueAsInCron(t *testing.T, place, when string, task *schedule.Task) {
	t.Helper()
	if when == "@reboot" {
		if !task.When.Boot || len(task.When.Crons) > 0 {
			t.Errorf("%s: %s is not due at a boot alone", place, task.Name)
		}
		return
	}
	times, err := vixie.Parse(when)
	if err != nil {
		t.Errorf("%s: %v", place, err)
		return
	}
	from := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	calendar := vixie.NewCalendar(task.When.Location, from, from.AddDate(1, 0, 0))
	if d := proof.Compare(times, calendar, task.When.Forward, from, from.AddDate(1, 0, 0)); d != nil {
		t.Errorf("%s: %s differs at %s; by cron: %t", place, task.Name, d.At, d.Cron)
	}
}

// Each line that a Debian package ships becomes a task with the same command and the same minutes.
// names.txt has the name of each task, so that a reader can judge it.
func TestNoLineOfTheCrontabsOfDebianPackagesIsLost(t *testing.T) {
	t.Parallel()
	never := map[string]string{ // hours that run backwards
		"sysstat:12": `cron never starts this line: no date matches "0 19-7 * * 1-5"`,
	}
	system, user := shipped(t)
	var names strings.Builder
	check := func(lines []cronLine, args ...string) []*schedule.Task {
		all, said, code := imported(t, args...)
		tasks := all
		if code != 0 || strings.Contains(said, "not imported") || strings.Contains(said, "is not that of the line") {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
		for _, line := range lines {
			if reason := never[line.place]; reason != "" {
				if !strings.Contains(said, line.place+": "+reason) {
					t.Errorf("%s is lost without a reason: %s", line.place, said)
				}
				continue
			}
			if len(tasks) == 0 {
				t.Fatalf("%s is no task: %s", line.place, said)
			}
			task := tasks[0]
			tasks = tasks[1:]
			if want := strings.ReplaceAll(line.text, `\%`, "%"); task.Command.Line != want {
				t.Errorf("%s: %s runs\n%q, want\n%q", line.place, task.Name, task.Command.Line, want)
			}
			if task.Enabled == line.off {
				t.Errorf("%s: %s is enabled: %t", line.place, task.Name, task.Enabled)
			}
			dueAsInCron(t, line.place, line.when, task)
			off := map[bool]string{true: "off"}[line.off]
			fmt.Fprintf(&names, "%-45s %-26s %-3s %s\n", task.Name, line.place, off, task.Command.Line)
		}
		if len(tasks) > 0 {
			t.Errorf("%s comes from no line", tasks[0].Name)
		}
		return all
	}
	tasks := check(system, "--system", "testdata/crontabs/cron.d")
	for _, path := range []string{"testdata/crontabs/user/piuparts-master", "testdata/crontabs/user/sysstat"} {
		check(user[path], path)
	}
	want, err := os.ReadFile("testdata/crontabs/names.txt")
	if err != nil || names.String() != string(want) {
		t.Errorf("testdata/crontabs/names.txt should be:\n%s", names.String())
	}
	t.Run("by Debian's cron", func(t *testing.T) { sameAsInCron(t, system, tasks) })
}

// debianSays returns what crontab(1) of Debian says against a crontab; "" if it takes it.
func debianSays(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crontab")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("crontab", "-n", file).CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out)
}

// needCrontab skips the test without the crontab(1) of Debian, which alone has -n.
func needCrontab(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("crontab"); err != nil {
		t.Skip(err)
	}
	if said := debianSays(t, "5 4 * * * true\n"); said != "" {
		t.Skip(said)
	}
}

func TestDebiansCrontabTakesWhatItsPackagesShip(t *testing.T) {
	t.Parallel()
	needCrontab(t)
	system, user := shipped(t)
	for _, lines := range user {
		system = append(system, lines...)
	}
	for _, line := range system {
		text := strings.Join(append(line.settings[:len(line.settings):len(line.settings)], line.when+" "+line.text), "\n") + "\n"
		if said := debianSays(t, text); said != "" {
			t.Errorf("%s: %s", line.place, said)
		}
	}
}

// A recorder is the shell of each line: it writes down the command, its input and its variables.
const recorder = `#!/bin/sh
printf %s "$2" >"$RECORDS/$RECORD.command"
/bin/cat >"$RECORDS/$RECORD.input"
/usr/bin/env -0 >"$RECORDS/$RECORD.new"
/bin/mv "$RECORDS/$RECORD.new" "$RECORDS/$RECORD.env"
`

// A heard line is what a shell got from Debian's cron.
type heard struct {
	command, input string
	env            map[string]string
}

// heardFromCron lets Debian's cron start each line once, as at a boot. That cron is alone in a
// mount namespace with an empty /run and with no other crontabs.
func heardFromCron(t *testing.T, lines []cronLine) (all []heard) {
	t.Helper()
	needCrontab(t)
	cron := "/usr/sbin/cron"
	if _, err := os.Stat(cron); err != nil || os.Geteuid() != 0 ||
		exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("only root can start a cron of its own, in a mount namespace")
	}
	dir := t.TempDir()
	table := "MAILTO=\"\"\nRECORDS=" + dir + "\n"
	for i, line := range lines {
		for _, setting := range line.settings {
			if !regexp.MustCompile(`^\s*(SHELL|HOME|MAILTO)\b`).MatchString(setting) {
				table += setting + "\n"
			}
		}
		table += fmt.Sprintf("SHELL=%s/recorder\nRECORD=%d\n@reboot %s\n", dir, i, line.text)
	}
	for name, text := range map[string]string{"recorder": recorder, "crontab": table} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("unshare", "--mount", "sh", "-ec", `
		for dir in /run /var/spool/cron/crontabs /etc/cron.d; do mount -t tmpfs -o mode=755 tmpfs $dir; done
		mount --bind /dev/null /etc/crontab
		crontab "$1"
		exec `+cron+` -f`, "sh", filepath.Join(dir, "crontab"))
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	defer func() {
		c.Process.Kill()
		<-ended
	}()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		done, _ := filepath.Glob(filepath.Join(dir, "*.env"))
		if len(done) == len(lines) {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("cron started %d of %d lines: %s", len(done), len(lines), out.String())
		}
	}
	for i := range lines {
		record := func(what string) string {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i, ".", what)))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		h := heard{record("command"), record("input"), map[string]string{}}
		for _, variable := range strings.Split(record("env"), "\x00") {
			name, value, _ := strings.Cut(variable, "=")
			h.env[name] = value
		}
		all = append(all, h)
	}
	return all
}

// sameAsInCron compares tasks with what Debian's cron gives the shell of their lines.
func sameAsInCron(t *testing.T, lines []cronLine, tasks []*schedule.Task) {
	t.Helper()
	for i, h := range heardFromCron(t, lines) {
		want := h.command
		if h.input != "" {
			want = "{\n" + h.command + "\n} <<'INPUT'\n" + h.input + "INPUT"
		}
		if got := tasks[i].Command.Line; got != want {
			t.Errorf("%s: %s runs\n%q, by cron\n%q", lines[i].place, tasks[i].Name, got, want)
		}
		for _, setting := range lines[i].settings {
			name := strings.Trim(strings.TrimSpace(strings.SplitN(setting, "=", 2)[0]), `"'`)
			if got, is := tasks[i].Env[name]; is && name != "SHELL" && name != "HOME" && got != h.env[name] {
				t.Errorf("%s: %s has %s=%q, by cron %q", lines[i].place, tasks[i].Name, name, got, h.env[name])
			}
		}
	}
}
