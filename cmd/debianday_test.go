package cmd_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/crontab/vixie"
	"sched/schedule/load"
	"sched/testing/machine"
	"sched/testing/schedtest"
)

// Each file of a Debian package is a schedule as it is: its lines are due when Debian's cron starts
// them.
func TestEachCrontabOfADebianPackageIsASchedule(t *testing.T) {
	t.Parallel()
	anybody := func(string) (string, bool) { return "/", true }
	system, _ := shipped(t)
	files := map[string][]cronLine{}
	for _, line := range system {
		file, _, _ := strings.Cut(line.place, ":")
		files[file] = append(files[file], line)
	}
	if len(files) < 40 {
		t.Errorf("these are %d files", len(files))
	}
	for file, lines := range files {
		s, err := load.File(filepath.Join("testdata/crontabs/cron.d", file),
			load.Options{Home: anybody, Getenv: os.LookupEnv})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if len(s.BadLines) > 0 || len(s.Tasks) != len(lines) {
			t.Errorf("%s: %d tasks of %d lines, left: %v", file, len(s.Tasks), len(lines), s.BadLines)
			continue
		}
		for i, line := range lines {
			dueAsInCron(t, line.place, line.when, s.Tasks[i])
		}
	}
}

// A debianDay is `sched work` with all crontabs of the packages, as root in a mount namespace.
// Recorders are the shells there, and the users of the lines exist. The clock stands still in each
// minute until all of the minute is recorded.
type debianDay struct {
	*testing.T
	dir   string
	users map[string]int // and their ids
}

// A dayStart is a line that was started.
type dayStart struct{ user, command string }

// The crontabs that Debian's packages ship run under `sched work`. Each line starts in the minutes
// in which Debian's cron starts it, as its user. The day is a Sunday, the first of a month. By
// default the test tries a few minutes in which many lines start; SCHED_TEST_DAY has the whole day,
// in four parts.
func TestADayOfTheCrontabsOfDebianPackages(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 || exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("only root has a mount namespace, and starts the lines of all users")
	}
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if os.Getenv("SCHED_TEST_DAY") == "" {
		machine.Turn(t)
		aPartOfTheDay(t, day.Add(6*time.Hour+20*time.Minute), 12)
		return
	}
	for part := range 4 {
		t.Run(fmt.Sprint(part+1), func(t *testing.T) {
			t.Parallel()
			aPartOfTheDay(t, day.Add(time.Duration(part)*6*time.Hour), 6*60)
		})
	}
}

func aPartOfTheDay(t *testing.T, from time.Time, minutes int) {
	dir, err := os.MkdirTemp(filepath.Dir(schedtest.Binary), "day") // where other users find their way
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o711)
	d := &debianDay{T: t, dir: dir, users: map[string]int{}}
	want := d.due(from, minutes)
	d.prepare()
	begun := time.Now()
	got := d.run(from, minutes, want)
	starts := 0
	for i := range minutes {
		clock := from.Add(time.Duration(i) * time.Minute).Format("15:04")
		if !slices.Equal(got[clock], want[clock]) {
			t.Errorf("at %s started\n%s\nby Debian's cron\n%s", clock, listed(got[clock]), listed(want[clock]))
		}
		starts += len(got[clock])
		delete(got, clock)
	}
	for clock, all := range got {
		t.Errorf("at %s started\n%s", clock, listed(all))
	}
	t.Logf("%d starts in %d minutes took %s", starts, minutes, time.Since(begun).Round(time.Second))
}

func listed(all []dayStart) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "  %s: %s\n", s.user, s.command)
	}
	return b.String()
}

func sortStarts(all []dayStart) {
	slices.SortFunc(all, func(a, b dayStart) int { return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.command, b.command)) })
}

// due returns what Debian's cron starts in each minute, and learns the users.
func (d *debianDay) due(from time.Time, minutes int) map[string][]dayStart {
	want := map[string][]dayStart{}
	to := from.Add(time.Duration(minutes) * time.Minute)
	calendar := vixie.NewCalendar(time.UTC, from, to)
	system, _ := shipped(d.T)
	for _, line := range system {
		d.users[line.user] = 0
		if line.off || line.when == "@reboot" {
			continue
		}
		times, err := vixie.Parse(line.when)
		if err != nil {
			d.Fatalf("%s: %v", line.place, err)
		}
		for _, at := range times.Due(calendar, from.Unix()/60, to.Unix()/60, nil) {
			minute := time.Unix(at*60, 0).UTC().Format("15:04")
			want[minute] = append(want[minute], dayStart{line.user, strings.ReplaceAll(line.text, `\%`, "%")})
		}
	}
	for _, all := range want {
		sortStarts(all)
	}
	return want
}

// dayRecorder is each shell of the day. It writes down for which slot it runs, when the clock
// stands still, as whom, and what it was to run. It does so in one write(2): lines of several
// recorders would mix otherwise.
const dayRecorder = `#!DIR/dash
read -r real shown speed end <DIR/clock
while read -r name uid all; do [ "$name" != Uid: ] || break; done </proc/$$/status
printf '%s\t%s\t%s\t%s\000' "$SCHED_SLOT" "$end" "$uid" "$2" >>DIR/records
`

