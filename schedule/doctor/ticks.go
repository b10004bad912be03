package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
	"sched/schedule/view"
	"sched/schedule/work"
)

// tickedBy says what ticks the schedule now; "" if no ticks come.
func (s *Subject) tickedBy() string {
	last, err := view.LastTick(s.Schedule.StateDir)
	if err != nil || view.TicksMissing(last, s.Now) != "" {
		return ""
	}
	if pid, works := work.Running(s.Schedule.StateDir); works {
		return fmt.Sprintf("sched work (process %d)", pid)
	}
	if note, ok := s.Tick(); ok && len(note.By) > 0 {
		return callerOf(note.By)
	}
	return "something else"
}

// schedulers are the programs that call others at times.
var schedulers = []string{"cron", "crond", "fcron", "anacron", "systemd", "launchd", "supervisord", "sched"}

// callerOf names the scheduler among the processes above a tick, or all, the nearest first.
func callerOf(programs []string) string {
	for _, name := range programs {
		if slices.Contains(schedulers, strings.ToLower(name)) {
			return name
		}
	}
	return strings.Join(slices.Compact(slices.Clone(programs)), " of ")
}

func checkTicks(_ context.Context, s *Subject) findings {
	last, err := view.LastTick(s.Schedule.StateDir)
	if err != nil {
		return finding(Warning, "", "nobody knows whether ticks come: %v", err)
	}
	missing := view.TicksMissing(last, s.Now)
	if missing == "" {
		return fine("the last tick was the tick of %s, by %s",
			humanize.MinuteZone(last, s.Schedule.Location), s.tickedBy())
	}
	if !last.IsZero() {
		missing += ", the last at " + humanize.MinuteZone(last, s.Schedule.Location)
	}
	return finding(Problem, "see crontab and cron here, and what cron logs: journalctl -u cron, or /var/log/syslog",
		"%s", missing)
}

// recentDouble is how old a minute may be that was ticked twice. A single such minute may come from
// a tick that a script or a person started.
const recentDouble = time.Hour

func checkDoubles(_ context.Context, s *Subject) (found findings) {
	var recent []Double
	for _, d := range Doubles(s.Schedule.StateDir) {
		if s.Now.Sub(d.Minute) < recentDouble {
			recent = append(recent, d)
		}
	}
	if n := len(recent); n > 1 {
		last := recent[n-1]
		callers := ""
		if len(last.By) > 0 {
			callers = ", the second time by " + callerOf(last.By)
		}
		found.add(Problem, "keep one of crontab, timer and `sched work`; two schedules need a state folder each",
			"%d minutes of the last hour were ticked twice, the last %s%s",
			n, humanize.MinuteZone(last.Minute, s.Schedule.Location), callers)
	}
	lines, _ := s.crontabs()
	ours := s.callingLines(lines)
	if pid, works := work.Running(s.Schedule.StateDir); works && len(ours) > 0 {
		found.add(Problem, "keep one of the two",
			"sched work (process %d) ticks this schedule, and %s calls it, too", pid, ours[0].place())
	}
	for _, u := range s.units() {
		if len(ours) > 0 && u.enabled() {
			found.add(Problem, "keep one of the two: `sched uninstall` takes away what `sched install` wrote",
				"%s is enabled, and %s calls this schedule, too", u.starter(), ours[0].place())
		}
	}
	found = append(found, s.laravelTwice(lines)...)
	found = append(found, s.linesBesideTasks(lines)...)
	return found.orFine("no minute of the last hour was ticked twice")
}

// laravelTwice looks for Laravel's scheduler in a crontab beside a task that is Laravel's
// scheduler.
func (s *Subject) laravelTwice(lines []cronLine) (found findings) {
	for t := range s.Schedule.ActiveTasks() {
		if !strings.Contains(strings.Join(t.Command.Argv(), " "), "artisan schedule:run") {
			continue
		}
		for _, l := range lines {
			if strings.Contains(l.Command, "artisan schedule:run") && strings.Contains(l.Command, t.Dir) {
				found.add(Problem, "take the line out of the crontab",
					"%s calls schedule:run of Laravel, and so does the task %s", l.place(), t.Name)
			}
		}
	}
	return found
}

// linesBesideTasks looks for lines of crontabs with the command of a task, as they stay when an
// imported schedule is called without `sched install --replace`. Their times are not compared.
func (s *Subject) linesBesideTasks(lines []cronLine) (found findings) {
	tasks := map[string]string{}
	for t := range s.Schedule.ActiveTasks() {
		tasks[strings.TrimSpace(t.Command.Line)] = t.Name
	}
	delete(tasks, "") // of a command that is a list
	for _, l := range lines {
		if task, ok := tasks[strings.TrimSpace(l.Command)]; ok {
			found.add(Warning,
				"comment the line out; `sched install --replace` does so where the times are the same, too",
				"%s has the command of the task %s, too", l.place(), task)
		}
	}
	return found
}

// A Double is a minute that was covered already when a tick came for it.
type Double struct {
	Minute time.Time
	By     []string // the processes above the tick that came second
}

// mostDoubles is how many minutes are kept: the newest.
const mostDoubles = 20

func doublePath(dir string) string { return filepath.Join(dir, "double-ticks") }

// KeepDouble writes down that a minute is ticked twice, once for each minute.
func KeepDouble(dir string, minute time.Time) error {
	all := Doubles(dir)
	if n := len(all); n > 0 && all[n-1].Minute.Equal(minute) {
		return nil
	}
	all = append(all, Double{minute.UTC(), processesAbove()})
	return writeJSON(doublePath(dir), all[max(0, len(all)-mostDoubles):])
}

// Doubles returns the minutes that were ticked twice last, the oldest first.
func Doubles(dir string) (all []Double) {
	if text, err := statedir.ReadFile(doublePath(dir)); err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}
