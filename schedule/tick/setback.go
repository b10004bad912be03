package tick

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// withoutOutcome returns those of the slots of this minute that have no outcome yet, where a tick
// covered this minute or a later one before the clock was set back
// (docs/internals/decisions.md#wrong-clocks). A slot that was taken for missed when the clock was
// wrong runs.
func (a *Account) withoutOutcome(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	newest, err := a.plan.Values().NewestCovered(ctx)
	setBack := a.Minute.Before(newest) || a.Minute.Equal(newest) && last.Before(newest)
	if err != nil || !setBack || len(slots) == 0 {
		return slots, err
	}
	settled := map[due]bool{}
	all, err := a.plan.Runs().Slots(ctx, a.Minute, a.Minute.Add(time.Minute))
	for _, slot := range all {
		if !slot.Missed {
			settled[due{slot.Task, slot.At.UTC()}] = true
		}
	}
	open := slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return settled[dueOf(s)] })
	if n := len(slots) - len(open); n > 0 {
		a.say("the clock was set back: %s of %s had an outcome before, and `sched run --at` alone runs them again",
			humanize.Count(n, "slot"), humanize.MinuteZone(a.Minute, a.Schedule.Location))
	}
	return open, err
}
