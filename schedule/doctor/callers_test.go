package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/load"
	"sched/schedule/usercrontab"
)

func TestLinesOfACrontab(t *testing.T) {
	const crontab = "# m h dom\nMAILTO=a@example.com\nPATH = /bin\n\n* * * * * sched run\n@daily tidy\n0 3 * * * \t/opt/backup --all"
	lines := parseLines("crontab -l", crontab, false)
	if len(lines) != 3 || lines[0].Line != 5 || lines[0].Command != "sched run" || lines[1].When != "@daily" ||
		lines[0].lacksLineBreak || !lines[2].lacksLineBreak {
		t.Errorf("%+v", lines)
	}
	system := parseLines("/etc/crontab", "* * * * * shop sched run -c /srv/a.yaml\n", true)
	if len(system) != 1 || system[0].User != "shop" || system[0].Command != "sched run -c /srv/a.yaml" {
		t.Errorf("%+v", system)
	}
}

func TestCallsOfSched(t *testing.T) {
	for _, test := range []struct {
		command string
		program string // empty for no call
		config  string
	}{
		{"/usr/local/bin/sched run -q -c /srv/shop/schedule.yaml", "/usr/local/bin/sched", "/srv/shop/schedule.yaml"},
		{"sched run --config=/srv/a.yaml >/dev/null 2>&1", "sched", "/srv/a.yaml"},
		{"cd /srv/shop && /usr/bin/sched run", "/usr/bin/sched", "/srv/shop/schedule.yaml"},
		{"cd /srv/shop; sched run -c other.yaml", "sched", "/srv/shop/other.yaml"},
		{"sched run -q", "sched", "/home/a/schedule.yaml"},
		{"flock -n /tmp/x sched run -c '/srv/a.yaml'", "sched", "/srv/a.yaml"},
		{"/usr/bin/sched work -c /srv/a.yaml", "/usr/bin/sched", "/srv/a.yaml"},
		{"sched status -c /srv/a.yaml", "", ""},
		{"/opt/mysched run", "", ""},
		{"php artisan schedule:run", "", ""},
	} {
		c, ok := callOf(test.command, "/home/a")
		if ok != (test.program != "") || ok && (c.program != test.program || c.config != test.config) {
			t.Errorf("%q: %+v %v", test.command, c, ok)
		}
	}
}

// subjectIn returns a subject with a schedule in a folder of the test.
func subjectIn(t *testing.T, yaml string) *Subject {
	t.Helper()
	return subjectOf(t, filepath.Join(t.TempDir(), "schedule.yaml"), yaml)
}

