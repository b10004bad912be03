package tick

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// accounted are the slots that have an outcome, or for which a live tick will account, by task.
type accounted map[string]*outcomes

// outcomes are the accounted slots of one task.
type outcomes struct {
	single map[time.Time]bool
	ranges []state.Slot // each stands for several
}

// accountedFor collects the accounted slots in the time of a gap, and of the slots that dead ticks
// left.
func (a *Account) accountedFor(ctx context.Context, gap *gap, left []state.Row) (accounted, error) {
	k, from, to := accounted{}, a.Minute, a.Minute.Add(time.Minute)
	if gap != nil {
		from = gap.from
	}
	for _, row := range left { // some may lie ahead: the clock was set back
		if row.Slot.Before(from) {
			from = row.Slot
		}
		to = humanize.Later(to, row.Slot.Add(time.Second))
	}
	for d := range a.waiting {
		k.add(d.task, d.slot, d.slot)
	}
	slots, err := a.plan.Runs().Slots(ctx, from, to)
	for _, slot := range slots {
		k.add(slot.Task, slot.At, slot.Until)
	}
	return k, err
}

// add adds the slots of a task from at through until.
func (k accounted) add(name string, at, until time.Time) {
	o := k[name]
	if o == nil {
		o = &outcomes{single: map[time.Time]bool{}}
		k[name] = o
	}
	if until.After(at) {
		o.ranges = append(o.ranges, state.Slot{Task: name, At: at.UTC(), Until: until.UTC()})
	} else {
		o.single[at.UTC()] = true
	}
}

// has reports whether a slot is accounted for.
func (k accounted) has(name string, at time.Time) bool {
	return k.itself(name, at) || k.inRange(name, at)
}

// itself reports whether a slot is accounted for by itself.
func (k accounted) itself(name string, at time.Time) bool {
	o := k[name]
	return o != nil && o.single[at.UTC()]
}

func (k accounted) inRange(name string, at time.Time) bool {
	o := k[name]
	return o != nil && slices.ContainsFunc(o.ranges, func(s state.Slot) bool { return !at.Before(s.At) && !at.After(s.Until) })
}

// firstOpen returns the first slot of the task from a time on that is not accounted for.
func (k accounted) firstOpen(task *schedule.Task, from time.Time) time.Time {
	first, ok := task.When.Next(from.Add(-time.Second))
	for ok && k.has(task.Name, first) {
		first, ok = task.When.Next(first)
	}
	return first
}

// inRanges returns how many slots of the task in [from, to) lie in ranges.
func (k accounted) inRanges(task *schedule.Task, from, to time.Time) (n int) {
	o := k[task.Name]
	if o == nil {
		return 0
	}
	for _, s := range o.ranges {
		end := s.Until.Add(time.Second)
		if to.Before(end) {
			end = to
		}
		n += task.When.Count(humanize.Later(s.At, from), end)
	}
	return n
}
