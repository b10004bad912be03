package ledger

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// clockWasSetBack reports whether a tick covered this minute, or a later one, before the clock was
// set back (docs/internals/decisions.md#wrong-clocks). A second tick of a minute is something else:
// somebody asked for it.
func (a *Account) clockWasSetBack() bool {
	last, newest := lastTicks(a.Dir)
	return a.Minute.Before(newest) || a.Minute.Equal(newest) && last.Before(newest)
}

// withoutOutcome returns those of the slots that have no outcome yet. A slot that was taken for missed when the clock was
// wrong runs.
func (a *Account) withoutOutcome(due []schedule.Slot, live []Promise) []schedule.Slot {
	if len(due) == 0 {
		return due
	}
	settled, err := a.settled(live)
	if err != nil {
		a.Problem("the clock was set back, and what ran at %s before that is not known: %v", humanize.MinuteZone(a.Minute, a.Schedule.Location), err)
	}
	open := slices.DeleteFunc(slices.Clone(due), func(s schedule.Slot) bool { return settled[Due{s.Task.Name, s.At.UTC()}] })
	if n := len(due) - len(open); n > 0 {
		a.Problem("the clock was set back: %s of %s had an outcome before, and `sched run --at` alone runs them again",
			humanize.Count(n, "slot"), humanize.MinuteZone(a.Minute, a.Schedule.Location))
	}
	return open
}

// settled returns the slots of this minute that live ticks account for, and those that have a run or an outcome in the history.
func (a *Account) settled(live []Promise) (map[Due]bool, error) {
	settled := map[Due]bool{}
	for _, promise := range live {
		for _, due := range promise.Due {
			settled[due] = true
		}
	}
	slots, err := a.DB.Runs().Slots(context.Background(), a.Minute, a.Minute.Add(time.Minute))
	for _, slot := range slots {
		if !slot.Missed {
			settled[Due{slot.Task, slot.At.UTC()}] = true
		}
	}
	return settled, err
}
