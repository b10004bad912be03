package runner

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/text"
)

// An admission decides whether a slot may start at this moment: by its task's conditions of time, pauses, maintenance, and how late
// it is. Locks and condition commands come after it. Safe for concurrent use.
type admission struct {
	tick        *Tick
	controls    *controlsCache
	maintenance *maintenance
}

// refusal returns the reason why a slot may not start at this moment; "" when it may.
func (a *admission) refusal(slot schedule.Slot) string {
	if reason := slot.Task.UnmetCondition(slot.At); reason != "" {
		return reason
	}
	if reason := a.paused(slot.Task, slot.At); reason != "" {
		return reason
	}
	if reason := a.inMaintenance(slot.Task, slot.At); reason != "" {
		return reason
	}
	return a.tooLate(slot)
}

// paused returns by whom and why a task is paused that is to start at the given time, or now where that is later
// (docs/decisions.md#a-pause-counts-at-the-moment-of-a-start); "" when it is not paused.
func (a *admission) paused(task *schedule.Task, at time.Time) string {
	now := text.Later(at, clock.Now())
	if pause, ok := a.controls.now().Pauses.Of(task.Name, task.EvenWhenPaused, now); ok {
		return pause.Text(now, a.tick.Schedule.Location)
	}
	return ""
}

// inMaintenance returns why a task that is to start at the given time does not run in maintenance; "" when it may. Where that
// cannot be found out the task runs.
func (a *admission) inMaintenance(task *schedule.Task, at time.Time) string {
	if a.tick.Schedule.Maintenance == "" {
		return ""
	}
	if reason := a.maintenance.reason(at.UTC()); !task.EvenInMaintenance {
		return reason
	}
	return ""
}

// tooLate returns why it is too late for a slot to start; "" when it is not. For slots that were missed, missed_within has
// decided that already.
func (a *admission) tooLate(slot schedule.Slot) string {
	late, deadline := clock.Now().Sub(slot.At), slot.Task.StartDeadline
	missed := slot.At.Before(a.tick.Minute)
	switch {
	case a.tick.Replay || missed:
		return ""
	case overrun(slot):
		return "it could not start before its next slot"
	case deadline > 0 && late > deadline:
		return fmt.Sprintf("it could not start within %s of its time, and %s have passed", text.Duration(deadline), text.Duration(late))
	}
	return ""
}

// overrun reports whether a slot of a task that is due several times in a minute is too late: the next one is due already.
func overrun(slot schedule.Slot) bool {
	if clock.Now().Sub(slot.At) < time.Second || len(slot.Task.When.Slots(slot.At)) < 2 {
		return false
	}
	next, ok := slot.Task.When.Next(slot.At)
	return ok && !clock.Now().Before(next)
}
