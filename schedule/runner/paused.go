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
	"sched/schedule/text"
)

// wishes are the orders as this tick read them last.
type wishes struct {
	mu      sync.Mutex
	orders  controls.Controls
	read    time.Time // when; zero: not yet
	watched bool      // they are read every second, by watch
	unread  sync.Once // says that they cannot be read
	readers sync.WaitGroup
}

// The orders of a tick are never older than this, on files and on a store: there each look is a round trip.
const (
	staleFile  = 50 * time.Millisecond
	staleStore = look
)

// wanted returns what people want of this tick. The first who asks reads it, and the others wait for that:
// a tick with nothing due asks nobody.
func (t *Tick) wanted() controls.Controls {
	w := &t.wishes
	w.mu.Lock()
	defer w.mu.Unlock()
	stale := time.Since(w.read) >= staleFile
	if t.State.Remote != nil {
		stale = time.Since(w.read) >= staleStore && !w.watched
	}
	if w.read.IsZero() || stale {
		w.orders, w.read = t.readOrders(), time.Now()
	}
	return w.orders
}

// readOrders reads what people want. Without an answer that is what this machine knew last; the outage of a store
// is told where locks are asked for.
func (t *Tick) readOrders() controls.Controls {
	orders, err := controls.Source{Dir: t.State.Dir, Store: t.State.Remote}.Read()
	switch {
	case err == nil:
	case t.State.Remote != nil:
		t.detail("what is paused is what this machine knew last: %v", err)
	default:
		t.wishes.unread.Do(func() { t.Problem("%v", err) })
	}
	return orders
}

// paused says who paused a task that is to start at the time, or now where that is later; "" when nobody has.
func (t *Tick) paused(task *schedule.Task, at time.Time) string {
	now := text.Later(at, clock.Now())
	if pause, ok := t.wanted().Pauses.Of(task.Name, task.EvenWhenPaused, now); ok {
		return pause.Text(now, t.Schedule.Location)
	}
	return ""
}

// stay looks out for interrupts as long as this tick waits for later slots of its minute, until leave was called
// as often as left says. The context is done at an interrupt, and when ctx is.
func (t *Tick) stay(ctx context.Context, left int32, slots []schedule.Slot) (staying context.Context, leave func()) {
	if !slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.At.After(t.Minute) }) {
		return ctx, func() {}
	}
	staying, interrupt := context.WithCancelCause(ctx)
	watching, over := context.WithCancel(ctx)
	var count atomic.Int32
	count.Store(left)
	t.wishes.readers.Go(func() {
		defer over()
		if i, ok := t.watch(watching); ok {
			interrupt(interruption{i})
		}
	})
	return staying, func() {
		if count.Add(-1) == 0 {
			over()
		}
	}
}

// watch reads every second what people want, until ctx is done or somebody interrupts this tick. An interrupt that
// was there at first counts if it is younger than the tick, which may have read an older schedule; one that lies
// in the future is of a clock that was wrong.
func (t *Tick) watch(ctx context.Context) (controls.Interrupt, bool) {
	first := t.wanted()
	if i := first.Interrupt; i.By != "" && i.Age >= 0 && i.Age <= t.age() {
		return i, true
	}
	last := first
	defer func() { t.know(last, false) }()
	for t.know(first, true); clock.Wait(ctx, look); t.know(last, true) {
		last = t.readOrders() // without the mutex: no slot waits for a store that does not answer
		if i := last.Interrupt; i.By != "" && !i.Same(first.Interrupt) && i.Age <= t.age()+look {
			return i, true
		}
	}
	return controls.Interrupt{}, false
}

func (t *Tick) know(orders controls.Controls, watched bool) {
	w := &t.wishes
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders, w.read, w.watched = orders, time.Now(), watched
}

func (t *Tick) age() time.Duration { return clock.Now().Sub(t.Began) }
