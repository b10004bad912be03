package schedule

import (
	"fmt"
	"time"

	"sched/schedule/humanize"
)

// This file decides which of the slots of a minute start, and order.go in which order. Ticks act on
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
	if !task.Holds() {
		return lock, nil
	}
	return acquire()
}
