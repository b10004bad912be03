package admission

import (
	"context"
	"errors"
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
