package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/view"
	"sched/schedule/work"
)

// tickedBy says what ticks the schedule now; "" if no ticks come.
func tickedBy(s *Subject) string {
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
	if first := view.FirstTick(s.Schedule.StateDir, last, s.Now); !first.IsZero() {
		return fine("sched work runs, and its first tick comes at %s", humanize.MinuteZone(first, s.Schedule.Location))
	}
	missing := view.TicksMissing(s.Schedule.StateDir, last, s.Now)
	if missing == "" {
		return fine("the last tick was the tick of %s, by %s",
			humanize.MinuteZone(last, s.Schedule.Location), tickedBy(s))
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
