package runner

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
)

// refusal says why a slot may not start at this moment, whoever has its lock and as far as no condition command has to be asked;
// "" when it may.
func (r *running) refusal(slot schedule.Slot) string {
	if reason := slot.Task.UnmetCondition(slot.At); reason != "" {
		return reason
	}
	if reason := r.paused(slot.Task, slot.At); reason != "" {
		return reason
	}
	if reason := r.inMaintenance(slot.Task, slot.At); reason != "" {
		return reason
	}
	return r.tooLate(slot)
}

// tooLate says why a slot may not start any more, and "" when it may. For slots that were missed missed_within has
// decided that already.
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

// madeUp reports whether a slot was missed and runs in this tick all the same.
func (t *Tick) madeUp(slot schedule.Slot) bool { return !t.Replay && slot.At.Before(t.Minute) }

// overrun reports whether it is too late for a slot of a task that is due several times in a minute: the next one is due
// already.
func (t *Tick) overrun(slot schedule.Slot) bool {
	if clock.Now().Sub(slot.At) < time.Second || len(slot.Task.When.Slots(slot.At)) < 2 {
		return false
	}
	next, ok := slot.Task.When.Next(slot.At)
	return ok && !clock.Now().Before(next)
}
