package view

import (
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
)

// An Upcoming is a slot that is to come, or was to come.
type Upcoming struct {
	Task   string            `json:"task"`
	Slot   humanize.JSONTime `json:"slot"`            // UTC
	Unmet  string            `json:"unmet"`           // the condition of time that will keep it from running; empty: none
	Moved  string            `json:"moved,omitempty"` // why it is not on the day that was meant, in words
	Paused bool              `json:"paused"`          // it will be skipped unless it is resumed
}

// UpcomingSlots returns the slots at or after from and before to, ordered by time; slots of the
// same time come in file order. It returns at most limit slots. It begins after the slot of the
// task that after names; the zero value is before all slots. The result more reports whether there
// are others.
func UpcomingSlots(s Source, from, to time.Time, after Upcoming, limit int) (slots []Upcoming, more bool) {
	pauses := s.Pauses()
	slots = []Upcoming{}
	next := firstSlots(s.Schedule, from, after)
	for {
		next = slices.DeleteFunc(next, func(slot *schedule.Slot) bool { return !slot.At.Before(to) })
		if len(next) == 0 || len(slots) == limit {
			return slots, len(next) > 0
		}
		first := slices.MinFunc(next, func(a, b *schedule.Slot) int { return a.At.Compare(b.At) })
		slots = append(slots, Upcoming{
			Task:   first.Task.Name,
			Slot:   humanize.UTC(first.At),
			Unmet:  first.Task.UnmetCondition(first.At),
			Moved:  first.Task.When.Meaning(first.At).Moved,
			Paused: PauseOf(pauses, first.Task, first.At) != nil,
		})
		at, ok := first.Task.When.Next(first.At)
		if !ok {
			at = to // it is not due again
		}
		first.At = at
	}
}

// firstSlots returns the first slot of each active task at or after from, and behind the slot that
// after names, in file order.
func firstSlots(s *schedule.Schedule, from time.Time, after Upcoming) (slots []*schedule.Slot) {
	from = humanize.Later(from, after.Slot.Time)
	last := slices.Index(TaskNames(s), after.Task) // of those that are listed at after.Slot
	for i, t := range s.Tasks {
		start := from.Add(-1) // Next returns a slot at from, too
		if i <= last && from.Equal(after.Slot.Time) {
			start = from
		}
		if at, ok := t.When.Next(start); ok && s.Active(t) {
			slots = append(slots, &schedule.Slot{Task: t, At: at})
		}
	}
	return slots
}

// A Due is a time at which a task is due. Unmet is the condition that will keep it from running
// then; empty if no condition will.
type Due struct {
	Slot  humanize.JSONTime `json:"slot"`
	Unmet string            `json:"unmet"`
}

// nextRun returns when a task will run next after a time, as far as time decides: its conditions,
// and pauses that have an end. A pause without an end does not count, because nobody knows when it
// is over. It returns false, too, if pauses of the schedule cover each time at which the task is
// due.
func nextRun(t *schedule.Task, after time.Time, pauses pause.Pauses) (time.Time, bool) {
	for range maxPaused {
		next, ok := t.NextRun(after)
		if !ok {
			return next, false
		}
		pause, paused := pauses.Foreseen(t, next)
		if !paused {
			return next, true
		}
		after = pause.Until.Add(-1)
	}
	return time.Time{}, false
}

// maxPaused is how many pauses one after another nextRun looks behind.
const maxPaused = 1000
