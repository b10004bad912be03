package runner

import (
	"fmt"
	"time"

	"sched/schedule"

	"sched/schedule/clock"
)

// madeUp reports whether a slot was missed and runs in this tick all the same.
func (t *Tick) madeUp(slot schedule.Slot) bool { return !t.Replay && slot.At.Before(t.Minute) }

// tooLate says why a slot may not start any more, and "" when it may. For slots that were missed
// missed_within has decided that already.
func (t *Tick) tooLate(slot schedule.Slot) string {
	late, deadline := clock.Now().Sub(slot.At), slot.Task.StartDeadline
	switch {
	case t.Replay || t.madeUp(slot):
		return ""
	case t.overrun(slot):
		return "it could not start before its next slot"
	case deadline > 0 && late > deadline:
		return fmt.Sprintf("it could not start within %s of its time, and %s have passed", deadline, late.Round(time.Second))
	}
	return ""
}

// overrun reports whether it is too late for a slot of a task that is due several times in a minute: the
// next one is due already.
func (t *Tick) overrun(slot schedule.Slot) bool {
	if clock.Now().Sub(slot.At) < time.Second || len(slot.Task.When.Slots(slot.At)) < 2 {
		return false
	}
	next, ok := slot.Task.When.Next(slot.At)
	return ok && !clock.Now().Before(next)
}

// claimUntil returns how long the claim of a slot is kept: longer than any two clocks differ, after
// the last moment at which a tick may start it. It is the same for every tick and every server.
func claimUntil(slot schedule.Slot) time.Time {
	until := slot.At.Add(claimFor)
	if slot.Task.RunMissed {
		until = until.Add(slot.Task.MissedWithin)
	}
	return until
}
