package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/controls"
	"sched/schedule/text"
)

// A task may be due several times in a minute. Its slots are absolute, so a tick that has some stays until
// the last of them has started. Each starts on time, or not at all once the next one of its task is due
// (Tick.overrun).

// split cuts the slots, which are in order, after those of the first second of the minute.
func split(slots []schedule.Slot, minute time.Time) (now, later []schedule.Slot) {
	for i, slot := range slots {
		if slot.At.After(minute) {
			return slots[:i], slots[i:]
		}
	}
	return slots, nil
}

// startLater forks the runs of slots in later seconds of the minute, those of one instant together.
func (t *Tick) startLater(staying context.Context, slots []schedule.Slot) {
	for len(slots) > 0 {
		if reason := t.reach(staying, slots[0]); reason != "" {
			t.skipAll(slots, reason)
			return
		}
		now, later := split(slots, slots[0].At)
		t.startBackground(staying, now)
		slots = later
	}
}

// look is how often a tick that waits looks up at what people want.
const look = time.Second

// reach waits for the instant of a slot. The reason says why that does not come: ctx is done, or the clock
// was set back so far that later ticks have this minute before them.
func (t *Tick) reach(ctx context.Context, slot schedule.Slot) (reason string) {
	for ctx.Err() == nil {
		now := clock.Now().Round(0) // by the wall clock alone
		wait := slot.At.Sub(now)
		switch {
		case t.Replay || wait <= 0:
			return ""
		case wait > time.Minute:
			return "the clock was set back to " + text.Second(now, t.Schedule.Location)
		}
		select {
		case <-clock.After(min(wait, clock.Recheck)):
		case <-ctx.Done():
		}
	}
	return whyDone(ctx)
}

// behind reports whether the time of a slot has come before its turn.
func (t *Tick) behind(slot schedule.Slot) bool { return !t.Replay && clock.Now().After(slot.At) }

// turns knows which foreground tasks ran last.
type turns struct {
	taken int
	last  map[*schedule.Task]int
}

func (ts *turns) take(task *schedule.Task) {
	ts.taken++
	ts.last[task] = ts.taken
}

// sort gives the first of the slots, those of one instant, another order when their tick is behind: who has
// waited longest comes first. In file order a task that takes longer than its interval would leave
// those after it without a turn for ever.
func (ts *turns) sort(slots []schedule.Slot) {
	now, _ := split(slots, slots[0].At)
	slices.SortStableFunc(now, func(a, b schedule.Slot) int { return ts.last[a.Task] - ts.last[b.Task] })
}

// skipAll records slots that something keeps from starting.
func (t *Tick) skipAll(slots []schedule.Slot, reason string) {
	for _, slot := range slots {
		t.skip(t.newRecord(slot), slot.Task, reason)
	}
}

// An interruption is the cause why a tick does not stay.
type interruption struct{ controls.Interrupt }

func (i interruption) Error() string { return i.String() }

// whyDone says why nothing more starts.
func whyDone(ctx context.Context) string {
	if i, ok := errors.AsType[interruption](context.Cause(ctx)); ok {
		return i.String()
	}
	return "sched run was stopped " + context.Cause(ctx).Error()
}
