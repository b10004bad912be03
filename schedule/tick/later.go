package tick

import (
	"context"
	"errors"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/pause"
)

// A task may be due several times in a minute. Its slots are absolute, so a tick that has such
// slots runs until the last of them has started. Each starts on time, or not at all once the next
// slot of its task is due (schedule.TooLate).

// startLater hands over the background runs of slots in later seconds of the minute, and the runs
// of one instant together.
func (r *running) startLater(staying context.Context, slots []schedule.Slot) {
	for len(slots) > 0 {
		if reason := r.reach(staying, slots[0]); reason != "" {
			r.starter.skipAll(slots, reason)
			return
		}
		now, later := schedule.UntilSecond(slots, slots[0].At)
		r.startBackground(staying, now)
		r.records.flushNow()
		slots = later
	}
}

// reach waits for the instant of a slot and returns "", or returns the reason why the instant does
// not come: ctx is done, or the clock was set back so far that this minute lies ahead again and
// later ticks will have it.
func (t *Tick) reach(ctx context.Context, slot schedule.Slot) (reason string) {
	for ctx.Err() == nil {
		now := clock.Now().Round(0) // by the wall clock alone
		wait := slot.At.Sub(now)
		switch {
		case t.Replay || wait <= 0:
			return ""
		case wait > time.Minute:
			return "the clock was set back to " + now.In(t.Schedule.Location).Format("2006-01-02 15:04:05")
		}
		select {
		case <-clock.After(min(wait, clock.Recheck)):
		case <-ctx.Done():
		}
	}
	return whyDone(ctx)
}

// behind reports whether the time of a slot has come before it can run.
func (t *Tick) behind(slot schedule.Slot) bool { return !t.Replay && clock.Now().After(slot.At) }

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
