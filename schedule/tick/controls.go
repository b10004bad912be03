package tick

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/pause"
)

// The controls that a tick goes by are never older than this, in its database and in a store. Each
// read of a store is a round trip.
const (
	staleHere  = 50 * time.Millisecond
	staleStore = controlsEvery
)

// controlsEvery is how often a tick that waits for later slots reads the controls.
const controlsEvery = time.Second

// A controlsCache caches what people asked of all ticks: pauses and the last interrupt. It reads
// them again when they are stale, or every second while the tick waits for later slots of its
// minute. Safe for concurrent use.
type controlsCache struct {
	source pause.Source
	report Report

	mu      sync.Mutex
	last    pause.Controls
	read    time.Time // when; zero: not yet
	polled  bool      // watch reads them every second
	problem sync.Once // reports that they cannot be read
}

// now returns the controls, never older than staleHere or staleStore. The first caller reads them,
// and the others wait for that.
func (c *controlsCache) now() pause.Controls {
	c.mu.Lock()
	defer c.mu.Unlock()
	stale := time.Since(c.read) >= staleHere
	if c.source.Store != nil {
		stale = time.Since(c.read) >= staleStore && !c.polled
	}
	if c.read.IsZero() || stale {
		c.last, c.read = c.readSource(), time.Now()
	}
	return c.last
}

// readAhead reads the controls, if they will be needed, while the tick does something else. The
// function that it returns waits until they were read.
func (c *controlsCache) readAhead(needed bool) (wait func()) {
	var reading sync.WaitGroup
	if needed {
		reading.Go(func() { c.now() })
	}
	return reading.Wait
}

// readSource reads the controls. While a store does not answer they are this machine's last copy;
// the outage itself is reported when locks are taken.
func (c *controlsCache) readSource() pause.Controls {
	read, err := c.source.Read()
	switch {
	case err == nil:
	case c.source.Store != nil:
		c.report.detail("what is paused is what this machine knew last: %v", err)
	default:
		c.problem.Do(func() { c.report.Problem("%v", err) })
	}
	return read
}

// poll reads the controls without the mutex: no slot waits for a store that does not answer.
func (c *controlsCache) poll() pause.Controls {
	read := c.readSource()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.read = read, time.Now()
	return read
}

func (c *controlsCache) setPolled(polled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.polled = polled
}

// watch reads the controls every second until ctx is done, and then returns false, or until there
// is an interrupt for this tick. Age returns how long ago the tick began. An interrupt that was
// there at first counts if it is younger than the tick, which may have read an older schedule. An
// interrupt that lies in the future comes from a clock that was wrong.
func (c *controlsCache) watch(ctx context.Context, age func() time.Duration) (pause.Interrupt, bool) {
	first := c.now()
	if i := first.Interrupt; i.By != "" && i.Age >= 0 && i.Age <= age() {
		return i, true
	}
	c.setPolled(true)
	defer c.setPolled(false)
	for clock.Wait(ctx, controlsEvery) {
		i := c.poll().Interrupt
		c.source.DB.CloseIfIdle(0)
		if i.By != "" && !i.Same(first.Interrupt) && i.Age <= age()+controlsEvery {
			return i, true
		}
	}
	return pause.Interrupt{}, false
}

// stay returns a context that is done when noNewStarts is, and at an interrupt while this tick
// waits for the slots that are due in later seconds of its minute. The tick looks for interrupts
// until leave is called.
func (r *running) stay(slots []schedule.Slot) (staying context.Context, leave func()) {
	ctx := r.stops.noNewStarts
	if !slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.At.After(r.tick.Minute) }) {
		return ctx, func() {}
	}
	staying, interrupt := context.WithCancelCause(ctx)
	watching, over := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer over()
		age := func() time.Duration { return clock.Now().Sub(r.began) }
		if i, ok := r.controls.watch(watching, age); ok {
			interrupt(interruption{i})
		}
	}()
	return staying, func() {
		over()
		<-done
	}
}
