package tick

import (
	"path/filepath"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/pause"
)

// An admitter decides whether a slot may start at this moment: by its task's conditions of time,
// pauses, maintenance, and how late it is. Locks and condition commands come after it. Safe for
// concurrent use.
type admitter struct {
	tick        *Tick
	controls    *controlsCache
	maintenance *maintenance
}

// refusal returns the reason why a slot may not start at this moment; "" when it may. The result
// byPause says that the reason is a pause or a maintenance, which will end.
func (a *admitter) refusal(slot schedule.Slot) (reason string, byPause bool) {
	now := clock.Now
	if a.neverTooLate(slot) {
		now = func() time.Time { return slot.At }
	}
	refusal := schedule.Refuse(slot, now, a.pausedBy)
	return refusal.Reason, refusal.Kind == schedule.RefusedByCheck
}

// pausedBy returns the pause or the maintenance that keeps a slot from starting; "" if neither
// does. The run of a missed slot begins nevertheless if its task catches up, and waits for the end
// of the pause.
func (a *admitter) pausedBy(task *schedule.Task, at time.Time) string {
	if task.CatchesUp && at.Before(a.tick.Minute) {
		return ""
	}
	if reason := a.pauseOf(task, at); reason != "" {
		return reason
	}
	return a.maintenanceOf(task, at)
}

// pauseOf returns by whom and why a task is paused; "" if it is not. The task is to start at the
// given time, or now if that is later
// (docs/internals/decisions.md#a-pause-counts-at-the-moment-of-a-start).
func (a *admitter) pauseOf(task *schedule.Task, at time.Time) string {
	start := humanize.Later(at, clock.Now())
	if p, ok := a.controls.current().Pauses.ForTask(task, start); ok {
		return p.Text(start, a.tick.Schedule.Location)
	}
	return ""
}

// maintenanceOf returns the reason why a task that is to start at the given time does not run in a
// maintenance; "" if it may run. If nobody can find out whether there is a maintenance, the task
// runs.
func (a *admitter) maintenanceOf(task *schedule.Task, at time.Time) string {
	if a.tick.Schedule.Maintenance == "" {
		return ""
	}
	// This looks for every task: a task that runs in maintenance may end it, and later tasks of the
	// same instant have to get the same answer.
	if reason := a.maintenance.reason(at.UTC()); !task.EvenInMaintenance {
		return reason
	}
	return ""
}

// tooLate returns why it is too late for a slot to start; "" when it is not.
func (a *admitter) tooLate(slot schedule.Slot) string {
	if a.neverTooLate(slot) {
		return ""
	}
	return schedule.TooLate(slot, clock.Now())
}

// latestStart returns until when a run of the slot waits for its mutex and its seat at most, if it
// begins to wait at from.
func (a *admitter) latestStart(slot schedule.Slot, from time.Time) time.Time {
	if slot.Task.CatchesUp {
		return humanize.Later(slot.At.Add(slot.Task.MissedWithin), from.Add(time.Minute))
	}
	if a.neverTooLate(slot) {
		return from.Add(slot.Task.MaxWait)
	}
	return slot.Task.WaitUntil(slot.At, from)
}

// neverTooLate reports whether it is never too late for a slot. This holds for the slots of a tick
// whose minute was given. It also holds for a missed slot, for which missed_within has decided
// already.
func (a *admitter) neverTooLate(slot schedule.Slot) bool {
	return a.tick.Replay || slot.At.Before(a.tick.Minute)
}

// maintenance caches whether there is a maintenance. The tick looks once for each instant at which
// something is due, so that all tasks of that instant are treated alike
// (docs/internals/decisions.md#maintenance-is-looked-for-once-for-each-instant). Safe for
// concurrent use.
type maintenance struct {
	schedule *schedule.Schedule
	problem  func(format string, a ...any)

	mu        sync.Mutex
	at        map[time.Time]string // the reason at each instant; "" for none
	reporting sync.Once            // reports that nobody can find out
}

func newMaintenance(t *Tick) *maintenance {
	return &maintenance{schedule: t.Schedule, problem: t.Report.Problem, at: map[time.Time]string{}}
}

// reason returns why there is maintenance at an instant; "" if there is no maintenance, or if
// nobody can find out.
func (m *maintenance) reason(at time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, found := m.at[at]
	if found {
		return reason
	}
	reason, err := pause.Maintenance(m.schedule.Maintenance, filepath.Dir(m.schedule.File))
	if err != nil {
		m.reporting.Do(func() { m.problem("%v; the tasks run", err) })
	}
	m.at[at] = reason
	return reason
}