// subjectOf writes a schedule, and returns the subject with it.
func subjectOf(t *testing.T, file, yaml string) *Subject {
	t.Helper()
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load.File(file, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Subject{Schedule: s, Now: time.Now(), Environ: []string{"HOME=" + filepath.Dir(file), "PATH=/usr/bin:/bin"},
		Self: self, Zone: "UTC"}
}

func TestWhatIsWrongWithALine(t *testing.T) {
	for _, test := range []struct {
		line string // FILE is the schedule, SELF this program
		want string // empty for nothing
	}{
		{"* * * * * SELF run -q -c FILE\n", ""},
		{"*/1 * * * * SELF run -q -c FILE\n", ""},
		{"*/5 * * * * SELF run -q -c FILE\n", "not each minute"},
		{"* * * * * SELF run -q -c FILE", "does not end"},
		{"* * * * * sched run -c FILE\n", "without its path"},
		{"* * * * * /none/sched run -c FILE\n", "which is not there"},
		{"* * * * * SELF run -c FILE >> /tmp/$(date +%F)\n", `has a %`},
		{"* * * * * SELF run -c FILE >> /tmp/$(date +\\%F)\n", ""},
	} {
		s := subjectIn(t, "tasks: []")
		own := filepath.Join(filepath.Dir(s.Schedule.File), "sched")
		if err := os.Symlink(s.Self, own); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("SELF", own, "FILE", s.Schedule.File).Replace(test.line)
		lines := parseLines("crontab -l", text, false)
		ours := callingLines(s, lines)
		if len(ours) != 1 {
			t.Fatalf("%q: %d lines", test.line, len(ours))
		}
		found := lineFindings(s, ours[0])
		if len(found) > 0 != (test.want != "") || len(found) > 0 && !strings.Contains(found[0].Text, test.want) {
			t.Errorf("%q: %v", test.line, found)
		}
	}
}

func TestALineOfAScheduleThatIsGoneIsNamed(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	const old = "/none/old/schedule.yaml"
	installed := "* * * * * /usr/bin/sched run -q -c " + old + usercrontab.Mark(old)
	for _, test := range []struct {
		line string
		hint string // empty for nothing
	}{
		{installed, "`sched uninstall -c " + old + "` takes it out"},
		{"* * * * * sched run -q -c " + old, "take the line out of the crontab"},
		{"* * * * * cd /none/old && sched run", "take the line out of the crontab"},
		{"* * * * * sched run -c " + s.Schedule.File, ""},
		{"* * * * * sched run -c '/none/my schedule.yaml'", ""}, // only a shell can read it
		{"* * * * * sched run -c $HOME/none.yaml", ""},
		{"* * * * * sched run", ""},
		{"* * * * * sched status -c " + old, ""},
		{"# " + installed, ""},
	} {
		found := findGoneSchedules(s, parseLines("crontab -l", test.line+"\n", false))
		if len(found) > 0 != (test.hint != "") {
			t.Errorf("%q: %v", test.line, found)
		}
		want := "crontab -l:1 calls a schedule that is not there: " + old
		if len(found) > 0 && (found[0].Hint != test.hint || found[0].Text != want || found[0].Level != Warning) {
			t.Errorf("%q: %v", test.line, found)
		}
	}
}

// A timer that is not enabled ticks nothing, and a line alone ticks once.
func TestATimerBesideALineOfACrontabTicksTwice(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	folder := t.TempDir()
	before := unitFolders
	unitFolders = []string{folder}
	t.Cleanup(func() { unitFolders = before })
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sched.service", "[Service]\nExecStart=/usr/bin/sched run -c "+s.Schedule.File+"\nKillMode=process\n")
	write("sched.timer", "[Timer]\n")
	s.crontabsOnce.Do(func() {
		s.cronLines = parseLines("crontab -l", "* * * * * /usr/bin/sched run -c "+s.Schedule.File+"\n", false)
	})
	if found := checkDoubles(context.Background(), s); found[0].Level != OK {
		t.Errorf("%v", found)
	}
	wants := filepath.Join(folder, "timers.target.wants")
	if err := errors.Join(os.Mkdir(wants, 0o755),
		os.Symlink("../sched.timer", filepath.Join(wants, "sched.timer"))); err != nil {
		t.Fatal(err)
	}
	if found := checkDoubles(context.Background(), s); found[0].Level != Bad ||
		!strings.Contains(found[0].Text, "sched.timer is enabled, and crontab -l:1 calls") {
		t.Errorf("%v", found)
	}
}

func TestALineWithTheCommandOfATaskIsNamed(t *testing.T) {
	s := subjectIn(t, `tasks:
  - {name: backup, every: day, command: "tar czf x-$(date +%F).tgz /srv"}
  - {name: off, every: day, command: tidy, enabled: false}
  - {name: words, every: day, command: [tidy, --all]}
`)
	s.crontabsOnce.Do(func() {
		s.cronLines = parseLines("crontab -l",
			"0 3 * * * tar czf x-$(date +\\%F).tgz /srv\n0 4 * * * tidy\n0 5 * * * other\n", false)
	})
	found := checkDoubles(context.Background(), s)
	if len(found) != 1 || found[0].Level != Warning ||
		found[0].Text != "crontab -l:1 has the command of the task backup, too" {
		t.Errorf("%v", found)
	}
}

func TestUnitsNeedTheirKillMode(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	folder := t.TempDir()
	before := unitFolders
	unitFolders = []string{folder}
	t.Cleanup(func() { unitFolders = before })
	write := func(mode string) {
		text := "[Service]\nType=oneshot\nExecStart=/usr/bin/sched run -q -c " + s.Schedule.File + "\n" + mode
		if err := os.WriteFile(filepath.Join(folder, "sched.service"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		mode string
		want Level
	}{{"", Bad}, {"KillMode=mixed\n", Bad}, {"KillMode=process\n", OK}} {
		write(test.mode)
		if found := checkSystemd(context.Background(), s); found[0].Level != test.want {
			t.Errorf("%q: %v", test.mode, found)
		}
	}
}
