package runner

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/ledger"
	"sched/schedule/runfile"
	"sched/schedule/text"
)

// known are the slots that have an outcome, or whose outcome somebody else will write down, by task.
type known map[string]*outcomes

type outcomes struct {
	one    map[time.Time]bool
	ranges []history.Slot // of which each stands for several
}

// known collects them for the time of a gap and of what dead ticks promised. The order matters: a run that
// ends in the meantime moves from its file into the history, and is found there at the latest.
func (t *Tick) known(gap *ledger.Gap, dead []*ledger.Journal, live []ledger.Promise) (known, error) {
	k, from := known{}, t.Minute
	since := func(at time.Time) {
		if at.Before(from) {
			from = at
		}
	}
	if gap != nil {
		since(gap.From)
	}
	for _, journal := range dead {
		if journal.Promise.Gap != nil {
			since(journal.Promise.Gap.From)
		}
		for _, due := range journal.Promise.Due {
			since(due.Slot)
		}
		for due := range journal.Outcomes {
			k.add(due.Task, due.Slot, due.Slot)
		}
	}
	for _, promise := range live {
		for _, due := range promise.Due {
			k.add(due.Task, due.Slot, due.Slot)
		}
	}
	for _, folder := range t.State.folders() {
		ids, err := runfile.List(folder.Dir)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if log, _, err := runfile.Read(folder.Dir, id); err == nil && log.Begin.Origin == "" {
				k.add(log.Begin.Task, log.Begin.Slot, log.Begin.Slot)
			}
		}
	}
	return k, t.knownToHistory(k, from)
}

// knownToHistory opens the history as one that writes it does: a damaged one is mended, and knows
// nothing then.
func (t *Tick) knownToHistory(k known, from time.Time) error {
	db, err := history.Open(t.State.Dir)
	if err != nil {
		return err
	}
	defer db.Close()
	slots, err := db.Slots(context.Background(), from, t.Minute.Add(time.Minute))
	for _, slot := range slots {
		k.add(slot.Task, slot.At, slot.Until)
	}
	t.sayAside(db)
	return err
}

// add adds the slots of a task from at through until.
func (k known) add(name string, at, until time.Time) {
	o := k[name]
	if o == nil {
		o = &outcomes{one: map[time.Time]bool{}}
		k[name] = o
	}
	if until.After(at) {
		o.ranges = append(o.ranges, history.Slot{Task: name, At: at.UTC(), Until: until.UTC()})
	} else {
		o.one[at.UTC()] = true
	}
}

// has reports whether a slot is known.
func (k known) has(name string, at time.Time) bool { return k.alone(name, at) || k.within(name, at) }

// alone reports whether a slot is known by itself. One that a tick promised must be: that tick may have
// recorded a gap around it in one row, which leaves out the slot that was to run.
func (k known) alone(name string, at time.Time) bool {
	o := k[name]
	return o != nil && o.one[at.UTC()]
}

func (k known) within(name string, at time.Time) bool {
	o := k[name]
	return o != nil && slices.ContainsFunc(o.ranges, func(s history.Slot) bool { return !at.Before(s.At) && !at.After(s.Until) })
}

// first returns the first slot of the task from a time on that is not known.
func (k known) first(task *schedule.Task, from time.Time) time.Time {
	first, ok := task.When.Next(from.Add(-time.Second))
	for ok && k.has(task.Name, first) {
		first, ok = task.When.Next(first)
	}
	return first
}

// count returns how many slots of the task in [from, to) are known.
func (k known) count(task *schedule.Task, from, to time.Time) (n int) {
	o := k[task.Name]
	if o == nil {
		return 0
	}
	for at := range o.one { // a run that was started by hand may have the time of no slot
		if !at.Before(from) && at.Before(to) && !k.within(task.Name, at) && task.When.Count(at, at.Add(time.Second)) == 1 {
			n++
		}
	}
	for _, s := range o.ranges {
		end := s.Until.Add(time.Second)
		if to.Before(end) {
			end = to
		}
		n += task.When.Count(text.Later(s.At, from), end)
	}
	return n
}
