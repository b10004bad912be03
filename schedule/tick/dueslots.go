package tick

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
)

// The due times of the tasks say which slots a minute has. This file corrects that: a slot with an
// outcome is not due again when the clock was set back, and a boot of the machine makes tasks due.

// dropSettled leaves out slots of this minute that have an outcome already. This happens when a
// tick covered this minute or a later one before the clock was set back
// (docs/internals/decisions.md#wrong-clocks). A slot that counted as missed while the clock was
// wrong runs.
func (l *Ledger) dropSettled(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	newest, err := l.plan.Values().NewestCovered(ctx)
	setBack := l.Minute.Before(newest) || l.Minute.Equal(newest) && last.Before(newest)
	if err != nil || !setBack || len(slots) == 0 {
		return slots, err
	}
	settled := map[slotKey]bool{}
	recorded, err := l.plan.Runs().Slots(ctx, l.Minute, l.Minute.Add(time.Minute))
	for _, slot := range recorded {
		if !slot.Missed {
			settled[slotKey{slot.Task, slot.At.UTC()}] = true
		}
	}
	open := slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return settled[keyOf(s)] })
	if n := len(slots) - len(open); n > 0 {
		minute := humanize.MinuteZone(l.Minute, l.Schedule.Location)
		l.addProblem("the clock was set back: %s of %s had an outcome before,"+
			" and `sched run --at` alone runs them again", humanize.Count(n, "slot"), minute)
	}
	return open, err
}

// keyBoot is the key of the value that names the boot of the machine at which tasks with
// `every: boot` were started last. A tick reads and writes it only if the schedule has such tasks.
const keyBoot = "boot"

// freshBoot is how long ago the machine may have booted when its first tick ever comes. An earlier
// boot counts as one from before there was a schedule.
const freshBoot = 10 * time.Minute

// addBootSlots adds the slots of tasks with `every: boot` that were not started yet since the
// machine booted. Their instant is the minute of this tick. It notes this boot in the database even
// if it adds nothing.
func (l *Ledger) addBootSlots(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	var boots []schedule.Slot
	for _, task := range l.Schedule.Tasks {
		if task.When.Boot && task.When.InBounds(l.Minute) && l.Schedule.Active(task) {
			boots = append(boots, schedule.Slot{Task: task, At: l.Minute.UTC()})
		}
	}
	id, noted := clock.BootID(), ""
	if len(boots) == 0 || id == "" {
		return slots, nil
	}
	known, err := l.plan.Values().Get(ctx, keyBoot, &noted)
	if err != nil || noted == id {
		return slots, err
	}
	if err := l.plan.Values().Set(ctx, keyBoot, id); err != nil {
		return nil, err
	}
	if !known && !isFirstSinceBoot(last) {
		return slots, nil
	}
	for _, boot := range boots {
		isSame := func(s schedule.Slot) bool { return s.Task == boot.Task && s.At.Equal(boot.At) }
		if !slices.ContainsFunc(slots, isSame) { // else the task is due by another of its times
			slots = append(slices.Clip(slots), boot)
		}
	}
	l.sortStarts(slots)
	return slots, nil
}

// isFirstSinceBoot is asked when no boot was noted yet. It reports whether this is the first tick
// since the machine booted. If the time of the boot is unknown it is false, so boots count from the
// next one on.
func isFirstSinceBoot(last time.Time) bool {
	elapsed, ok := clock.SinceBoot()
	if !ok {
		return false
	}
	if last.IsZero() {
		return elapsed <= freshBoot
	}
	return last.Before(clock.Now().Add(-elapsed).Truncate(time.Minute))
}
