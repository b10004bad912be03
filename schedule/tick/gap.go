package tick

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// A gap is a time in which no tick came, from since to before to; what lies before from is not
// looked at. Tasks has the tasks that were in the schedule all the time and were due in the gap.
type gap struct {
	since, from, to time.Time
	tasks           map[string]bool
}

// gap returns the time between the last minute that a tick covered and this minute; nil if nothing
// was due in it. Only tasks count that were in the schedule before it
// (docs/internals/decisions.md#only-what-was-in-the-schedule-can-be-missed).
func (a *Account) gap(ctx context.Context, last time.Time) *gap {
	since := last.Add(time.Minute)
	if last.IsZero() || !since.Before(a.Minute) {
		return nil
	}
	g := &gap{since: since, from: since, to: a.Minute, tasks: map[string]bool{}}
	if bound := a.Minute.Add(-min(schedule.LookBack, a.Schedule.History.Keep)).Truncate(time.Minute); g.from.Before(bound) {
		g.from = bound
	}
	times := a.timesBefore(ctx)
	for _, task := range a.Schedule.Tasks {
		if !a.Schedule.Active(task) || times[task.Name] != timesOf(task) {
			continue
		}
		if next, ok := task.When.Next(g.from.Add(-time.Second)); ok && next.Before(g.to) {
			g.tasks[task.Name] = true
		}
	}
	if len(g.tasks) == 0 {
		return nil
	}
	return g
}

// timesBefore returns the due times of the tasks that the last tick had, by their names. The last
// tick had this schedule, or the last valid one. The result is nil if that is not known: then
// nothing counts as missed.
func (a *Account) timesBefore(ctx context.Context) map[string]string {
	before, valid := a.Schedule, validSchedule(a.Schedule)
	kept, err := a.plan.Values().LastValid(ctx, a.Schedule.File)
	if a.Valid && (err != nil || kept.Digest != valid.Digest || kept.Machine != valid.Machine) {
		if err == nil && kept.Digest == "" {
			return nil
		}
		if err == nil {
			before, err = a.Parse(kept.Text)
		}
		if err != nil {
			return nil
		}
		before.Machine = machineOf(kept)
	}
	times := map[string]string{}
	for _, task := range before.Tasks {
		if before.Active(task) {
			times[task.Name] = timesOf(task)
		}
	}
	return times
}

// timesOf is the same for two tasks that are due at the same times.
func timesOf(task *schedule.Task) string {
	times := task.When.String() + " " + task.When.Location.String()
	if task.When.Shift > 0 {
		times += " " + task.When.Shift.String()
	}
	return times
}

// reason says why the slots of a gap were missed.
func (g *gap) reason(zone *time.Location) string {
	last := g.to.Add(-time.Minute)
	reason := "no tick ran at " + humanize.MinuteZone(last, zone)
	if g.since.Before(last) {
		reason = fmt.Sprintf("no tick ran from %s to %s", humanize.MinuteZone(g.since, zone), humanize.MinuteZone(last, zone))
	}
	if g.from.After(g.since) {
		reason += ", and what was due before " + humanize.MinuteZone(g.from, zone) + " is not counted"
	}
	return reason
}

// withoutOutcome leaves out slots of this minute that have an outcome already, because a tick
// covered this minute or a later one before the clock was set back
// (docs/internals/decisions.md#wrong-clocks). A slot that counted as missed while the clock was
// wrong runs.
func (a *Account) withoutOutcome(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	newest, err := a.plan.Values().NewestCovered(ctx)
	setBack := a.Minute.Before(newest) || a.Minute.Equal(newest) && last.Before(newest)
	if err != nil || !setBack || len(slots) == 0 {
		return slots, err
	}
	settled := map[due]bool{}
	all, err := a.plan.Runs().Slots(ctx, a.Minute, a.Minute.Add(time.Minute))
	for _, slot := range all {
		if !slot.Missed {
			settled[due{slot.Task, slot.At.UTC()}] = true
		}
	}
	open := slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return settled[dueOf(s)] })
	if n := len(slots) - len(open); n > 0 {
		a.say("the clock was set back: %s of %s had an outcome before, and `sched run --at` alone runs them again",
			humanize.Count(n, "slot"), humanize.MinuteZone(a.Minute, a.Schedule.Location))
	}
	return open, err
}
