// Package export writes a schedule as units of systemd: a timer and a service for each task.
//
// # Promises
//
//   - A service is a tick for one task, so that sched decides, as everywhere, whether it is due.
//   - A timer elapses in the minute of each slot of its task, but for hours in which the clocks
//     change. If it elapses at other times, too, nothing is due then; a Remark says so.
//   - What a task has and such a tick cannot do is in Omitted. No variable is written.
//   - It is pure.
package export

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/crontab/cover"
	"sched/schedule/humanize"
	"sched/schedule/install"
)

// Options are what units need and no schedule says.
type Options struct {
	Program string // the path of sched
	User    string // of the services; "" for the user whose manager has the units
	Now     time.Time
}

// Units are a schedule for systemd.
type Units struct {
	Files   []install.File     // their paths are names; timers and services in turn
	Notes   []string           // what differs for all tasks
	Omitted []schedule.Problem // tasks, and keys of tasks, that do nothing there
	Remarks []schedule.Problem // tasks whose timers also elapse when nothing is due, or that are switched off
}

// Text returns all units, each below a line with its name.
func (u *Units) Text() string {
	var parts []string
	for _, file := range u.Files {
		parts = append(parts, "# ---------- "+file.Path+"\n"+file.Text)
	}
	return strings.Join(parts, "\n")
}

// Export writes the tasks of a schedule. settings are the keys of a task (load.Settings).
func Export(s *schedule.Schedule, o Options, settings func(*schedule.Task) []schedule.Setting) *Units {
	e := &exporter{Options: o, schedule: s, settings: settings, names: cover.Names{}}
	e.units.Notes = []string{
		"systemd starts no service beside itself: a slot that comes while the task still runs is left out, " +
			"without a line in the history",
		"a tick for one task makes up for nothing: `missed` and `expect` need `sched install --systemd`, " +
			"which ticks each minute",
		"services have few variables: those that the schedule expands must stand in an EnvironmentFile=",
		"where clocks change, systemd has rules of its own: a time that they skip has no run",
	}
	for _, t := range s.Tasks {
		e.writeTask(t)
	}
	return &e.units
}

type exporter struct {
	Options
	schedule *schedule.Schedule
	settings func(*schedule.Task) []schedule.Setting
	names    cover.Names
	units    Units
}

func (e *exporter) omit(t *schedule.Task, key, format string, args ...any) {
	e.units.Omitted = append(e.units.Omitted, t.Problem(key, "", format, args...))
}

func (e *exporter) remark(t *schedule.Task, key, format string, args ...any) {
	e.units.Remarks = append(e.units.Remarks, t.Problem(key, "", format, args...))
}

// writeTask writes the units of a task.
func (e *exporter) writeTask(t *schedule.Task) {
	when := t.When
	if when.IsByHand() {
		e.omit(t, "cron", "not exported: only people start it, and a timer needs times")
		return
	}
	if when.Boot {
		e.omit(t, "cron", "the boot is lost: a tick for one task knows of none")
		if when.Boot = false; len(when.Crons) == 0 {
			return
		}
	}
	times, err := cover.Of(when, e.Now, true)
	if err != nil {
		e.omit(t, "cron", "not exported: %v", err)
		return
	}
	if times.Idle > 0 {
		e.remark(t, "cron", "no timer can say its times: it elapses %d times in four years, and in %d of them "+
			"nothing is due", times.Starts, times.Idle)
	}
	e.noteKeys(t)
	name := e.nameOf(t)
	if !e.schedule.InUse(t) {
		e.remark(t, "enabled", "it is switched off: do not enable %s.timer", name)
	}
	var calendar []string
	for _, one := range times.All {
		for _, line := range onCalendar(one, when.Location) {
			calendar = append(calendar, "OnCalendar="+line+"\n")
		}
	}
	description := fmt.Sprintf("[Unit]\nDescription=Task %s of %s\n\n", percents(t.Name),
		percents(humanize.Line(e.schedule.File)))
	e.add(name+".timer", description+"[Timer]\n"+strings.Join(calendar, "")+
		"AccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n")
	user := ""
	if e.User != "" { // systemd sets HOME, too, then
		user = "User=" + e.User + "\n"
	}
	// Runs of other tasks that hooks trigger, and notifications, outlive the tick: hence KillMode.
	e.add(name+".service", fmt.Sprintf("%s[Service]\nType=oneshot\n%sExecStart=%s run -q -c %s --only %s --wait\n"+
		"KillMode=process\nTimeoutStopSec=%d\n", description, user, install.UnitProgram(e.Program),
		install.UnitWord(e.schedule.File), install.UnitWord(t.Name), int((t.KillAfter+30*time.Second).Seconds())))
}

func (e *exporter) add(name, text string) {
	e.units.Files = append(e.units.Files, install.File{Path: name, Text: text})
}

// nameOf returns the name of the units of a task, without an extension.
func (e *exporter) nameOf(t *schedule.Task) string {
	name := "sched-" + unitName(cmp.Or(e.schedule.Name, path.Base(path.Dir(e.schedule.File)))) + "-" + unitName(t.Name)
	return e.names.Take(name, 2*maxName+20)
}

const maxName = 100

// unitName makes a part of a name that systemd takes.
func unitName(text string) string {
	name := strings.Trim(notInName().ReplaceAllString(text, "-"), "-")
	return cmp.Or(strings.Trim(name[:min(len(name), maxName)], "-"), "task")
}

var notInName = humanize.Pattern(`[^A-Za-z0-9_.]+`)

// percents writes a text for a setting that expands %.
func percents(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// lostKeys says what a key does not do if all ticks are for one task.
var lostKeys = [...][2]string{
	{"missed", "a tick for one task makes up for nothing, so Persistent= would start it when nothing is due"},
	{"expect", "only ticks of the whole schedule wait for a run that does not come"},
	{"on_overdue", "only ticks of the whole schedule wait for a run that does not come"},
	{"retry.lost", "only ticks of the whole schedule look for lost runs"},
}

// noteKeys notes the keys of a task that do not do there what they do here.
func (e *exporter) noteKeys(t *schedule.Task) {
	e.units.Omitted = append(e.units.Omitted, cover.Lost(t, e.settings(t), lostKeys[:])...)
	if t.Replace {
		e.omit(t, "without_overlapping", "without_overlapping: replace: systemd starts nothing beside a run, "+
			"so none is replaced")
	}
	if t.WithoutOverlapping && t.MaxWait > 0 {
		e.omit(t, "without_overlapping", "without_overlapping: a slot does not wait for the run before it")
	}
}
