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

// Delay has a slot wait for the end of a pause or for the store, for the reason why
// (docs/internals/decisions.md#a-slot-that-waits-is-a-row). isNew is false if the slot waited
// before. ok is false if the slot may not wait (mayWait), or if the database cannot be written: the
// caller must skip the slot then.
func (l *Ledger) Delay(slot schedule.Slot, waitsFor state.WaitsFor, why string) (isNew, ok bool) {
	key := keyOf(slot)
	before, waited := l.waiting[key]
	if !waited && !l.mayWait(slot) {
		return false, false
	}
	wait := state.Wait{For: waitsFor, Since: clock.Now(), Until: slot.At.Add(slot.Task.MaxLateness())}
	if waited && before.Wait.For == waitsFor {
		wait, why = before.Wait, before.Reason
	}
	ctx := context.Background()
	own, err := l.Self.Owned(ctx)
	if err == nil {
		before.ID = l.runs[key].run
		err = own.Apply(ctx, state.GiveBack(wait, why), &before)
	}
	return !waited, err == nil
}

// mayWait reports whether a slot of this tick may begin to wait. It may not
//
//   - if the tick accounts for nothing,
//   - if the slot has a row already,
//   - if it is too late for the slot,
//   - if the slot makes way for the next slot of its minute,
//   - or if too many slots of its task wait.
func (l *Ledger) mayWait(slot schedule.Slot) bool {
	task := slot.Task
	tooLate := l.Minute.After(slot.At.Add(task.MaxLateness()))
	if !l.Covers || l.runs[keyOf(slot)].hasRow || tooLate || task.GivesWay(slot.At) {
		return false
	}
	limit := maxDelayed
	if task.RunAllMissed {
		limit = max(limit, task.MaxMissed)
	}
	waiting := 0
	for key := range l.waiting {
		if key.task == task.Name {
			waiting++
		}
	}
	return waiting < limit
}

// waitForStore leaves a slot for which the store had no answer to later ticks. It reports false if
// the slot cannot be left. The first tick that leaves the slot reports that.
func (l *launcher) waitForStore(slot schedule.Slot, why error) bool {
	isNew, ok := l.ledger.Delay(slot, state.ForStore, why.Error())
	if isNew && ok {
		latest := humanize.MinuteZone(slot.At.Add(slot.Task.MaxLateness()), l.tick.Schedule.Location)
		l.tick.Report.Problem("%s waits for the store, until %s at the latest: %v", slot.Task.Name, latest, why)
	}
	return ok
}

// refuse gives its outcome to a slot that may not start at this moment. If a pause or a maintenance
// keeps the slot, and its task says so, the slot waits for the end of the pause instead
// (docs/internals/decisions.md#a-slot-that-waits-is-a-row).
func (l *launcher) refuse(row state.Row, task *schedule.Task, reason string, byPause bool) {
	if byPause && task.RunAfterPause {
		isNew, ok := l.ledger.Delay(schedule.Slot{Task: task, At: row.Slot}, state.ForPause, reason)
		if isNew && ok {
			l.tick.Report.detail("%s waits for the end of a pause: %s", task.Name, reason)
		}
		if ok {
			return
		}
	}
	if task.Lacks != "" {
		row.Kind = outcome.Lacking
		reason += " (for ticks)" // a person may have the variable
	}
	l.skip(row, task, reason)
}

// takeDelayed notes the slots that wait, and returns those that this tick tries again, the oldest
// first. Slots for which it is too late are skipped. If nobody knows whether a slot is for this
// server, it is left to a later tick.
func (b *backfill) takeDelayed(ctx context.Context) (slots []schedule.Slot, err error) {
	l := b.ledger
	rows, err := l.plan.Runs().Waiting(ctx)
	slices.SortStableFunc(rows, func(x, y state.Row) int { return x.Slot.Compare(y.Slot) })
	for _, row := range rows {
		if !row.DelayedSlot() {
			continue
		}
		key := slotKey{row.Task, row.Slot}
		l.waiting[key] = row
		task := b.task(row.Task)
		switch {
		case task == nil && mayBeHere(l.Schedule, row.Task) && !l.Minute.After(row.Wait.Until): // it waits on
		case task == nil:
			b.skipDelayed(row, "", waitedFor(row)+", and is "+whyGone(l.Schedule, row.Task))
		case l.Minute.Sub(row.Slot) > task.MaxLateness():
			b.skipTooOld(row, humanize.Duration(task.MaxLateness()))
		default:
			l.runs[key] = plannedRun{run: row.ID, note: waitedFor(row) + ": " + row.Reason}
			slots = append(slots, schedule.Slot{Task: task, At: row.Slot})
		}
	}
	return slots, err
}

// skipTooOld skips a slot that has waited for longer than its task allows.
func (b *backfill) skipTooOld(row state.Row, allowed string) {
	if row.Wait.For == state.ForPause {
		b.skipDelayed(row, "", fmt.Sprintf("%s; that took longer than %s", row.Reason, allowed))
		return
	}
	reason := fmt.Sprintf("nobody knew for %s whether another server runs it: %s", allowed, row.Reason)
	b.skipDelayed(row, outcome.StoreDown, reason)
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
func waitedFor(row state.Row) string {
	if row.Wait.For == state.ForPause {
		return "it waited for the end of a pause"
	}
	return "it waited for the store"
}

// skipOutdated skips waiting slots that were paused and are not the newest of their task any more:
// a newer slot waits, starts in this tick, or is planned by a live tick. It returns the other
// waiting slots.
func (b *backfill) skipOutdated(waiting, starts []schedule.Slot, live []state.Row) []schedule.Slot {
	var candidates []slotKey
	for _, slot := range slices.Concat(waiting, starts) {
		if slot.Task.UnmetCondition(slot.At) == "" {
			candidates = append(candidates, keyOf(slot))
		}
	}
	for _, row := range live {
		candidates = append(candidates, slotKey{row.Task, row.Slot})
	}
	return slices.DeleteFunc(slices.Clone(waiting), func(slot schedule.Slot) bool {
		key := keyOf(slot)
		row := b.ledger.waiting[key]
		newer := func(other slotKey) bool { return other.task == key.task && other.slot.After(key.slot) }
		if row.Wait.For != state.ForPause || !slices.ContainsFunc(candidates, newer) {
			return false
		}
		b.settleDelayed(row, "", row.Reason)
		return true
	})
}

// skipDelayed settles that a waiting slot does not run, and reports that.
func (b *backfill) skipDelayed(row state.Row, kind outcome.Kind, reason string) {
	b.settleDelayed(row, kind, reason)
	slot := humanize.MinuteZone(row.Slot, b.ledger.Schedule.Location)
	b.ledger.addProblem("%s of %s is skipped: %s", row.Task, slot, reason)
}

// settleDelayed settles that a waiting slot does not run. Its row gets the outcome. If its task has
// on_skip hooks, the tick skips the slot later.
func (b *backfill) settleDelayed(waiting state.Row, kind outcome.Kind, reason string) {
	if task := b.task(waiting.Task); task != nil && len(task.Hooks.OnSkip) > 0 {
		slot := schedule.Slot{Task: task, At: waiting.Slot}
		b.ledger.runs[keyOf(slot)] = plannedRun{run: waiting.ID}
		b.ledger.Expired = append(b.ledger.Expired, expiredSlot{slot, kind, reason})
		return
	}
	row := b.endedRow(slotKey{waiting.Task, waiting.Slot}, waiting.ID, outcome.Skipped, reason)
	row.Kind = kind
	b.rows = append(b.rows, row)
}
