// Package admission decides whether a slot may start at this moment, as far as no lock and no
// condition command is asked: conditions of time, pauses, maintenance, interrupts, lateness.
package admission

import (
	"path/filepath"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/pause"
)

// An Admitter decides which slots of a tick may start at this moment. Safe for concurrent use.
type Admitter struct {
	Schedule *schedule.Schedule
	Minute   time.Time // of the tick
	Replay   bool      // the minute was given, not read
	Controls *Controls
	Problem  func(format string, a ...any)

	maintenance maintenance
}

// Refusal returns the reason why a slot may not start at this moment; "" when it may. The result
// byPause says that the reason is a pause or a maintenance, which will end.
func (a *Admitter) Refusal(slot schedule.Slot) (reason string, byPause bool) {
	now := clock.Now
	if a.neverTooLate(slot) {
		now = func() time.Time { return slot.At }
	}
	refusal := schedule.Refuse(slot, now, a.PausedBy)
	return refusal.Reason, refusal.Kind == schedule.RefusedByCheck
}

// PausedBy returns the pause or the maintenance that keeps a slot from starting; "" if neither
// does. The run of a missed slot begins nevertheless if its task catches up, and waits for the end
// of the pause.
func (a *Admitter) PausedBy(task *schedule.Task, at time.Time) string {
	if task.CatchesUp && at.Before(a.Minute) {
		return ""
	}
	if reason := a.PauseOf(task, at); reason != "" {
		return reason
	}
	return a.MaintenanceOf(task, at)
}

// PauseOf returns by whom and why a task is paused; "" if it is not. The task is to start at the
// given time, or now if that is later
// (docs/internals/decisions.md#a-pause-counts-at-the-moment-of-a-start).
func (a *Admitter) PauseOf(task *schedule.Task, at time.Time) string {
	start := humanize.Later(at, clock.Now())
	if p, ok := a.Controls.Current().Pauses.ForTask(task, start); ok {
		return p.Text(start, a.Schedule.Location)
	}
	return ""
}

// MaintenanceOf returns the reason why a task that is to start at the given time does not run in a
// maintenance; "" if it may run. If nobody can find out whether there is a maintenance, the task
// runs.
func (a *Admitter) MaintenanceOf(task *schedule.Task, at time.Time) string {
	if a.Schedule.Maintenance == "" {
		return ""
	}
	// This looks for every task: a task that runs in maintenance may end it, and later tasks of the
	// same instant have to get the same answer.
	if reason := a.maintenance.reason(at.UTC(), a.Schedule, a.Problem); !task.EvenInMaintenance {
		return reason
	}
	return ""
}

// TooLate returns why it is too late for a slot to start; "" when it is not.
func (a *Admitter) TooLate(slot schedule.Slot) string {
	if a.neverTooLate(slot) {
		return ""
	}
	return schedule.TooLate(slot, clock.Now())
}

// LatestStart returns until when a run of the slot waits for its mutex and its seat at most, if it
// begins to wait at from.
func (a *Admitter) LatestStart(slot schedule.Slot, from time.Time) time.Time {
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
func (a *Admitter) neverTooLate(slot schedule.Slot) bool {
	return a.Replay || slot.At.Before(a.Minute)
}

// maintenance caches whether there is a maintenance. The tick looks once for each instant at which
// something is due, so that all tasks of that instant are treated alike
// (docs/internals/decisions.md#maintenance-is-looked-for-once-for-each-instant). Safe for
// concurrent use.
type maintenance struct {
	mu        sync.Mutex
	at        map[time.Time]string // the reason at each instant; "" for none
	reporting sync.Once            // reports that nobody can find out
}

// reason returns why there is maintenance at an instant; "" if there is no maintenance, or if
// nobody can find out.
func (m *maintenance) reason(at time.Time, s *schedule.Schedule, problem func(string, ...any)) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, found := m.at[at]
	if found {
		return reason
	}
	reason, err := pause.Maintenance(s.Maintenance, filepath.Dir(s.File))
	if err != nil {
		m.reporting.Do(func() { problem("%v; the tasks run", err) })
	}
	if m.at == nil {
		m.at = map[time.Time]string{}
	}
	m.at[at] = reason
	return reason
}
