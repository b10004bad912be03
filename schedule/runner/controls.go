package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/controls"
	"sched/schedule/run"
	"sched/schedule/text"
)

// The controls that a tick goes by are never older than this, on files and on a store: there each read is a round trip.
const (
	staleFile  = 50 * time.Millisecond
	staleStore = controlsEvery
)

// controlsEvery is how often a tick that waits for later slots reads the controls.
const controlsEvery = time.Second

// A controlsCache has what people ask of all ticks: pauses and the last interrupt. It reads them again when they are stale, or every
// second while the tick stays. Safe for concurrent use.
type controlsCache struct {
	storage run.Storage
	report  Report

	mu      sync.Mutex
	last    controls.Controls
	read    time.Time // when; zero: not yet
	watched bool      // they are read every second, by watch
	unread  sync.Once // says that they cannot be read
}

// now returns the controls. The first caller reads them, and the others wait for that: a tick with nothing due reads none.
func (c *controlsCache) now() controls.Controls {
	c.mu.Lock()
	defer c.mu.Unlock()
	stale := time.Since(c.read) >= staleFile
	if c.storage.Store != nil {
		stale = time.Since(c.read) >= staleStore && !c.watched
	}
	if c.read.IsZero() || stale {
		c.last, c.read = c.readSource(), time.Now()
	}
	return c.last
}

// readAhead reads the controls, if they will be needed, while the tick does something else. The function that it returns waits for that.
func (c *controlsCache) readAhead(needed bool) (wait func()) {
	var reading sync.WaitGroup
	if needed {
		reading.Go(func() { c.now() })
	}
	return reading.Wait
}

// readSource reads the controls where they are kept. Without an answer they are what this machine knew last; the outage of a
// store is said where locks are asked for.
func (c *controlsCache) readSource() controls.Controls {
	read, err := controls.Source{Dir: c.storage.Dir, Store: c.storage.Store}.Read()
	switch {
	case err == nil:
	case c.storage.Store != nil:
		c.report.detail("what is paused is what this machine knew last: %v", err)
	default:
		c.unread.Do(func() { c.report.Problem("%v", err) })
	}
	return read
}

func (c *controlsCache) set(read controls.Controls, watched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.read, c.watched = read, time.Now(), watched
}

// watch reads the controls every second, until ctx is done or an interrupt ends this tick, which is age old. An interrupt
// that was there at first counts if it is younger than the tick, which may have read an older schedule; one that lies in
// the future is of a clock that was wrong.
func (c *controlsCache) watch(ctx context.Context, age func() time.Duration) (controls.Interrupt, bool) {
	first := c.now()
	if i := first.Interrupt; i.By != "" && i.Age >= 0 && i.Age <= age() {
		return i, true
	}
	last := first
	defer func() { c.set(last, false) }()
	for c.set(first, true); clock.Wait(ctx, controlsEvery); c.set(last, true) {
		last = c.readSource() // without the mutex: no slot waits for a store that does not answer
		if i := last.Interrupt; i.By != "" && !i.Same(first.Interrupt) && i.Age <= age()+controlsEvery {
			return i, true
		}
	}
	return controls.Interrupt{}, false
}

// paused says who paused a task that is to start at the time, or now where that is later; "" when nobody has.
func (r *running) paused(task *schedule.Task, at time.Time) string {
	now := text.Later(at, clock.Now())
	if pause, ok := r.controls.now().Pauses.Of(task.Name, task.EvenWhenPaused, now); ok {
		return pause.Text(now, r.Schedule.Location)
	}
	return ""
}

// stay looks out for interrupts as long as this tick waits for later slots of its minute, until leave was called as often as
// leaves says. The context is done at an interrupt, and when ctx is.
func (r *running) stay(ctx context.Context, leaves int32, slots []schedule.Slot) (staying context.Context, leave func()) {
	if !slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.At.After(r.Minute) }) {
		return ctx, func() {}
	}
	staying, interrupt := context.WithCancelCause(ctx)
	watching, over := context.WithCancel(ctx)
	var left atomic.Int32
	left.Store(leaves)
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
		if left.Add(-1) == 0 {
			over()
			<-done
		}
	}
}
