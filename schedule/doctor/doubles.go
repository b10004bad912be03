package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/ticknote"
	"sched/schedule/work"
)

// checkDoubles looks for minutes that were ticked twice, and for what may have done so.
func checkDoubles(_ context.Context, s *Subject) findings {
	lines, _ := s.crontabLines()
	found := slices.Concat(findTickedTwice(s), findOtherCallers(s, lines), findLaravelTwice(s, lines),
		findLinesBesideTasks(s, lines))
	return found.orFine("no minute of the last hour was ticked twice")
}

// recentDouble is how old a minute may be that was ticked twice.
const recentDouble = time.Hour

// findTickedTwice looks for minutes of the last hour that were ticked twice. A single one is no
// finding: a script or a person may have started that tick.
func findTickedTwice(s *Subject) (found findings) {
	var recent []ticknote.Double
	for _, d := range ticknote.Doubles(s.Schedule.StateDir) {
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

// findOtherCallers looks for `sched work` and enabled units beside a line of a crontab that calls
// this schedule, too.
func findOtherCallers(s *Subject, lines []cronLine) (found findings) {
	ours := callingLines(s, lines)
	if len(ours) == 0 {
		return nil
	}
	if pid, isRunning := work.Running(s.Schedule.StateDir); isRunning {
		found.add(Bad, "keep one of the two",
			"sched work (process %d) ticks this schedule, and %s calls it, too", pid, ours[0].place())
	}
	for _, u := range units(s) {
		if u.enabled() {
			found.add(Bad, "keep one of the two: `sched uninstall` takes away what `sched install` wrote",
				"%s is enabled, and %s calls this schedule, too", u.starter(), ours[0].place())
		}
	}
	return found
}

// findLaravelTwice looks for Laravel's scheduler in a crontab beside a task that is Laravel's
// scheduler.
func findLaravelTwice(s *Subject, lines []cronLine) (found findings) {
	for t := range s.Schedule.ActiveTasks() {
		if !strings.Contains(strings.Join(t.Command.Argv(), " "), "artisan schedule:run") {
			continue
		}
		for _, l := range lines {
			if strings.Contains(l.Command, "artisan schedule:run") && strings.Contains(l.Command, t.Dir) {
				found.add(Bad, "take the line out of the crontab",
					"%s calls schedule:run of Laravel, and so does the task %s", l.place(), t.Name)
			}
		}
	}
	return found
}

// findLinesBesideTasks looks for lines of crontabs with the command of a task, as they stay when an
// imported schedule is called without `sched install --replace`. Their times are not compared.
func findLinesBesideTasks(s *Subject, lines []cronLine) (found findings) {
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
