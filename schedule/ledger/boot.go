package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/boot"
	"sched/schedule/clock"
	"sched/schedule/statedir"
)

// The file boot names the boot of the machine at which tasks with `every: boot` were started last. It is there for such tasks, and a
// tick reads it only for them.
func bootPath(state string) string { return filepath.Join(state, "boot") }

// freshBoot is how long ago the machine may have booted when its first tick ever comes: later the boot was before there was a schedule.
const freshBoot = 10 * time.Minute

// atBoot adds the slots of a boot to those that are due: of tasks that the machine's boot has not started yet. Their instant is the
// minute of this tick. Unnoted reports whether this boot is to be noted (noteBoot), also where it starts nothing.
func (a *Account) atBoot(due []schedule.Slot) (all []schedule.Slot, unnoted bool) {
	var slots []schedule.Slot
	for _, task := range a.Schedule.Tasks {
		if task.When.Boot && a.Schedule.Active(task) {
			slots = append(slots, schedule.Slot{Task: task, At: a.Minute.UTC()})
		}
	}
	id := boot.ID()
	if len(slots) == 0 || id == "" {
		return due, false
	}
	text, err := statedir.ReadFile(bootPath(a.Dir))
	if err == nil && string(text) == id {
		return due, false
	}
	if errors.Is(err, os.ErrNotExist) && !a.isFirstSinceBoot() {
		return due, true
	}
	isDue := func(task *schedule.Task) bool { // by another time of the task
		return slices.ContainsFunc(due, func(s schedule.Slot) bool { return s.Task == task && s.At.Equal(a.Minute) })
	}
	for _, slot := range slots {
		if !isDue(slot.Task) {
			due = append(slices.Clip(due), slot)
		}
	}
	order := map[*schedule.Task]int{}
	for i, task := range a.Schedule.Tasks {
		order[task] = i
	}
	slices.SortStableFunc(due, func(x, y schedule.Slot) int {
		if c := x.At.Compare(y.At); c != 0 {
			return c
		}
		return order[x.Task] - order[y.Task]
	})
	return due, true
}

// isFirstSinceBoot reports, where no boot was noted yet, whether no tick came since the machine booted. Where that is not known, a
// boot counts from the next one on.
func (a *Account) isFirstSinceBoot() bool {
	elapsed, ok := boot.Elapsed()
	if !ok {
		return false
	}
	last := a.lastCovered()
	if last.IsZero() {
		return elapsed <= freshBoot
	}
	return last.Before(clock.Now().Add(-elapsed).Truncate(time.Minute))
}

// noteBoot writes down that this boot has started its tasks. It is called when the journal of the tick has promised them: should the
// tick be killed in between they are due again, and later the next tick finds them in the journal. Where it cannot be written nothing is
// started, or each tick would.
func (a *Account) noteBoot() bool {
	err := statedir.Replace(bootPath(a.Dir), []byte(boot.ID()))
	if err != nil {
		a.Problem("what is due at a boot waits for a tick that can write down that it was started: %v", err)
		a.unwritten = true
	}
	return err == nil
}

// withoutBoot leaves out the slots of a boot.
func withoutBoot(slots []schedule.Slot, minute time.Time) []schedule.Slot {
	return slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool {
		return s.Task.When.Boot && s.At.Equal(minute) && len(s.Task.When.Slots(minute)) == 0
	})
}