// prepare writes the crontab: the bytes of all files, and between them the settings with which cron
// begins each of them.
func (d *debianDay) prepare() {
	var table strings.Builder
	paths, _ := filepath.Glob("testdata/crontabs/cron.d/*")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			d.Fatal(err)
		}
		fmt.Fprintf(&table, "\n\nSHELL=/bin/sh\nPATH=/usr/bin:/bin\nMAILTO=root\nHOME=/\n\n%s\n", text)
	}
	passwd, group := "root:x:0:0::/:/bin/sh\n", "root:x:0:\n"
	for i, user := range slices.Sorted(maps.Keys(d.users)) {
		if user != "root" {
			d.users[user] = 2000 + i
			passwd += fmt.Sprintf("%s:x:%d:%[2]d::/:/bin/sh\n", user, 2000+i)
			group += fmt.Sprintf("%s:x:%d:\n", user, 2000+i)
		}
	}
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		d.Fatal(err)
	}
	os.Mkdir(filepath.Join(d.dir, "cron.d"), 0o755)
	for name, text := range map[string]string{
		"cron.d/debian": table.String(), "passwd": passwd, "group": group, "dash": string(shell),
		"recorder": strings.ReplaceAll(dayRecorder, "DIR", d.dir), "records": "",
	} {
		mode := map[bool]os.FileMode{true: 0o755, false: 0o644}[name == "dash" || name == "recorder"]
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), mode); err != nil {
			d.Fatal(err)
		}
	}
	os.Chmod(filepath.Join(d.dir, "records"), 0o666)
}

// stands returns the time at which the clock stands in a minute.
func stands(minute time.Time) string { return minute.Add(10 * time.Second).Format(time.RFC3339) }

// awaitTicks lets minutes pass before the first one, until a tick has come. Lines that start in
// them do not count.
func (d *debianDay) awaitTicks(from time.Time, said *grown) {
	for before := 30; before > 0; before-- {
		d.setClock(from.Add(-time.Duration(before) * time.Minute))
		for begun := time.Now(); time.Since(begun) < 2*time.Second; time.Sleep(2 * time.Millisecond) {
			if strings.Contains(said.more(d.T), ":") {
				return
			}
		}
	}
	d.Fatalf("no tick came; sched work printed\n%s", d.read("out"))
}

// setClock lets the clock go from a second before a minute to ten seconds in it, and stand there.
func (d *debianDay) setClock(minute time.Time) {
	text := fmt.Sprintf("%s %s 600 %s", time.Now().UTC().Format(time.RFC3339Nano),
		minute.Add(-1100*time.Millisecond).Format(time.RFC3339Nano), stands(minute))
	if err := os.WriteFile(filepath.Join(d.dir, "clock.new"), []byte(text), 0o644); err != nil {
		d.Fatal(err)
	}
	if err := os.Rename(filepath.Join(d.dir, "clock.new"), filepath.Join(d.dir, "clock")); err != nil {
		d.Fatal(err)
	}
}

// run lets the minutes pass, and returns what was recorded in each. A minute is over when as much
// as is wanted was recorded, or when the tick says that nothing was due in it.
func (d *debianDay) run(from time.Time, minutes int, want map[string][]dayStart) map[string][]dayStart {
	d.setClock(from.Add(-time.Hour))
	out, err := os.Create(filepath.Join(d.dir, "out"))
	if err != nil {
		d.Fatal(err)
	}
	c := exec.Command("unshare", "--mount", "sh", "-ec", `
		cd "$1"
		mount --bind passwd /etc/passwd
		mount --bind group /etc/group
		for shell in /bin/bash /bin/sh; do [ ! -e $shell ] || mount --bind recorder $shell; done
		exec "$2" work -v -c cron.d/debian`, "sh", d.dir, schedtest.Binary)
	c.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "SCHED_TEST_BOOT=a",
		"SCHED_TEST_CLOCK_FILE="+filepath.Join(d.dir, "clock"))
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		c.Process.Signal(os.Interrupt)
		c.Wait()
	})
	said, recorded := &grown{path: filepath.Join(d.dir, "out")}, &grown{path: filepath.Join(d.dir, "records")}
	d.awaitTicks(from, said)
	for i := range minutes {
		minute := from.Add(time.Duration(i) * time.Minute)
		clock := minute.Format("15:04")
		d.setClock(minute)
		records := 0
		d.until("the minute "+clock, func() bool {
			if len(want[clock]) == 0 {
				return strings.Contains(said.more(d.T), "nothing is due at "+clock+";")
			}
			records += strings.Count(recorded.more(d.T), minute.Format(time.RFC3339)+"\t"+stands(minute)+"\t")
			return records >= len(want[clock])
		})
	}
	names, got := map[string]string{}, map[string][]dayStart{}
	for name, id := range d.users {
		names[fmt.Sprint(id)] = name
	}
	for _, record := range strings.Split(strings.TrimSuffix(d.read("records"), "\x00"), "\x00") {
		words := strings.SplitN(record, "\t", 4)
		slot, err := time.Parse(time.RFC3339, words[0])
		if err != nil || len(words) != 4 {
			d.Fatalf("a record %q", record)
		}
		if slot.Before(from) {
			continue // of the minutes before
		}
		clock := words[1][len("2026-11-01T"):len("2026-11-01T15:04")]
		got[clock] = append(got[clock], dayStart{names[words[2]], words[3]})
	}
	for _, all := range got {
		sortStarts(all)
	}
	return got
}

// grown is a file to which others append.
type grown struct {
	path string
	at   int64
}

// more returns the whole lines that were appended since the call before.
func (g *grown) more(t *testing.T) string {
	file, err := os.Open(g.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, g.at, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndexAny(text, "\n\x00")+1]
	g.at += int64(len(text))
	return string(text)
}

func (d *debianDay) read(name string) string {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

func (d *debianDay) until(what string, is func() bool) {
	d.Helper()
	for begun := time.Now(); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > schedtest.Patience {
			d.Fatalf("not %s; sched work printed\n%s", what, d.read("out"))
		}
	}
}
