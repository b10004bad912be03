package plan

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// This file finds what a backfill begins with: the gap in which no tick came, and the slots that
// need no outcome any more.

// A gap is the time from began to before end in which no tick came. Slots before countedFrom are
// not looked at.
type gap struct {
	began       time.Time // the first minute without a tick
	countedFrom time.Time // began, or later if began is too long ago
	end         time.Time // the minute of this tick; it is not part of the gap
	// tasks has the names of the tasks that were in the schedule all the time and were due in the
	// gap.
	tasks map[string]bool
	// unloaded has the ticks that came in the gap and could load no schedule.
	unloaded statedir.Unloaded
}

// findGap returns the time between the last minute that a tick covered and this minute; nil if
// nothing was due in it. Only tasks count that were in the schedule before the gap
// (docs/internals/decisions.md#only-what-was-in-the-schedule-can-be-missed).
func findGap(ctx context.Context, l *Ledger, last time.Time) *gap {
	began := last.Add(time.Minute)
	if last.IsZero() || !began.Before(l.Minute) {
		return nil
	}
	longest := min(schedule.LookBack, l.Schedule.History.Keep)
	g := &gap{
		began:       began,
		countedFrom: humanize.Later(began, l.Minute.Add(-longest).Truncate(time.Minute)),
		end:         l.Minute,
		tasks:       map[string]bool{},
		unloaded:    statedir.UnloadedIn(l.Dir),
	}
	times := timesBefore(ctx, l)
	for task := range l.Schedule.ActiveTasks() {
		if times[task.Name] != timesOf(task) {
			continue
		}
		if next, ok := task.When.Next(g.countedFrom.Add(-time.Second)); ok && next.Before(g.end) {
			g.tasks[task.Name] = true
		}
	}
	if len(g.tasks) == 0 {
		return nil
	}
	return g
}

// timesBefore returns the due times of the tasks that the last tick had, by their names. The last
// tick had this schedule, or the last valid one. If nobody knows which, the result is nil, and
// nothing counts as missed.
func timesBefore(ctx context.Context, l *Ledger) map[string]string {
	valid := validSchedule(l.Schedule)
	last, err := l.tx.Values().LastValid(ctx, l.Schedule.File)
	isSame := err == nil && last.Digest == valid.Digest && last.Machine == valid.Machine
	if l.Valid && !isSame {
		return last.Times
	}
	return dueTimes(l.Schedule)
}

// has reports whether a task was due in the gap. A nil gap has no tasks.
func (g *gap) has(task string) bool { return g != nil && g.tasks[task] }

func (g *gap) reason(zone *time.Location) string {
	text := func(minute time.Time) string { return humanize.MinuteZone(minute, zone) }
	last := g.end.Add(-time.Minute)
	reason := "no tick recorded at " + text(last)
	if g.began.Before(last) {
		reason = fmt.Sprintf("no tick recorded from %s to %s", text(g.began), text(last))
	}
	if u := g.unloaded; !u.Last.Before(g.began) && u.First.Before(g.end) {
		reason = g.unloadedReason(text)
	}
	if g.countedFrom.After(g.began) {
		reason += ", and what was due before " + text(g.countedFrom) + " is not counted"
	}
	return reason
}

// unloadedReason is reason for a gap in which ticks came. In some of its minutes there may have
// been none.
func (g *gap) unloadedReason(text func(time.Time) string) string {
	first, last := humanize.Later(g.unloaded.First, g.began), g.unloaded.Last
	if !last.Before(g.end) {
		last = g.end.Add(-time.Minute)
	}
	came := "the tick of " + text(first)
	if first.Before(last) {
		came = fmt.Sprintf("the ticks from %s to %s", text(first), text(last))
	}
	came += " could load no schedule: " + g.unloaded.Why
	if minutes := int(g.end.Sub(g.began) / time.Minute); g.unloaded.Ticks >= minutes {
		return came
	}
	return fmt.Sprintf("%s; no other came from %s to %s", came, text(g.began), text(g.end.Add(-time.Minute)))
}
