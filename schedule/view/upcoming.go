package view

import (
	"slices"
	"time"

	"sched/schedule"
)

// An Upcoming is a slot that is to come, or was to come.
type Upcoming struct {
	Task   string `json:"task"`
	Slot   string `json:"slot"`   // UTC
	Unmet  string `json:"unmet"`  // the condition of time that will keep it from running; empty: none
	Paused bool   `json:"paused"` // it will be skipped unless it is resumed

	At time.Time `json:"-"` // Slot, exactly
}

// Upcoming returns the slots at or after from and before to, ordered by time; slots of the same
// time come in file order. It returns at most limit slots. It begins after the slot of the task
// that after names; the zero value is before all slots. More reports whether there are others.
func (s Source) Upcoming(from, to time.Time, after Upcoming, limit int) (slots []Upcoming, more bool) {
	pauses := s.Pauses()
	names := TaskNames(s.Schedule)
	last := slices.Index(names, after.Task)
	if from.Before(after.At) {
		from = after.At
	}
	var next []dueTask
	for i, t := range s.Schedule.Tasks {
		start := from.Add(-1)
		if i <= last && from.Equal(after.At) {
			start = from
		}
		if at, ok := t.When.Next(start); ok && at.Before(to) && s.Schedule.Active(t) {
			next = append(next, dueTask{t, at})
		}
	}
	slots = []Upcoming{}
	for len(next) > 0 {
		if len(slots) == limit {
			return slots, true
		}
		first := 0
		for i := range next {
			if next[i].at.Before(next[first].at) {
				first = i
			}
		}
		t, at := next[first].task, next[first].at
		slots = append(slots, Upcoming{t.Name, timeText(at), t.UnmetCondition(at), PauseOf(pauses, t, at) != nil, at.UTC()})
		if again, ok := t.When.Next(at); ok && again.Before(to) {
			next[first].at = again
		} else {
			next = slices.Delete(next, first, first+1)
		}
	}
	return slots, false
}

type dueTask struct {
	task *schedule.Task
	at   time.Time
}
