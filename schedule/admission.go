package schedule

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule/humanize"
)

// This file decides which of the slots of a minute start, in which order, and how long the others
// may wait. Ticks act on its decisions, and the forecast uses the same code to foresee them. The
// caller passes in the state of a moment (the time, the pauses, the locks), as values or as
// functions.

// A SlotCheck returns the reason why a task that is due at a time must not start at this moment; ""
// when it may.
type SlotCheck func(task *Task, at time.Time) string

// A Refusal says why a slot may not start. It is the zero Refusal if the slot may start.
type Refusal struct {
	Kind   RefusalKind
	Reason string // in words
}

// A RefusalKind is the kind of reason of a Refusal. The set is closed.
type RefusalKind int

const (
	NotRefused         RefusalKind = iota
	RefusedByCondition             // a condition of time of the task does not hold
	RefusedByCheck                 // a pause, maintenance, or whatever else the caller's SlotCheck looks at
	RefusedTooLate                 // see TooLate
)

// Refuse returns the first reason why a slot may not start at the moment now. It asks for the
// conditions of time, then the check, then whether it is too late. It reads the clock after the
// check, because the check may take long.
func Refuse(slot Slot, now func() time.Time, check SlotCheck) Refusal {
	if reason := slot.Task.UnmetCondition(slot.At); reason != "" {
		return Refusal{RefusedByCondition, reason}
	}
	if reason := check(slot.Task, slot.At); reason != "" {
		return Refusal{RefusedByCheck, reason}
	}
	if reason := TooLate(slot, now()); reason != "" {
		return Refusal{RefusedTooLate, reason}
	}
	return Refusal{}
}

// TooLate returns why a slot of the tick's own minute can no longer start at the moment now; "" if
// it still can.
func TooLate(slot Slot, now time.Time) string {
	late, deadline := now.Sub(slot.At), slot.Task.StartDeadline
	switch {
	case isOverrun(slot, now):
		return "it could not start before its next slot"
	case deadline > 0 && late > deadline:
		return fmt.Sprintf("it could not start within %s of its time, and %s have passed",
			humanize.Duration(deadline), humanize.Duration(late))
	}
	return ""
}

// isOverrun reports whether a slot of a task that is due several times in a minute is too late: the
// next slot is due already.
func isOverrun(slot Slot, now time.Time) bool {
	if now.Sub(slot.At) < time.Second {
		return false
	}
	next, ok := slot.Task.When.Next(slot.At)
	return ok && !now.Before(next) && slot.Task.GivesWay(slot.At)
}

// TakeLocks claims a slot if its task is one_server, and then acquires the mutex and the seat that
// its task asks for. It ends with the first error. The lock is the zero value if the task needs
// neither.
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

// SplitBackground separates background from foreground slots. Background tasks start first and
// beside everything else. Foreground tasks run one after another.
func SplitBackground(slots []Slot) (background, foreground []Slot) {
	return partition(slots, func(t *Task) bool { return t.Background })
}

// partition returns the slots whose tasks match, and the other slots.
func partition(slots []Slot, matches func(*Task) bool) (matching, others []Slot) {
	for _, slot := range slots {
		if matches(slot.Task) {
			matching = append(matching, slot)
		} else {
			others = append(others, slot)
		}
	}
	return matching, others
}

// SplitAfter cuts slots behind the last slot that is due by the given second. The slots are in the
// order of their times.
func SplitAfter(slots []Slot, second time.Time) (until, later []Slot) {
	for i, slot := range slots {
		if slot.At.After(second) {
			return slots[:i], slots[i:]
		}
	}
	return slots, nil
}

// SplitConditional separates slots that start together: free slots have no condition commands. A
// conditional slot starts when its commands have answered, and no other slot waits for it.
func SplitConditional(slots []Slot) (free, conditional []Slot) {
	return partition(slots, func(t *Task) bool { return len(t.ConditionCommands) == 0 })
}

// A ForegroundOrder remembers in which order the foreground tasks of a tick ran. The zero value is
// for a tick in which no foreground task has run.
type ForegroundOrder struct {
	runs int           // of all tasks
	last map[*Task]int // the number of the task's last run in this tick, from 1
}

// Ran notes that a task runs.
func (o *ForegroundOrder) Ran(task *Task) {
	if o.last == nil {
		o.last = map[*Task]int{}
	}
	o.runs++
	o.last[task] = o.runs
}

// Reorder sorts the slots of one instant, from index i on: the task that has waited longest goes
// first. It does nothing unless i begins a new instant and behind reports that its time has come
// already. In file order, a task that takes longer than its interval would leave the tasks after it
// without a run for ever (docs/internals/decisions.md#the-task-that-waited-longest-goes-first).
func (o *ForegroundOrder) Reorder(slots []Slot, i int, behind func(Slot) bool) {
	if i == 0 || !slots[i].At.After(slots[i-1].At) || !behind(slots[i]) {
		return
	}
	first, _ := SplitAfter(slots[i:], slots[i].At)
	slices.SortStableFunc(first, func(a, b Slot) int { return o.last[a.Task] - o.last[b.Task] })
}

// CatchUp returns the task as it runs with `missed: all`. Its runs are in the background, and each
// waits for the runs of earlier slots, because all hold the mutex of the task. If the task itself
// takes no lock, they hold a mutex of this server, so that they do not wait for runs of other
// servers. server is "" if no other server shares the store.
func CatchUp(t *Task, s *Schedule, server string) *Task {
	catchUp := *t
	catchUp.CatchesUp = true
	catchUp.Background = true
	catchUp.WithoutOverlapping, catchUp.MayQueue, catchUp.Replace = true, true, false
	catchUp.MaxWait = t.MissedWithin
	catchUp.Maintenance = s.Maintenance
	if t.EvenInMaintenance {
		catchUp.Maintenance = ""
	}
	if server != "" && !t.WithoutOverlapping && !t.OneServer {
		catchUp.Mutex += "@" + server
	}
	return &catchUp
}
