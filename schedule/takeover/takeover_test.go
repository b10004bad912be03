package takeover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/install"
	"sched/schedule/load"
	"sched/schedule/machine"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func home(string) (string, bool) { return "/root", true }

// planFor makes a plan for a machine of some files: text by path.
func planFor(t *testing.T, files map[string]string, o Options) *Plan {
	t.Helper()
	plan, err := tryPlan(t, files, o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func tryPlan(t *testing.T, files map[string]string, o Options) (*Plan, error) {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if strings.HasPrefix(path, "/var/spool/cron/") {
			mode = 0o600
		}
		if err := os.WriteFile(full, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	list, err := machine.Look(context.Background(), machine.Host{
		Root: root, Root0: os.Geteuid(), UID: os.Geteuid(), Zone: time.UTC, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	o.Root, o.Home, o.Zone, o.Now = true, home, time.UTC, noon
	o.Read = func(path string) (string, error) {
		text, err := os.ReadFile(filepath.Join(root, path))
		return string(text), err
	}
	file := "/etc/sched/schedule.yaml"
	if o.AsCrontab {
		file = "/etc/sched/crontab"
	}
	o.Load = func(text []byte) (*schedule.Schedule, error) {
		return load.Text(text, file, load.Options{Home: home, Getenv: func(string) (string, bool) { return "", false }})
	}
	return New(list, o)
}

// verdicts writes a line for each job.
func (p *Plan) verdicts() string {
	var b strings.Builder
	for _, v := range p.Verdicts {
		verdict := "left"
		if v.IsTaken() {
			verdict = "taken as " + strings.Join(v.Tasks, ", ")
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", v.Job.Place, verdict, v.Why)
	}
	return b.String()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nand not\n%s", got, want)
	}
}

var aMachine = map[string]string{
	"/etc/passwd":    "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n",
	"/usr/sbin/cron": "#!",
	"/etc/crontab": "SHELL=/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n\n" +
		"17 * * * *\troot\tcd / && run-parts --report /etc/cron.hourly\n" +
		"25 6 * * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }\n",
	"/etc/cron.daily/zip":   "#!/bin/sh\n",
	"/etc/cron.daily/apt":   "#!/bin/sh\n",
	"/etc/cron.daily/plain": "not executable\n",
	"/etc/cron.d/backup":    "MAILTO=ops@example.com\n# nightly\n0 2 * * 1-5 root /opt/backup\n* * * * * root date +\\%F\n",
	"/etc/cron.d/old.bak":   "* * * * * root /bin/false\n",
	"/etc/cron.d/sched":     "* * * * * root /usr/local/bin/sched run -q -c /srv/x.yaml\n",
}

func TestEachJobHasAVerdict(t *testing.T) {
	plan := planFor(t, aMachine, Options{})
	same(t, plan.verdicts(), `/etc/crontab:4: taken as cron.hourly: proven until 2054 but for its mail
/etc/cron.d/backup:3: taken as backup: proven until 2054
/etc/cron.d/backup:4: taken as date: proven until 2054
/etc/cron.d/old.bak:1: left: cron ignores the file
/etc/cron.d/sched:1: left: it is a tick of sched
/etc/cron.daily/apt: taken as cron.daily/apt: proven until 2054 but for its mail
/etc/cron.daily/plain: taken as cron.daily/plain: passed over as before: it is not executable
/etc/cron.daily/zip: taken as cron.daily/zip: proven until 2054 but for its mail
`)
	if len(plan.Files) != 2 || len(plan.Files[0].Lines) != 2 || len(plan.Files[1].Lines) != 2 {
		t.Errorf("%+v", plan.Files)
	}
}

// Cron mails to its user what a line prints that has no MAILTO above it, and the schedule does not.
func TestALineWhoseMailIsLostIsNamed(t *testing.T) {
	files := map[string]string{"/etc/passwd": aMachine["/etc/passwd"], "/usr/sbin/cron": "#!",
		"/etc/cron.d/x": "1 1 * * * root /bin/lost\n2 1 * * * root /bin/silent >/dev/null 2>&1\n" +
			"# sched: after={run: /bin/y}\n3 1 * * * root /bin/own\nMAILTO=\"\"\n4 1 * * * root /bin/none\n" +
			"MAILTO=ops@example.com\n5 1 * * * root /bin/mailed\n"}
	want := `/etc/cron.d/x:1: taken as lost: proven until 2054 but for its mail
/etc/cron.d/x:2: taken as silent: proven until 2054
/etc/cron.d/x:4: taken as own: proven until 2054
/etc/cron.d/x:6: taken as none: proven until 2054
/etc/cron.d/x:8: taken as mailed: proven until 2054
`
	same(t, planFor(t, files, Options{}).verdicts(), want)
	plan := planFor(t, files, Options{AsCrontab: true})
	if !plan.MailsTo || !strings.HasSuffix(plan.Verdicts[0].Why, " but for its mail") {
		t.Error(plan.verdicts())
	}
}

// It makes no difference to a run that its command may have a secret.
func TestASecretInALineIsKeptFromOthers(t *testing.T) {
	for command, isSecret := range map[string]bool{"PGPASSWORD=hunter2 pg_dump shop": true, "pg_dump shop": false} {
		files := map[string]string{"/etc/passwd": aMachine["/etc/passwd"], "/usr/sbin/cron": "#!",
			"/etc/cron.d/dump": "0 2 * * * root " + command + "\n"}
		plan := planFor(t, files, Options{})
		same(t, plan.verdicts(), "/etc/cron.d/dump:1: taken as pg_dump-shop: proven until 2054 but for its mail\n")
		if plan.Secret != isSecret {
			t.Errorf("%s is a secret: %t", command, plan.Secret)
		}
	}
}

// The files of a folder run one after another, in the order of run-parts, and a last task runs what
// packages put there later.
func TestTheFilesOfAFolderAreTasksInTheirOrder(t *testing.T) {
	plan := planFor(t, aMachine, Options{Places: []string{"/etc/cron.daily"}})
	_, tasks, _ := strings.Cut(plan.Text, "tasks:\n")
	same(t, tasks, `  - name: cron.daily/apt
    cron: "25 6 * * *"
    background: false
    command: cd / && if [ -x /etc/cron.daily/apt ]; then /etc/cron.daily/apt; fi

  - name: cron.daily/plain
    cron: "25 6 * * *"
    background: false
    command: cd / && if [ -x /etc/cron.daily/plain ]; then /etc/cron.daily/plain; fi

  - name: cron.daily/zip
    cron: "25 6 * * *"
    background: false
    command: cd / && if [ -x /etc/cron.daily/zip ]; then /etc/cron.daily/zip; fi

  - name: cron.daily/others
    cron: "25 6 * * *"
    background: false
    command: cd / && for job in $(run-parts --test /etc/cron.daily); do case $job in /etc/cron.daily/apt|/etc/cron.daily/plain|/etc/cron.daily/zip) ;; *) $job ;; esac; done
`)
}

// A file that run-parts passes over by its name never runs, not even when it is executable.
func TestAFileThatRunPartsPassesOverIsNoTask(t *testing.T) {
	files := map[string]string{"/etc/passwd": aMachine["/etc/passwd"], "/usr/sbin/cron": "#!",
		"/etc/crontab":              "25 6 * * * root cd / && run-parts --report /etc/cron.daily\n",
		"/etc/cron.daily/backup.sh": "#!/bin/sh\n", "/etc/cron.daily/old~": "#!/bin/sh\n", "/etc/cron.daily/zip": "#!/bin/sh\n"}
	name := leftSkipped + "its name is not of letters, digits, _ and - alone\n"
	plan := planFor(t, files, Options{})
	same(t, plan.verdicts(), "/etc/cron.daily/backup.sh: left: "+name+"/etc/cron.daily/old~: left: "+name+
		"/etc/cron.daily/zip: taken as cron.daily/zip: proven until 2054 but for its mail\n")
	if strings.Contains(plan.Text, "backup.sh") || strings.Contains(plan.Text, "old~") {
		t.Error(plan.Text)
	}
	same(t, fmt.Sprint(plan.Files[0].Lines[0].Tasks), "[cron.daily/zip cron.daily/others]")

	delete(files, "/etc/cron.daily/zip")
	plan = planFor(t, files, Options{})
	if strings.Contains(plan.Text, "case") || !strings.Contains(plan.Text, "name: cron.daily/others") {
		t.Error(plan.Text)
	}
	// As a crontab the line itself stays.
	plan = planFor(t, files, Options{AsCrontab: true})
	if !strings.Contains(plan.Text, "run-parts --report /etc/cron.daily\n") || !plan.Verdicts[0].IsTaken() {
		t.Error(plan.Text, plan.verdicts())
	}
}

// A line that does more than run-parts would lose the rest if the files of its folder were tasks.
func TestALineThatDoesMoreThanRunPartsStaysOneCommand(t *testing.T) {
	files := map[string]string{"/etc/passwd": aMachine["/etc/passwd"], "/usr/sbin/cron": "#!",
		"/etc/cron.daily/zip": "#!/bin/sh\n", "/etc/cron.daily/backup.sh": "#!/bin/sh\n"}
	for command, split := range map[string]bool{
		"cd / && run-parts --report /etc/cron.daily":                                  true,
		"test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )": true,
		"[ -x /usr/sbin/anacron ] || { cd / && /bin/run-parts /etc/cron.daily; }":     true,
		"nice run-parts /etc/cron.daily":                                              true,
		"run-parts /etc/cron.daily && curl -fsS https://hc.example.com/x":             false,
		"flock -n /run/daily.lock run-parts /etc/cron.daily":                          false,
		"run-parts --exit-on-error /etc/cron.daily":                                   false,
		"run-parts --regex='^.*$' /etc/cron.daily":                                    false,
	} {
		files["/etc/crontab"] = "25 6 * * * root " + command + "\n"
		plan := planFor(t, files, Options{})
		if strings.Contains(plan.Text, "name: cron.daily/zip") != split {
			t.Errorf("%s: %s", command, plan.Text)
		}
		if !split && !strings.Contains(plan.Text, "command: "+command+"\n") {
			t.Errorf("%s: %s", command, plan.Text)
		}
		if nice := strings.HasPrefix(command, "nice"); strings.Count(plan.Text, "nice: 10\n") != 2 && nice {
			t.Errorf("%s: %s", command, plan.Text)
		}
	}
}

// withAnacron is a machine whose cron.daily anacron runs, with the days on which it ran jobs last.
func withAnacron(cron string, stamps map[string]string) map[string]string {
	files := map[string]string{
		"/etc/passwd": aMachine["/etc/passwd"], cron: "#!", "/usr/sbin/anacron": "#!",
		"/etc/cron.daily/apt": "#!/bin/sh\n",
		"/etc/cron.d/anacron": "30 7-23 * * * root /usr/sbin/anacron -s\n",
		"/etc/anacrontab": "SHELL=/bin/sh\nRANDOM_DELAY=30\nSTART_HOURS_RANGE=3-22\n" +
			"1\t5\tcron.daily\trun-parts --report /etc/cron.daily\n7\t70\tweekly\t/opt/weekly\n" +
			"@monthly\t15\tmonthly\t/opt/monthly\n3\t5\tthird\t/opt/third\n",
	}
	for name, day := range stamps {
		files["/var/spool/anacron/"+name] = day + "\n"
	}
	return files
}

func TestLinesOfAnacronRunOnceAlsoAfterATimeOff(t *testing.T) {
	stamps := map[string]string{"cron.daily": "20261128", "weekly": "20261125", "third": "20261128"}
	plan := planFor(t, withAnacron("/usr/sbin/crond", stamps), Options{})
	off := "with this difference: after a time off it starts with the first tick, not some minutes later; its mail goes to nobody"
	same(t, plan.verdicts(), `/etc/cron.d/anacron:1: left: `+leftStarter+`
/etc/cron.daily/apt: taken as cron.daily/apt: `+off+`
/etc/anacrontab:5: taken as anacron/weekly: `+off+`
/etc/anacrontab:6: left: `+leftNotToday+`
/etc/anacrontab:7: left: `+leftPeriod+`
`)
	_, tasks, _ := strings.Cut(plan.Text, "tasks:\n")
	want := `  - name: cron.daily/apt
    cron: "35 7 * * *"
    background: false
    missed: once
    missed_within: 24h
    spread: 30m
    between: ["3:00", "21:59"]
    command: cd / && if [ -x /etc/cron.daily/apt ]; then /etc/cron.daily/apt; fi
`
	if !strings.HasPrefix(tasks, want) || !strings.Contains(tasks, "cron: \"40 8 * * 3\"\n") {
		t.Errorf("%s", tasks)
	}
	// Debian's anacron knows neither the hours nor the random delay.
	plan = planFor(t, withAnacron("/usr/sbin/cron", stamps), Options{})
	if strings.Contains(plan.Text, "spread") || strings.Contains(plan.Text, "between") ||
		!strings.Contains(plan.Text, "cron: \"35 7 * * *\"\n") {
		t.Errorf("%s", plan.Text)
	}
}

// Anacron keeps a daily line until it has run it: nobody would run it today otherwise.
func TestALineOfAnacronIsLeftOnADayOnWhichItHasNotRun(t *testing.T) {
	plan := planFor(t, withAnacron("/usr/sbin/cron", map[string]string{"cron.daily": "20261127"}), Options{})
	if !strings.Contains(plan.verdicts(), "/etc/cron.daily/apt: left: "+leftNotToday) {
		t.Error(plan.verdicts())
	}
}

// As a crontab each line stays as it is, and no setting of a file reaches into the next one.
func TestAsACrontabTheLinesStay(t *testing.T) {
	files := map[string]string{
		"/etc/passwd": aMachine["/etc/passwd"], "/usr/sbin/cron": "#!",
		"/etc/cron.d/first":                "PATH=/opt/bin\nMAILTO=ops@example.com\n1 1 * * *\troot  /opt/one  # why\n",
		"/etc/cron.d/second":               "MAILTO=\"\"\n2 2 * * * root date +\\%F\n",
		"/etc/cron.d/third":                "X=1\nPATH=/bin\n3 3 * * * root echo $X\n",
		"/var/spool/cron/crontabs/nobody":  "",
		"/var/spool/cron/crontabs/unknown": "",
	}
	plan := planFor(t, files, Options{AsCrontab: true})
	same(t, plan.Text, `# Taken over from cron by `+"`sched takeover`; `sched takeover --undo`"+` gives everything back.
# sched: system

# /etc/cron.d/second

MAILTO=""
2 2 * * * root date +\%F

# /etc/cron.d/first

PATH=/opt/bin
MAILTO=ops@example.com
1 1 * * *	root  /opt/one  # why

# /etc/cron.d/third

PATH=/bin
MAILTO=""
X=1
3 3 * * * root echo $X
`)
}

func TestAPlaceWithoutAJobIsAnError(t *testing.T) {
	_, err := New(&machine.List{Jobs: []machine.Job{{Place: "/etc/cron.d/backup:3", File: "/etc/cron.d/backup"}}},
		Options{Places: []string{"/etc/cron.d/bakcup"}})
	if none, ok := err.(*NoJobError); !ok || none.Near != "/etc/cron.d/backup" {
		t.Errorf("%v", err)
	}
}

// Marks go in and come out again, whatever the lines are, and count from their minute on.
func TestMarksComeOutAsTheyWentIn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	j := &Journal{Line: install.Line{File: "/srv/schedule.yaml"}}
	words := []string{"a", "b", "* * * * * a", "", "#", " # x: y", "A=1", "a\r"}
	for range 2000 {
		var text string
		var lines []Line
		wanted := map[string]int{}
		for range r.IntN(8) {
			raw := words[r.IntN(len(words))]
			text += raw + "\n"
			if r.IntN(2) == 0 {
				lines = append(lines, Line{Raw: raw, Tasks: []string{fmt.Sprint("t", len(lines))}})
				wanted[raw]++
			}
		}
		if r.IntN(4) == 0 {
			text = strings.TrimSuffix(text, "\n")
		}
		marked, missing := j.putMarks(text, lines, noon)
		for range missing { // an empty last line is no line
			if r := missing[0].Raw; r != "" {
				t.Fatalf("%q has no %q", text, r)
			}
		}
		again, _ := j.putMarks(marked, lines, noon.Add(time.Hour))
		plain, _ := j.takeMarks(marked, lines)
		if again != marked || plain != text {
			t.Fatalf("%q became %q, %q and %q", text, marked, again, plain)
		}
		taken, early := 0, 0
		for _, n := range j.taken(marked, noon) {
			taken += n
		}
		for _, n := range j.taken(marked, noon.Add(-time.Minute)) {
			early += n
		}
		if taken != len(lines)-len(missing) || early != 0 {
			t.Fatalf("%d and %d of %d in %q", taken, early, len(lines), marked)
		}
	}
}

// A mover with files in a folder, in which no cron runs: nothing has to be waited for.
func newMover(t *testing.T) (m *Mover, dir string) {
	dir = t.TempDir()
	table := filepath.Join(dir, "crontab")
	text := "# mine\n1 1 * * * root a\n2 2 * * * root b\n"
	if err := os.WriteFile(table, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "cron.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	j := &Journal{Line: install.Line{Program: "/bin/sched", File: filepath.Join(dir, "schedule.yaml")},
		Text: "tasks: []\n", Name: "x", Began: noon, Files: []File{{Path: table, Text: text, Lines: []Line{
			{Raw: "1 1 * * * root a", Tasks: []string{"a"}}, {Raw: "2 2 * * * root b", Tasks: []string{"b"}}}}}}
	if err := j.Create(filepath.Join(dir, "journals")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	now := noon.Add(10 * time.Second)
	return &Mover{Journal: j, CronFolder: filepath.Join(dir, "cron.d"), Backups: filepath.Join(dir, "journals"),
		Now:      func() time.Time { return now },
		LastTick: func() (time.Time, error) { return noon, nil },
		Say:      t.Logf}, dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func never(string) time.Time { return time.Time{} }

func TestATableIsTakenAndGivenBack(t *testing.T) {
	m, dir := newMover(t)
	table := filepath.Join(dir, "crontab")
	before := read(t, table)
	same(t, strings.Join(m.Held(noon.Add(time.Minute)), " "), "a b")
	from, err := m.Take(t.Context())
	if err != nil || !from.Equal(noon.Add(time.Minute)) {
		t.Fatal(from, err)
	}
	mark := "# taken by sched " + m.Line.ID() + " since 2026-11-28T12:01Z: "
	same(t, read(t, table), "# mine\n"+mark+"1 1 * * * root a\n"+mark+"2 2 * * * root b\n")
	same(t, strings.Join(m.Held(noon), " "), "a b")
	same(t, strings.Join(m.Held(noon.Add(time.Minute)), " "), "")
	if info, err := os.Stat(table); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "cron.d", "*"))
	if len(files) != 1 || !strings.Contains(read(t, files[0]), " run -q -c "+m.Line.File) {
		t.Error(files)
	}
	changed, err := m.GiveBack(t.Context(), never)
	if err != nil || len(changed) > 0 {
		t.Fatal(changed, err)
	}
	same(t, read(t, table), before)
	for _, gone := range []string{m.Line.File, files[0], m.path} {
		if _, err := os.Stat(gone); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
}

// A line that somebody changed between the plan and the handover stops it: cron has what it has.
func TestAChangedLineStopsTheHandover(t *testing.T) {
	m, dir := newMover(t)
	table := filepath.Join(dir, "crontab")
	text := strings.Replace(read(t, table), "2 2", "3 3", 1)
	if err := os.WriteFile(table, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "2 2 * * * root b") {
		t.Error(err)
	}
	same(t, read(t, table), text)
	same(t, strings.Join(m.Held(noon.Add(time.Hour)), " "), "a b")
}

// Edits since then stay, and are listed.
func TestWhatWasEditedIsListedAndNotLost(t *testing.T) {
	m, dir := newMover(t)
	table := filepath.Join(dir, "crontab")
	if _, err := m.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(read(t, table), "# mine\n", "# ours\n", 1)
	lines := strings.SplitAfter(edited, "\n")
	if err := os.WriteFile(table, []byte(lines[0]+lines[1]+"4 4 * * * root new\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.Line.File, []byte("tasks:\n  - {name: c, every: day, command: x}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	changed, err := m.GiveBack(t.Context(), never)
	if err != nil {
		t.Fatal(err)
	}
	same(t, strings.Join(changed, "\n"), table+": the line was taken out, and stays out: 2 2 * * * root b\n"+
		m.Line.File+" was edited, and stays; no tick reads it any more:\n- tasks: []\n+ tasks:\n"+
		"+   - {name: c, every: day, command: x}")
	same(t, read(t, table), "# ours\n1 1 * * * root a\n4 4 * * * root new\n")
	read(t, m.Line.File)
}

// Anacron learns on which day its job ran, so that it does not run it once more.
func TestAnacronLearnsOfTheLastRun(t *testing.T) {
	m, dir := newMover(t)
	stamp := filepath.Join(dir, "stamp")
	if err := os.WriteFile(stamp, []byte("20261120\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Files[0].Lines[0].Stamp = stamp
	if _, err := m.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.GiveBack(t.Context(), func(task string) time.Time { return noon }); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, stamp), "20261128\n")
}

func TestOnlyOneProcessWorksOnATakeover(t *testing.T) {
	m, dir := newMover(t)
	if _, err := Open(filepath.Join(dir, "journals"), m.Line); err != ErrBusy {
		t.Error(err)
	}
}

// Debian's cron takes CRON_TZ for a variable, so a task that does the same has the zone of the
// machine. Another cron starts the lines below it by that zone.
func TestCronTZMeansWhatItMeansToTheCronThatIsThere(t *testing.T) {
	for cron, zone := range map[string]bool{"/usr/sbin/cron": false, "/usr/sbin/crond": true} {
		plan := planFor(t, map[string]string{"/etc/passwd": aMachine["/etc/passwd"], cron: "#!",
			"/etc/cron.d/x": "CRON_TZ=America/New_York\n17 */3 * * * root /opt/x\n"}, Options{})
		if strings.Contains(plan.Text, "timezone: America/New_York") != zone {
			t.Errorf("%s: %s", cron, plan.Text)
		}
	}
}

// A user's crontab decides nothing but what that user runs: comments and settings that mean
// something in a schedule of root's set nothing there.
func TestAUsersCrontabHasNoSayInRootsSchedule(t *testing.T) {
	files := map[string]string{
		"/etc/passwd": aMachine["/etc/passwd"], "/usr/sbin/cron": "#!",
		"/etc/cron.d/ours": "# sched: timeout=5m\n1 1 * * * root /opt/ours\n",
		"/var/spool/cron/crontabs/ann": "# sched: state_dir=/tmp/x defaults.user=root\n\nSHELL=/bin/${HOME}\nX=${file:/etc/shadow}\n" +
			"# ${HOME}\n# sched: user=root, name=up, before={run: /home/ann/up}\n2 2 * * * /home/ann/job ${HOME}\n",
	}
	plan := planFor(t, files, Options{})
	_, tasks, _ := strings.Cut(plan.Text, "tasks:\n")
	same(t, tasks, `  # /etc/cron.d/ours

  - name: ours
    cron: "1 1 * * *"
    timeout: 5m
    command: /opt/ours

  # /var/spool/cron/crontabs/ann

  - name: ann-job
    description: ${HOME}
    cron: "2 2 * * *"
    user: ann
    shell: ["/bin/${HOME}", -c]
    env:
      SHELL: /bin/$${HOME}
      X: $${file:/etc/shadow}
    command: /home/ann/job ${HOME}
`)
	if strings.Contains(plan.Text, "state_dir") {
		t.Error(plan.Text)
	}
}

// A user whose name is a day of the week, and whose command begins like a line of root's, stays who
// runs it.
func TestNoLineOfACrontabChangesItsUser(t *testing.T) {
	files := map[string]string{
		"/etc/passwd":    "root:x:0:0::/root:/bin/sh\nsun:x:1000:1000::/home/sun:/bin/sh\n",
		"/usr/sbin/cron": "#!",
		"/var/spool/cron/crontabs/sun": "1 2 3 4 5 root /home/sun/up\n0 1 2 3 4 5 root /home/sun/up\n" +
			"@daily root /home/sun/up\n1 2 3 4 0 2026 root /home/sun/up\n",
	}
	for _, o := range []Options{{}, {AsCrontab: true}} {
		plan, err := tryPlan(t, files, o)
		if err != nil {
			t.Fatal(err)
		}
		if o.AsCrontab {
			t.Log(plan.Text)
			plan.Text = string(crontab.Convert([]*crontab.Table{crontab.Parse(crontab.Source{
				Name: "crontab", Text: plan.Text, System: true})}, crontab.Options{Home: home}).YAML(nil))
		}
		if strings.Contains(plan.Text, "user: root") || !strings.Contains(plan.Text, "user: sun") {
			t.Error(plan.Text)
		}
	}
}

// A draft that cannot be written, as on a full disk, leaves cron what it has.
func TestAFileThatCannotBeReplacedStaysCrons(t *testing.T) {
	m, dir := newMover(t)
	table := filepath.Join(dir, "crontab")
	before := read(t, table)
	if err := os.MkdirAll(filepath.Join(dir, ".crontab.sched", "x"), 0o755); err != nil { // where the draft would be
		t.Fatal(err)
	}
	if _, err := m.Take(t.Context()); err == nil || m.Done {
		t.Error(err, m.Done)
	}
	same(t, read(t, table), before)
	same(t, strings.Join(m.Held(noon.Add(time.Hour)), " "), "a b")
}

// While lines are given back, and after that was cut off, the journal says so.
func TestTheJournalSaysThatLinesAreGivenBack(t *testing.T) {
	m, dir := newMover(t)
	if _, err := m.Take(t.Context()); err != nil || !m.Done || m.Back {
		t.Fatal(err, m.Done, m.Back)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".crontab.sched", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := m.GiveBack(t.Context(), never); err == nil {
		t.Fatal("it could not replace the file")
	}
	m.Close()
	again, err := Open(filepath.Join(dir, "journals"), m.Line)
	if err != nil || again.Done || !again.Back {
		t.Fatal(again, err)
	}
	again.Close()
}
