package export_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/load"
	"sched/schedule/machine/oncalendar"
	"sched/schedule/systemd/export"
)

var now = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

const tasks = `name: shop
timezone: Europe/Berlin
tasks:
  - {name: nightly, every: day at 2:30, command: ./x}
  - {name: often, cron: "*/7 * * * *", command: ./x}
  - {name: either, cron: "5 4 13 * FRI", command: ./x}
  - {name: both, cron: "0 0 */2 * 1", command: ./x}
  - {name: two, cron: ["0 */3 * * *", "10-20/5 8-10 * 6,DEC FRI-SUN"], command: ./x}
  - {name: new/york, cron: "30 9 * * MON-FRI", timezone: America/New_York, command: ./x}
  - {name: seconds, cron: "10,30 */20 * * * *", command: ./x}
  - {name: last, cron: "0 6 L * *", command: ./x, enabled: false}
  - {name: "weekly:50", cron: "0 9 * * MON#2", spread: 2h, missed: once, command: ./x}
  - {name: weekly-50, cron: "0 9 * * 0", without_overlapping: replace, background: true, command: ./x}
  - {name: boot, every: boot, command: ./x}
  - {name: hand, every: hand, command: ./x}
  - {name: never, cron: "0 0 1 1 *", until: 2026-12-01, command: ./x}
`

func exported(t *testing.T) (units *export.Units, due map[string][]time.Time, year time.Time) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "schedule.yaml")
	if err := os.WriteFile(file, []byte(tasks), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load.File(file, load.Options{Origins: true})
	if err != nil {
		t.Fatal(err)
	}
	due, year = map[string][]time.Time{}, now.AddDate(1, 0, 0)
	units = export.Export(s, export.Options{Program: "/usr/bin/sched", User: "root", Now: now}, load.Settings)
	for _, task := range s.Tasks {
		for at := range task.When.Forward(now, year) {
			due[task.Name] = append(due[task.Name], at.Truncate(time.Minute))
		}
		due[task.Name] = slices.Compact(due[task.Name])
	}
	return units, due, year
}

// Timers elapse at all slots of a year, and at no other time unless a remark says so. Days on
// which the clocks change are left out.
func TestTimersElapseAtTheSlotsOfTheirTasks(t *testing.T) {
	units, due, year := exported(t)
	compared := 0
	for name, slots := range due {
		var specs []oncalendar.Spec
		for _, file := range units.Files {
			if !strings.HasSuffix(file.Path, ".timer") ||
				!strings.Contains(file.Text, "Description=Task "+name+" of ") {
				continue
			}
			for line := range strings.Lines(file.Text) {
				if value, isTime := strings.CutPrefix(strings.TrimSpace(line), "OnCalendar="); isTime {
					spec, err := oncalendar.Parse(value, time.UTC)
					if err != nil {
						t.Fatal(err)
					}
					specs = append(specs, spec)
				}
			}
		}
		if name == "boot" || name == "never" || name == "hand" {
			if specs != nil {
				t.Errorf("%s has a timer", name)
			}
			continue
		}
		zone, _ := time.LoadLocation("Europe/Berlin")
		if name == "new/york" {
			zone, _ = time.LoadLocation("America/New_York")
		}
		changes := func(at time.Time) bool {
			_, before := at.Add(-25 * time.Hour).In(zone).Zone()
			_, after := at.Add(25 * time.Hour).In(zone).Zone()
			return before != after
		}
		starts := slices.DeleteFunc(slices.Collect(oncalendar.Starts(specs, now, year)), changes)
		slots = slices.DeleteFunc(slots, changes)
		compared += len(slots)
		if name == "last" || name == "weekly:50" {
			starts = slices.DeleteFunc(starts, func(at time.Time) bool {
				return !slices.ContainsFunc(slots, at.Equal)
			})
		}
		if !slices.EqualFunc(starts, slots, time.Time.Equal) {
			t.Errorf("%s: %d starts, %d slots", name, len(starts), len(slots))
		}
	}
	if compared < 90_000 {
		t.Errorf("%d slots", compared)
	}
}

func TestExport(t *testing.T) {
	units, _, _ := exported(t)
	text := units.Text()
	for _, part := range []string{
		"OnCalendar=*-*-13 04:05:00 Europe/Berlin\nOnCalendar=Fri *-*-* 04:05:00 Europe/Berlin\nAccuracySec=1s\n",
		"OnCalendar=*-*-* *:00..59/7:00 Europe/Berlin\n",
		"# ---------- sched-shop-new-york.service\n",
		"schedule.yaml --only new/york --wait\nKillMode=process\n",
		"--only weekly:50 --wait\n",
		"# ---------- sched-shop-weekly-50-2.timer\n",
		"Type=oneshot\nUser=root\nExecStart=/usr/bin/sched run -q -c ",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("nothing says %s:\n%s", part, text)
		}
	}
	var said []string
	for _, problem := range append(units.Omitted, units.Remarks...) {
		said = append(said, problem.String())
	}
	for _, part := range []string{
		`task "last": no timer can say its times: it elapses 165 times in four years, and in 117 of them nothing is due`,
		`task "last": it is switched off: do not enable sched-shop-last.timer`,
		`task "weekly:50": missed: a tick for one task makes up for nothing`,
		`task "weekly-50": without_overlapping: replace: systemd starts nothing`,
		`task "boot": the boot is lost`,
		`task "hand": not exported: only people start it`,
		`task "never": not exported: it is not due in the next four years`,
	} {
		if !strings.Contains(strings.Join(said, "\n"), part) {
			t.Errorf("nothing says %s:\n%s", part, strings.Join(said, "\n"))
		}
	}
}

// If systemd is installed, systemd itself judges the units. It wants the program to be there.
func TestSystemdTakesTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
	}
	units, _, _ := exported(t)
	folder := t.TempDir()
	var files []string
	for _, file := range units.Files {
		files = append(files, filepath.Join(folder, file.Path))
		text := strings.ReplaceAll(file.Text, "/usr/bin/sched", "/bin/true")
		if err := os.WriteFile(files[len(files)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...).CombinedOutput()
	said := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool {
		return !strings.Contains(line, "sched-shop")
	})
	if err != nil || len(said) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestExportChangesNoTaskAndTheFileIsNoLine(t *testing.T) {
	s, err := load.Text([]byte("timezone: UTC\ntasks: [{name: a, cron: ['@reboot', '0 1 * * *'], command: ./x}]\n"),
		"/srv/a\nUser=root", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := export.Export(s, export.Options{Program: "/usr/bin/sched", Now: now}, load.Settings).Text()
	if !s.Tasks[0].When.Boot {
		t.Error("the task no longer starts at boot")
	}
	if strings.Contains(text, "\nUser=root") {
		t.Error(text)
	}
}
