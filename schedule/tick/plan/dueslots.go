package plan

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// The due times of the tasks say which slots a minute has. This file corrects that: a slot with an
// outcome is not due again when the clock was set back, a boot of the machine makes tasks due, and
// slots join the runs that catch up. The parameter last is the minute that the last tick covered.

// dropSettled leaves out slots of this minute that have an outcome already. This happens when a
// tick covered this minute or a later one before the clock was set back
// (docs/internals/decisions.md#wrong-clocks). A slot that counted as missed while the clock was
// wrong runs.
func dropSettled(ctx context.Context, l *Ledger, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	newest, err := l.tx.Values().NewestCovered(ctx)
	laterCovered := l.Minute.Before(newest)
	thisCovered := l.Minute.Equal(newest) && last.Before(newest) // and then ticks of earlier minutes came
	if err != nil || !laterCovered && !thisCovered || len(slots) == 0 {
		return slots, err
	}
	recorded, err := l.tx.Runs().Slots(ctx, l.Minute, l.Minute.Add(time.Minute))
	if err != nil {
		return nil, err
	}
	settled := map[slotKey]bool{}
	for _, slot := range recorded {
		if !slot.Missed {
			settled[slotKey{slot.Task, slot.At}] = true
		}
	}
	open := slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return settled[keyOf(s)] })
	if n := len(slots) - len(open); n > 0 {
		minute := humanize.MinuteZone(l.Minute, l.Schedule.Location)
		l.addProblem("the clock was set back: %s of %s had an outcome before,"+
			" and `sched run --at` alone runs them again", humanize.Count(n, "slot"), minute)
	}
	return open, nil
}

// keyBoot is the key of the value that names the boot of the machine at which tasks with
// `every: boot` were started last. A tick reads and writes it only if the schedule has such tasks.
const keyBoot = "boot"

// maxFirstBootAge is how long ago the machine may have booted when its first tick ever comes. An
// earlier boot counts as one from before there was a schedule.
const maxFirstBootAge = 10 * time.Minute

// addBootSlots adds the slots of tasks with `every: boot` that were not started yet since the
// machine booted. Their instant is the minute of this tick. It notes this boot in the database even
// if it adds nothing.
func addBootSlots(ctx context.Context, l *Ledger, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
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
	known, err := l.tx.Values().Get(ctx, keyBoot, &noted)
	if err != nil || noted == id {
		return slots, err
	}
	if err := l.tx.Values().Set(ctx, keyBoot, id); err != nil {
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
		return elapsed <= maxFirstBootAge
	}
	return last.Before(clock.Now().Add(-elapsed).Truncate(time.Minute))
}

// catchUp has missed slots of tasks with missed: all run one after another (schedule.Task.CatchUp).
// The slots of this minute join them while such runs wait or go on: no slot overtakes another, or
// is skipped because of it. If too many wait, a slot of this minute starts like any other.
func catchUp(ctx context.Context, l *Ledger, slots []schedule.Slot, live []state.Row) ([]schedule.Slot, error) {
	if !slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.Task.RunAllMissed }) {
		return slots, nil
	}
	catchingUp, err := countCatchingUp(ctx, l, live)
	if err != nil {
		return nil, err
	}
	server := ""
	if l.Shared {
		server = l.Server
	}
	joined := slices.Clone(slots)
	copies := map[*schedule.Task]*schedule.Task{} // of tasks that catch up
	for i, slot := range slots {
		task, missed := slot.Task, slot.At.Before(l.Minute)
		if missed {
			catchingUp[task.Name]++
		}
		n := catchingUp[task.Name]
		tooMany := n > schedule.MaxMissedSlots && !missed
		if !task.RunAllMissed || n == 0 || tooMany {
			continue
		}
		if copies[task] == nil {
			copies[task] = schedule.CatchUp(task, l.Schedule, server)
		}
		joined[i].Task = copies[task]
	}
	return joined, nil
}

// countCatchingUp returns how many runs of each task catch up: the missed slots that live ticks
// have planned, and the runs that wait or go on.
func countCatchingUp(ctx context.Context, l *Ledger, live []state.Row) (map[string]int, error) {
	rows, err := l.tx.Runs().BegunOrWaiting(ctx)
	catchingUp := map[string]int{}
	for _, row := range live {
		if row.Slot.Before(l.Minute) {
			catchingUp[row.Task]++
		}
	}
	for _, row := range rows {
		if row.CatchesUp() {
			catchingUp[row.Task]++
		}
	}
	return catchingUp, err
}
