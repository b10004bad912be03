package tick

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
)

// keyBoot is the value that names the boot of the machine at which tasks with `every: boot` were
// started last. It is there for such tasks, and a tick reads it only for them.
const keyBoot = "boot"

// freshBoot is how long ago the machine may have booted when its first tick ever comes. An earlier
// boot counts as one from before there was a schedule.
const freshBoot = 10 * time.Minute

// atBoot adds the slots of a boot to the due slots: of tasks that this boot of the machine has not
// started yet. Their instant is the minute of this tick. It notes this boot even if it starts
// nothing.
func (a *Account) atBoot(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	var boots []schedule.Slot
	for _, task := range a.Schedule.Tasks {
		if task.When.Boot && a.Schedule.Active(task) {
			boots = append(boots, schedule.Slot{Task: task, At: a.Minute.UTC()})
		}
	}
	id, noted := clock.BootID(), ""
	if len(boots) == 0 || id == "" {
		return slots, nil
	}
	known, err := a.plan.Values().Get(ctx, keyBoot, &noted)
	if err != nil || noted == id {
		return slots, err
	}
	if err := a.plan.Values().Set(ctx, keyBoot, id); err != nil {
		return nil, err
	}
	if !known && !isFirstSinceBoot(last) {
		return slots, nil
	}
	isDue := func(task *schedule.Task) bool { // by another time of the task
		return slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.Task == task && s.At.Equal(a.Minute) })
	}
	for _, slot := range boots {
		if !isDue(slot.Task) {
			slots = append(slices.Clip(slots), slot)
		}
	}
	order := map[*schedule.Task]int{}
	for i, task := range a.Schedule.Tasks {
		order[task] = i
	}
	slices.SortStableFunc(slots, func(x, y schedule.Slot) int {
		if c := x.At.Compare(y.At); c != 0 {
			return c
		}
		return order[x.Task] - order[y.Task]
	})
	return slots, nil
}

// isFirstSinceBoot reports, when no boot was noted yet, whether this is the first tick after the
// machine booted. If that is not known, boots count from the next one on.
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
