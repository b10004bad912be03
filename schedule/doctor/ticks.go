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
	if err != nil || view.TicksMissing(s.Schedule.StateDir, last, s.Now) != "" {
		return ""
	}
	if pid, isRunning := work.Running(s.Schedule.StateDir); isRunning {
		return fmt.Sprintf("sched work (process %d)", pid)
	}
	if note, ok := s.tickNote(); ok && len(note.By) > 0 {
		return callerOf(note.By)
	}
	return "something else"
}

// schedulers are programs that start others at given times.
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

// checkTicks looks whether ticks come.
func checkTicks(_ context.Context, s *Subject) findings {
	last, err := view.LastTick(s.Schedule.StateDir)
	if err != nil {
		return finding(Warning, "", "nobody knows whether ticks come: %v", err)
	}
	missing := view.TicksMissing(s.Schedule.StateDir, last, s.Now)
	if missing == "" {
		return fine("the last tick was the tick of %s, by %s",
			humanize.MinuteZone(last, s.Schedule.Location), s.tickedBy())
	}
	if unknown := view.Unrecordable(s.Schedule.StateDir); unknown != "" {
		return finding(Warning, "", "nobody knows whether ticks come: %s", unknown)
	}
	if !last.IsZero() {
		missing += ", the last at " + humanize.MinuteZone(last, s.Schedule.Location)
	}
	return finding(Bad, "see crontab and cron here, and what cron logs: journalctl -u cron, or /var/log/syslog",
		"%s", missing)
}

// recentDouble is how old a minute may be that was ticked twice.
const recentDouble = time.Hour

// checkDoubles looks for minutes that were ticked twice, and for what may have done so.
func checkDoubles(_ context.Context, s *Subject) findings {
	lines, _ := s.crontabLines()
	found := slices.Concat(s.findTickedTwice(), s.findOtherCallers(lines), s.findLaravelTwice(lines),
		s.findLinesBesideTasks(lines))
	return found.orFine("no minute of the last hour was ticked twice")
}

// findTickedTwice looks for minutes of the last hour that were ticked twice. A single one is no
// finding: a script or a person may have started that tick.
func (s *Subject) findTickedTwice() (found findings) {
	var recent []DoubleTick
	for _, d := range DoubleTicks(s.Schedule.StateDir) {
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
		found.add(Bad, "keep one of crontab, timer and `sched work`; two schedules need a state folder each",
			"%d minutes of the last hour were ticked twice, the last %s%s",
			n, humanize.MinuteZone(last.Minute, s.Schedule.Location), callers)
	}
	return found
}

// A DoubleTick is a minute that was covered already when a tick came for it.
type DoubleTick struct {
	Minute time.Time
	By     []string // the processes above the tick that came second
}

// maxDoubleTicks is how many minutes are kept: the newest.
const maxDoubleTicks = 20

func doubleTicksPath(dir string) string { return filepath.Join(dir, "double-ticks") }

// NoteDoubleTick notes that a tick came for a minute that was covered already. A third tick of that
// minute adds nothing.
func NoteDoubleTick(dir string, minute time.Time) error {
	all := DoubleTicks(dir)
	if n := len(all); n > 0 && all[n-1].Minute.Equal(minute) {
		return nil
	}
	all = append(all, DoubleTick{minute.UTC(), processesAbove()})
	return writeJSON(doubleTicksPath(dir), all[max(0, len(all)-maxDoubleTicks):])
}

// DoubleTicks returns the newest minutes that were ticked twice, at most maxDoubleTicks, the oldest
// first.
func DoubleTicks(dir string) (all []DoubleTick) {
	if text, err := statedir.ReadFile(doubleTicksPath(dir)); err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}
