package tick

import (
	"context"
	"fmt"
	"slices"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// maxDelayed is how many slots of a task wait for the store at most. The slots of a task that is
// due every minute could otherwise run a whole night one after another.
const maxDelayed = 60

// Delay has a slot wait that is paused, or for which the store had no answer
// (docs/internals/decisions.md#a-slot-that-waits-is-a-row). IsNew is false if an earlier tick did
// that. Not ok says that the slot does not wait, and is to be skipped. Then it is too late for the
// slot, too many slots of its task wait, it gives way to the next slot of its minute, it has a row
// already, the tick accounts for nothing, or the database cannot be written.
func (l *Ledger) Delay(slot schedule.Slot, why string, paused bool) (isNew, ok bool) {
	d, task := dueOf(slot), slot.Task
	wait := state.Wait{For: state.ForStore, Since: clock.Now(), Until: slot.At.Add(task.LateWithin())}
	if paused {
		wait.For = state.ForPause
	}
	most := maxDelayed
	if task.RunAllMissed {
		most = max(most, task.MaxMissed)
	}
	before, waited := l.waiting[d]
	if !waited && (!l.Covers || l.runs[d].again || l.Minute.After(wait.Until) || task.GivesWay(slot.At) || l.waitingOf(task.Name) >= most) {
		return false, false
	}
	if waited && before.Wait.For == wait.For {
		wait, why = before.Wait, before.Reason
	}
	ctx := context.Background()
	own, err := l.Self.Owned(ctx)
	if err == nil {
		err = own.Wait(ctx, l.runs[d].run, wait, why)
	}
	return !waited, err == nil
}

func (l *Ledger) waitingOf(task string) (n int) {
	for d := range l.waiting {
		if d.task == task {
			n++
		}
	}
	return n
}

// delayedSlots returns the slots that wait and that this tick tries again, the oldest first. Slots
// for which it is too late are skipped. If nobody knows whether a slot is for this server, it is
// left to a later tick.
func (b *backfill) delayedSlots(ctx context.Context) (slots []schedule.Slot, err error) {
	a := b.ledger
	rows, err := a.plan.Runs().Waiting(ctx)
	slices.SortStableFunc(rows, func(x, y state.Row) int { return x.Slot.Compare(y.Slot) })
	for _, w := range rows {
		if !w.DelayedSlot() {
			continue
		}
		d, task, late := due{w.Task, w.Slot}, b.task(w.Task), a.Minute.Sub(w.Slot)
		a.waiting[d] = w
		switch {
		case task == nil && mayBeHere(a.Schedule, w.Task) && !a.Minute.After(w.Wait.Until):
		case task == nil:
			b.skipDelayed(w, "", waitedFor(w)+", and is "+whyGone(a.Schedule, w.Task))
		case late > task.LateWithin() && w.Wait.For == state.ForPause:
			b.skipDelayed(w, "", fmt.Sprintf("%s; that took longer than %s", w.Reason, humanize.Duration(task.LateWithin())))
		case late > task.LateWithin():
			b.skipDelayed(w, outcome.StoreDown, fmt.Sprintf("nobody knew for %s whether another server runs it: %s", humanize.Duration(task.LateWithin()), w.Reason))
		default:
			a.runs[d] = plannedRun{run: w.ID, note: waitedFor(w) + ": " + w.Reason}
			slots = append(slots, schedule.Slot{Task: task, At: w.Slot})
		}
	}
	return slots, err
}

// mayBeHere reports whether a task that is not for this server may be for it after all: a label
// that the task asks for may be among the wrong labels of this machine.
func mayBeHere(s *schedule.Schedule, name string) bool {
	t := s.Task(name)
	return s.Machine.Wrong != "" && t != nil && s.InUse(t) && slices.ContainsFunc(t.Servers, placement.IsLabel)
}

// whyGone says why a task has no slots here.
func whyGone(s *schedule.Schedule, name string) string {
	if t := s.Task(name); t != nil {
		return s.Inactive(t)
	}
	return "no longer in the schedule"
}

// waitedFor says what a delayed slot waited for.
func waitedFor(w state.Row) string {
	if w.Wait.For == state.ForPause {
		return "it waited for the end of a pause"
	}
	return "it waited for the store"
}

// newestPaused leaves out waiting slots that were paused and are not the newest of their task any
// more: a newer slot waits, starts in this tick, or is planned by a live tick. The slots that it
// leaves out are skipped because of the pause.
func (b *backfill) newestPaused(waiting, starts []schedule.Slot, live []state.Row) []schedule.Slot {
	var all []due
	for _, slot := range slices.Concat(waiting, starts) {
		if slot.Task.UnmetCondition(slot.At) == "" {
			all = append(all, dueOf(slot))
		}
	}
	for _, row := range live {
		all = append(all, due{row.Task, row.Slot})
	}
	return slices.DeleteFunc(slices.Clone(waiting), func(slot schedule.Slot) bool {
		d := dueOf(slot)
		w := b.ledger.waiting[d]
		newer := func(other due) bool { return other.task == d.task && other.slot.After(d.slot) }
		if w.Wait.For != state.ForPause || !slices.ContainsFunc(all, newer) {
			return false
		}
		b.settleDelayed(w, "", w.Reason)
		return true
	})
}

// wasDelayed reports whether a slot waited when this tick began.
func (l *Ledger) wasDelayed(slot schedule.Slot) bool {
	_, waits := l.waiting[dueOf(slot)]
	return waits
}

// skipDelayed settles that a waiting slot does not run, and says so.
func (b *backfill) skipDelayed(w state.Row, kind outcome.Kind, reason string) {
	b.settleDelayed(w, kind, reason)
	b.ledger.say("%s of %s is skipped: %s", w.Task, humanize.MinuteZone(w.Slot, b.ledger.Schedule.Location), reason)
}

// settleDelayed settles that a waiting slot does not run. Its row goes with that. If its task has
// on_skip hooks, the tick skips the slot later.
func (b *backfill) settleDelayed(w state.Row, kind outcome.Kind, reason string) {
	if task := b.task(w.Task); task != nil && len(task.Hooks.OnSkip) > 0 {
		slot := schedule.Slot{Task: task, At: w.Slot}
		b.ledger.runs[dueOf(slot)] = plannedRun{run: w.ID}
		b.ledger.expired = append(b.ledger.expired, ExpiredSlot{slot, kind, reason})
		return
	}
	row := b.row(w.Task, w.ID, w.Slot, outcome.Skipped, reason)
	row.Kind = kind
	b.rows = append(b.rows, row)
}
