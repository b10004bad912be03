package schedule

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule/humanize"
)

// This file decides which of the slots of a minute start, and in which order. Ticks act on
// its decisions, and the forecast uses the same code to foresee them. The caller passes in the
// state of a moment (the time, the pauses, the locks), as values or as functions.

// A SlotCheck returns the reason why a task that is due at a time must not start at this moment; ""
// when it may.
type SlotCheck func(task *Task, at time.Time) string

// Refusal returns the first reason why a slot may not start at the moment now, "" if it may start.
// It asks for the conditions of time, then the checks in their order, then whether it is too late.
// It reads the clock when it needs the time, because checks may take long.
func Refusal(slot Slot, now func() time.Time, checks ...SlotCheck) string {
	if reason := slot.Task.UnmetCondition(slot.At); reason != "" {
		return reason
	}
	for _, check := range checks {
		if reason := check(slot.Task, slot.At); reason != "" {
			return reason
		}
	}
	return TooLate(slot, now())
}

// TooLate returns why it is too late at the moment now for a slot of the tick's own minute to
// start; "" when it is not.
func TooLate(slot Slot, now time.Time) string {
	late, deadline := now.Sub(slot.At), slot.Task.StartDeadline
	switch {
	case overrun(slot, now):
		return "it could not start before its next slot"
	case deadline > 0 && late > deadline:
		return fmt.Sprintf("it could not start within %s of its time, and %s have passed", humanize.Duration(deadline), humanize.Duration(late))
	}
	return ""
}

// overrun reports whether a slot of a task that is due several times in a minute is too late: the
// next slot is due already.
func overrun(slot Slot, now time.Time) bool {
	if now.Sub(slot.At) < time.Second {
		return false
	}
	next, ok := slot.Task.When.Next(slot.At)
	return ok && !now.Before(next) && len(slot.Task.When.Slots(slot.At)) > 1
}

// TakeLocks claims a slot and then acquires its mutex and a seat of its pool, as far as its task
// asks for them. It ends with the first error. The lock is the zero value if the task needs no
// lock.
func TakeLocks[Lock any](task *Task, claim func() error, acquire func() (Lock, error)) (lock Lock, err error) {
	if task.OneServer {
		if err := claim(); err != nil {
			return lock, err
		}
	}
	if !task.HoldsWhileRunning() {
		return lock, nil
	}
	return acquire()
}

// Split separates background from foreground slots. Background tasks start first and beside
// everything else. Foreground tasks run one after another.
func Split(slots []Slot) (background, foreground []Slot) {
	return partition(slots, func(t *Task) bool { return t.Background })
}

func partition(slots []Slot, first func(*Task) bool) (yes, no []Slot) {
	for _, slot := range slots {
		if first(slot.Task) {
			yes = append(yes, slot)
		} else {
			no = append(no, slot)
		}
	}
	return yes, no
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
	return partition(slots, func(t *Task) bool { return len(t.ConditionCommands) == 0 })
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
