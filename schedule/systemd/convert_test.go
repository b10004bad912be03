package systemd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/load"
	"sched/schedule/machine"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func options(t *testing.T) Options {
	return Options{Zone: berlin(t), Home: func(user string) (string, bool) { return "/home/" + user, true },
		Exists: func(path string) bool { return path == "/etc/default/backup" }}
}

// units writes the units of an archive into a folder, and reads its timers.
func units(t *testing.T, archive *txtar.Archive, names ...string) (all []machine.TimerUnits) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		if kind := filepath.Ext(f.Name); kind == ".timer" && len(names) == 0 && !strings.Contains(f.Name, "@") {
			all = append(all, timerFile(t, filepath.Join(dir, f.Name)))
		}
	}
	for _, name := range names {
		all = append(all, timerFile(t, filepath.Join(dir, name)))
	}
	return all
}

func timerFile(t *testing.T, file string) machine.TimerUnits {
	t.Helper()
	pair, err := machine.TimerFile(context.Background(), machine.Host{Root: "/"}, file)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func archiveOf(t *testing.T) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/units.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// result is all that is said of a timer: its task, and the notes.
func result(t *testing.T, pair machine.TimerUnits) (*Task, string) {
	t.Helper()
	task, notes := Convert(pair, map[string]bool{}, options(t))
	var text strings.Builder
	for _, note := range notes {
		fmt.Fprintln(&text, note)
	}
	if task == nil {
		return nil, text.String()
	}
	return task, text.String() + string(crontab.BlocksYAML(nil, nil, []crontab.Block{task.Block}))
}

// saysNothing are settings that are as without them. Unit= was obeyed when the units were read.
var saysNothing = []string{"Install.WantedBy=timers.target", "Service.Type=oneshot", "Service.User=root", "Timer.Unit=save@%i.service"}

// Without a setting the task is another, or the setting is named. So none is dropped in silence.
func TestEachSettingIsInTheTaskOrIsNamed(t *testing.T) {
	t.Parallel()
	checked := 0
	archive := archiveOf(t)
	for _, pair := range append(units(t, archive), units(t, archive, "backup@shop.timer")...) {
		_, full := result(t, pair)
		for i, unit := range []*machine.Unit{&pair.Timer, &pair.Service} {
			other := []machine.Unit{pair.Service, pair.Timer}[i]
			values := unit.Values
			for _, key := range slices.Sorted(maps.Keys(values)) {
				for i, value := range values[key] {
					checked++
					unit.Values = maps.Clone(values)
					unit.Values[key] = slices.Delete(slices.Clone(values[key]), i, i+1)
					if len(unit.Values[key]) == 0 {
						delete(unit.Values, key)
					}
					_, without := result(t, pair)
					isTwice := slices.Contains(other.Values[key], value) // as a description of both
					if without == full && !isTwice && !slices.Contains(saysNothing, key+"="+value) {
						t.Errorf("%s: nothing says %s=%s", unit.Name, key, value)
					}
				}
			}
			unit.Values = values
		}
	}
	if checked < 120 {
		t.Errorf("only %d settings were looked at", checked)
	}
}

// loaded loads the tasks as a schedule.
func loaded(t *testing.T, tasks []*Task) *schedule.Schedule {
	t.Helper()
	var blocks []crontab.Block
	for _, task := range tasks {
		blocks = append(blocks, task.Block)
	}
	yaml := crontab.BlocksYAML([]string{"head"}, []crontab.Key{plain("background", "true")}, blocks)
	s, err := load.Text(append([]byte("timezone: Europe/Berlin\n"), yaml...), "schedule.yaml", load.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	return s
}

func TestTheTasksOfRealUnitsAreDueAsTheirTimers(t *testing.T) {
	t.Parallel()
	var tasks []*Task
	archive := archiveOf(t)
	for _, pair := range append(units(t, archive), units(t, archive, "backup@shop.timer")...) {
		task, said := result(t, pair)
		if task == nil {
			t.Fatalf("%s is no task: %s", pair.Timer.Name, said)
		}
		tasks = append(tasks, task)
	}
	p := Prove(tasks, loaded(t, tasks), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if p.Tasks != len(tasks)-2 || len(p.Uncompared) != 2 || p.Changes != 56 {
		t.Errorf("%d tasks were compared, %d not, with %d changes", p.Tasks, len(p.Uncompared), p.Changes)
	}
	for _, d := range p.Differences {
		if !d.AtChanges || d.Task.Name != "backup-shop" && d.Task.Name != "sysstat-collect" && d.Task.Name != "phpsessionclean" {
			t.Errorf("%+v: %s", d, d.Task.Name)
		}
	}
}

// A task with another time, or another command, is found out.
func TestTheProofFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	pair := units(t, archiveOf(t), "certbot.timer")[0]
	for key, value := range map[string]string{"cron": `"0 0,13 * * *"`, "command": "other"} {
		task, _ := result(t, pair)
		wrong := *task
		wrong.Keys = slices.Clone(task.Keys)
		for i := range wrong.Keys {
			if wrong.Keys[i].Name == key {
				wrong.Keys[i] = plain(key, value)
			}
		}
		p := Prove([]*Task{task}, loaded(t, []*Task{&wrong}), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		if len(p.Differences) != 1 || p.Differences[0].AtChanges {
			t.Errorf("%s: %+v", key, p.Differences)
		}
	}
}

// A timer becomes these times, or a note with these words.
func TestTimesOfTimers(t *testing.T) {
	t.Parallel()
	for timer, want := range map[string]string{
		"OnCalendar=Mon *-*~07/1 03:00":                `cron: "0 3 * * MONL"`,
		"OnCalendar=*-*~01 03:00":                      `cron: "0 3 L * *"`,
		"OnCalendar=*-02~03":                           "not imported: OnCalendar=*-02~03: cron counts no days",
		"OnCalendar=Mon,Tue *-*-8..14,29..31":          `cron: "0 0 * * MON#2,TUE#2,MON#5,TUE#5"`,
		"OnCalendar=Mon *-*-2..3":                      "days: [mon]",
		"OnCalendar=5:00:0/15":                         `cron: "*/15 0 5 * * *"`,
		"OnCalendar=*:*:30.5":                          "fractions of seconds",
		"OnCalendar=2026..2028-*-* 5:00":               "from: 2026-01-01",
		"OnCalendar=2026,2028-*-* 5:00":                "its years are not in a row",
		"OnCalendar=9:00 Asia/Tokyo\nOnCalendar=10:00": "its times have several zones",
		"OnCalendar=Mon *-*-2..3\nOnCalendar=5:00":     "its days or years would bound the other times, too",
		"OnCalendar=9:00\nOnCalendar=Sat 10:00":        `cron: ["0 9 * * *", "0 10 * * SAT"]`,
		"OnCalendar=9:00\nOnCalendar=\nOnBootSec=1":    `cron: "@reboot"`,
		"OnBootSec=1min":                               `cron: "@reboot"`,
		"OnUnitActiveSec=90min":                        "every: 90 minutes from 2026-01-05",
		"OnUnitActiveSec=10\nOnUnitActiveSec=1h":       `cron: "*/10 * * * * *"`,
		"OnUnitActiveSec=7s":                           "a task has no such times",
		"OnUnitActiveSec=90min\nOnBootSec=5":           "not taken: OnBootSec=5",
		"OnUnitActiveSec=1w":                           `cron: "0 0 * * MON"`,
		"OnClockChange=yes":                            "not imported: no time in it",
		"OnCalendar=foo":                               `not imported: "foo" is no calendar expression`,
		"OnCalendar=daily\nRandomizedDelaySec=2d":      "not taken: RandomizedDelaySec=2d",
		"OnCalendar=daily\nRandomizedOffsetSec=1h":     "spread: 1h",
		"OnCalendar=daily\nUnit=x.target":              "it starts x.target, which is no service",
		"OnCalendar=daily\nUnit=y.service":             "there is no y.service",
	} {
		archive := &txtar.Archive{Files: []txtar.File{{Name: "a.timer", Data: []byte("[Timer]\n" + timer + "\n")},
			{Name: "a.service", Data: []byte("[Service]\nType=oneshot\nExecStart=/bin/true\n")}}}
		task, said := result(t, units(t, archive)[0])
		if !strings.Contains(said, want) {
			t.Errorf("%s became\n%s, without %s", timer, said, want)
		}
		if task == nil {
			continue
		}
		for _, d := range Prove([]*Task{task}, loaded(t, []*Task{task}), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Differences {
			if !d.AtChanges {
				t.Errorf("%s: %+v", timer, d)
			}
		}
	}
}

func TestServicesThatAreNoTask(t *testing.T) {
	t.Parallel()
	for service, want := range map[string]string{
		"ExecStop=/bin/true":                     "a.service has no ExecStart=",
		"DynamicUser=yes\nExecStart=/bin/true":   "DynamicUser=yes, which only systemd can make",
		"RootImage=/x\nExecStart=/bin/true":      "RootImage=/x",
		"ExecStart=/bin/true %d":                 "%d is known to systemd alone",
		"User=%H\nExecStart=/bin/true":           "%H is another on each machine",
		"ExecStart=/bin/true\nExecStart=":        "a.service has no ExecStart=",
		"Environment=\"A=b\nExecStart=/bin/true": "a quote is not closed",
	} {
		archive := &txtar.Archive{Files: []txtar.File{{Name: "a.timer", Data: []byte("[Timer]\nOnCalendar=daily\n")},
			{Name: "a.service", Data: []byte("[Service]\n" + service + "\n")}}}
		if task, said := result(t, units(t, archive)[0]); task != nil || !strings.Contains(said, want) {
			t.Errorf("%s: %s, without %s", service, said, want)
		}
	}
}
