package tick

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// settledSlots are the slots that have an outcome, or for which a live tick will account, by task.
type settledSlots map[string]*taskSlots

// taskSlots are the settled slots of one task.
type taskSlots struct {
	single map[time.Time]bool
	ranges []state.Slot // each stands for several
}

// findSettled collects the settled slots in the time of a gap, and of the slots that dead ticks
// left.
func (b *backfill) findSettled(ctx context.Context, left []state.Row) (settledSlots, error) {
	s := settledSlots{}
	from, to := b.ledger.Minute, b.ledger.Minute.Add(time.Minute)
	if b.gap != nil {
		from = b.gap.countedFrom
	}
	for _, row := range left { // some may lie ahead: the clock was set back
		if row.Slot.Before(from) {
			from = row.Slot
		}
		to = humanize.Later(to, row.Slot.Add(time.Second))
	}
	for key := range b.ledger.waiting {
		s.add(key.task, key.slot, key.slot)
	}
	slots, err := b.ledger.plan.Runs().Slots(ctx, from, to)
	for _, slot := range slots {
		s.add(slot.Task, slot.At, slot.Until)
	}
	return s, err
}

// add adds the slots of a task from at through until.
func (s settledSlots) add(name string, at, until time.Time) {
	slots := s[name]
	if slots == nil {
		slots = &taskSlots{single: map[time.Time]bool{}}
		s[name] = slots
	}
	if until.After(at) {
		slots.ranges = append(slots.ranges, state.Slot{Task: name, At: at.UTC(), Until: until.UTC()})
	} else {
		slots.single[at.UTC()] = true
	}
}

// has reports whether a slot is settled.
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
	covers := func(r state.Slot) bool { return !at.Before(r.At) && !at.After(r.Until) }
	return slots != nil && slices.ContainsFunc(slots.ranges, covers)
}

// firstOpen returns the first slot of the task at or after from that is not settled.
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
