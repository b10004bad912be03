package tick

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/pause"
	"sched/schedule/tick/plan"
)

// controlsEvery is how often a tick that waits for later slots reads the controls.
const controlsEvery = time.Second

// How old the controls of a tick may be: those that were read from its database, and those that
// were read from a store, because each read of a store is a round trip.
const (
	maxAge          = 50 * time.Millisecond
	maxAgeFromStore = controlsEvery
)

// A controlsCache caches what people asked of all ticks: pauses and the last interrupt. It reads
// them again when they are stale, or every second while the tick waits for later slots of its
// minute. Safe for concurrent use.
type controlsCache struct {
	source pause.Source
	report Report

	isPolled atomic.Bool // watch reads them every second
	problem  sync.Once   // reports that they cannot be read

	mu     sync.Mutex
	last   pause.Controls
	readAt time.Time // zero: they were not read yet
}

// current returns the controls, never older than maxAge or maxAgeFromStore. The first caller reads
// them, and the other callers wait until they were read.
func (c *controlsCache) current() pause.Controls {
	c.mu.Lock()
	defer c.mu.Unlock()
	stale := time.Since(c.readAt) >= maxAge
	if c.source.Store != nil {
		stale = time.Since(c.readAt) >= maxAgeFromStore && !c.isPolled.Load()
	}
	if c.readAt.IsZero() || stale {
		c.last, c.readAt = c.readSource(), time.Now()
	}
	return c.last
}

// readAhead reads the controls, if they will be needed, while the tick does something else. The
// function that it returns waits until they were read.
func (c *controlsCache) readAhead(needed bool) (wait func()) {
	var reading sync.WaitGroup
	if needed {
		reading.Go(func() { c.current() })
	}
	return reading.Wait
}

// readSource reads the controls. While a store does not answer, it returns the last copy of this
// machine. The outage itself is reported when locks are taken.
func (c *controlsCache) readSource() pause.Controls {
	controls, err := c.source.Read()
	if err != nil && c.source.Store != nil {
		c.report.detail("what is paused is what this machine knew last: %v", err)
	} else if err != nil {
		c.problem.Do(func() { c.report.Problem("%v", err) })
	}
	return controls
}

// poll reads the controls without the mutex: no slot waits for a store that does not answer.
func (c *controlsCache) poll() pause.Controls {
	controls := c.readSource()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.readAt = controls, time.Now()
	return controls
}

// readPauses returns which slots are paused, for the ledger.
func (c *controlsCache) readPauses(zone *time.Location) plan.Paused {
	pauses := c.current().Pauses
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

// watch reads the controls every second until there is an interrupt for this tick, or until ctx is
// done: then it returns false. The parameter age returns how long ago the tick began.
//
// An interrupt that was there at first counts if it is younger than the tick, because the tick may
// have read an older schedule. An interrupt in the future comes from a clock that was wrong.
func (c *controlsCache) watch(ctx context.Context, age func() time.Duration) (pause.Interrupt, bool) {
	first := c.current()
	if i := first.Interrupt; i.By != "" && i.Age >= 0 && i.Age <= age() {
		return i, true
	}
	c.isPolled.Store(true)
	defer c.isPolled.Store(false)
	for clock.Wait(ctx, controlsEvery) {
		i := c.poll().Interrupt
		c.source.DB.CloseIfIdle(0)
		if i.By != "" && !i.Same(first.Interrupt) && i.Age <= age()+controlsEvery {
			return i, true
		}
	}
	return pause.Interrupt{}, false
}

// stay returns a context for the starts of slots that are due in later seconds of the minute. It is
// done
//
//   - when noNewStarts is done,
//   - or when somebody interrupts this tick. The tick looks for interrupts until end is called.
//
// If no slot is due in a later second, nobody looks for interrupts.
func (r *tickRun) stay(slots []schedule.Slot) (staying context.Context, end func()) {
	ctx := r.stops.noNewStarts
	isLater := func(s schedule.Slot) bool { return s.At.After(r.tick.Minute) }
	if !slices.ContainsFunc(slots, isLater) {
		return ctx, func() {}
	}
	staying, interrupt := context.WithCancelCause(ctx)
	watching, stopWatching := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer stopWatching()
		age := func() time.Duration { return clock.Now().Sub(r.began) }
		if i, ok := r.controls.watch(watching, age); ok {
			interrupt(interruption{i})
		}
	}()
	return staying, func() {
		stopWatching()
		<-done
	}
}

// An interruption is the cause with which stay ends a context.
type interruption struct{ pause.Interrupt }

func (i interruption) Error() string { return i.String() }

// whyDone returns why nothing more starts now that ctx is done: an interrupt or a signal.
func whyDone(ctx context.Context) string {
	if i, ok := errors.AsType[interruption](context.Cause(ctx)); ok {
		return i.String()
	}
	return "sched run was stopped " + context.Cause(ctx).Error()
}
