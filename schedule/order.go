package schedule

import (
	"slices"
	"time"
)

// Split separates background from foreground slots. Background tasks start first and beside
// everything else. Foreground tasks run one after another.
func Split(slots []Slot) (background, foreground []Slot) {
	for _, slot := range slots {
		if slot.Task.Background {
			background = append(background, slot)
		} else {
			foreground = append(foreground, slot)
		}
	}
	return background, foreground
}

// UntilSecond cuts slots, which are in the order of their times, behind the last slot that is due
// by the given second.
func UntilSecond(slots []Slot, second time.Time) (until, later []Slot) {
	for i, slot := range slots {
		if slot.At.After(second) {
			return slots[:i], slots[i:]
		}
	}
	return slots, nil
}

// ConditionalLast splits background slots that start together. A slot with condition commands
// starts when the commands have answered, and no other slot waits for it.
func ConditionalLast(slots []Slot) (free, conditional []Slot) {
	for _, slot := range slots {
		if len(slot.Task.ConditionCommands) > 0 {
			conditional = append(conditional, slot)
		} else {
			free = append(free, slot)
		}
	}
	return free, conditional
}

// A ForegroundQueue remembers in which order the foreground tasks of a tick ran. The zero value is
// for a tick in which no foreground task has run.
type ForegroundQueue struct {
	runs int
	last map[*Task]int // 0: not yet
}

// Ran notes that a task runs.
func (q *ForegroundQueue) Ran(task *Task) {
	if q.last == nil {
		q.last = map[*Task]int{}
	}
	q.runs++
	q.last[task] = q.runs
}

// Reorder sorts the slots of one instant, from index i on: the task that has waited longest goes
// first. It does nothing unless i begins a new instant and behind reports that its time has come
// already. In file order, a task that takes longer than its interval would leave the tasks after it
// without a run for ever (docs/internals/decisions.md#the-task-that-waited-longest-goes-first).
func (q *ForegroundQueue) Reorder(slots []Slot, i int, behind func(Slot) bool) {
	if i == 0 || !slots[i].At.After(slots[i-1].At) || !behind(slots[i]) {
		return
	}
	first, _ := UntilSecond(slots[i:], slots[i].At)
	slices.SortStableFunc(first, func(a, b Slot) int { return q.last[a.Task] - q.last[b.Task] })
}
