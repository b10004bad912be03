// Package admission decides whether a slot may start at this moment, as far as no lock and no
// condition command is asked: conditions of time, pauses, maintenance, interrupts, lateness.
package admission

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/tick/plan"
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
func (a *Admitter) neverTooLate(slot schedule.Slot) bool { return a.Replay || slot.At.Before(a.Minute) }

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

// controlsEvery is how often a tick that waits for later slots reads the controls.
const controlsEvery = time.Second

// How old the controls of a tick may be: those that were read from its database, and those that
// were read from a store, because each read of a store is a round trip.
const (
	maxAge          = 50 * time.Millisecond
	maxAgeFromStore = controlsEvery
)

// Controls cache what people asked of all ticks: pauses and the last interrupt. They read
// them again when they are stale, or every second while the tick waits for later slots of its
// minute. Safe for concurrent use.
type Controls struct {
	Source  pause.Source
	Problem func(format string, a ...any)
	Detail  func(format string, a ...any) // for people who asked for more

	isPolled  atomic.Bool // Watch reads them every second
	reporting sync.Once   // reports that they cannot be read

	mu     sync.Mutex
	last   pause.Controls
	readAt time.Time // zero: they were not read yet
}

// Current returns the controls, never older than maxAge or maxAgeFromStore. The first caller reads
// them, and the other callers wait until they were read.
func (c *Controls) Current() pause.Controls {
	c.mu.Lock()
	defer c.mu.Unlock()
	stale := time.Since(c.readAt) >= maxAge
	if c.Source.Store != nil {
		stale = time.Since(c.readAt) >= maxAgeFromStore && !c.isPolled.Load()
	}
	if c.readAt.IsZero() || stale {
		c.last, c.readAt = c.readSource(), time.Now()
	}
	return c.last
}

// ReadAhead reads the controls, if they will be needed, while the tick does something else. The
// function that it returns waits until they were read.
func (c *Controls) ReadAhead(needed bool) (wait func()) {
	var reading sync.WaitGroup
	if needed {
		reading.Go(func() { c.Current() })
	}
	return reading.Wait
}

// readSource reads the controls. While a store does not answer, it returns the last copy of this
// machine. The outage itself is reported when locks are taken.
func (c *Controls) readSource() pause.Controls {
	controls, err := c.Source.Read()
	if err != nil && c.Source.Store != nil {
		c.Detail("what is paused is what this machine knew last: %v", err)
	} else if err != nil {
		c.reporting.Do(func() { c.Problem("%v", err) })
	}
	return controls
}

// poll reads the controls without the mutex: no slot waits for a store that does not answer.
func (c *Controls) poll() pause.Controls {
	controls := c.readSource()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.readAt = controls, time.Now()
	return controls
}

// ReadPauses returns which slots are paused, for the ledger.
func (c *Controls) ReadPauses(zone *time.Location) plan.Paused {
	pauses := c.Current().Pauses
	return plan.Paused{
		Touches: pauses.Touch,
		By: func(task *schedule.Task, at time.Time) string {
			if p, covered := pauses.Covering(task, at); covered {
				return p.Text(at, zone)
			}
			return ""
		},
	}
}

// Watch reads the controls every second until there is an interrupt for this tick, or until ctx is
// done: then it returns false. The parameter age returns how long ago the tick began.
//
// An interrupt that was there at first counts if it is younger than the tick, because the tick may
// have read an older schedule. An interrupt in the future comes from a clock that was wrong.
func (c *Controls) Watch(ctx context.Context, age func() time.Duration) (pause.Interrupt, bool) {
	first := c.Current()
	if i := first.Interrupt; i.By != "" && i.Age >= 0 && i.Age <= age() {
		return i, true
	}
	c.isPolled.Store(true)
	defer c.isPolled.Store(false)
	for clock.Wait(ctx, controlsEvery) {
		i := c.poll().Interrupt
		c.Source.DB.CloseIfIdle(0)
		if i.By != "" && !i.Same(first.Interrupt) && i.Age <= age()+controlsEvery {
			return i, true
		}
	}
	return pause.Interrupt{}, false
}

// An Interruption is the cause with which stay ends a context.
type Interruption struct{ pause.Interrupt }

func (i Interruption) Error() string { return i.String() }

// WhyDone returns why nothing more starts now that ctx is done: an interrupt or a signal.
func WhyDone(ctx context.Context) string {
	if i, ok := errors.AsType[Interruption](context.Cause(ctx)); ok {
		return i.String()
	}
	return "sched run was stopped " + context.Cause(ctx).Error()
}
