package plan

import (
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// settledSlots are the slots that have an outcome, or for which a live tick will account, by task.
type settledSlots map[string]*taskSlots

// add adds the slots of a task from at through until.
func (s settledSlots) add(name string, at, until time.Time) {
	slots := s[name]
	if slots == nil {
		slots = &taskSlots{single: map[time.Time]bool{}}
		s[name] = slots
	}
	if until.After(at) {
		slots.ranges = append(slots.ranges, state.RecordedSlot{Task: name, At: at.UTC(), Until: until.UTC()})
	} else {
		slots.single[at.UTC()] = true
	}
}

func (s settledSlots) has(name string, at time.Time) bool {
	return s.hasSingle(name, at) || s.hasInRange(name, at)
}

// hasSingle reports whether a slot is settled by a row of its own.
func (s settledSlots) hasSingle(name string, at time.Time) bool {
	slots := s[name]
	return slots != nil && slots.single[at.UTC()]
}

// hasInRange reports whether a slot is settled by a row that stands for several slots.
func (s settledSlots) hasInRange(name string, at time.Time) bool {
	slots := s[name]
	covers := func(r state.RecordedSlot) bool { return !at.Before(r.At) && !at.After(r.Until) }
	return slots != nil && slices.ContainsFunc(slots.ranges, covers)
}

// firstOpen returns the first slot of the task at or after from that is not settled; the zero
// time for none.
func (s settledSlots) firstOpen(task *schedule.Task, from time.Time) time.Time {
	first, ok := task.When.Next(from.Add(-time.Second))
	for ok && s.has(task.Name, first) {
		first, ok = task.When.Next(first)
	}
	return first
}

// countInRanges returns how many slots of the task in [from, to) lie in ranges.
func (s settledSlots) countInRanges(task *schedule.Task, from, to time.Time) (n int) {
	slots := s[task.Name]
	if slots == nil {
		return 0
	}
	for _, r := range slots.ranges {
		end := r.Until.Add(time.Second)
		if to.Before(end) {
			end = to
		}
		n += task.When.Count(humanize.Later(r.At, from), end)
	}
	return n
}

// taskSlots are the settled slots of one task.
type taskSlots struct {
	single map[time.Time]bool
	ranges []state.RecordedSlot // each stands for several
}
