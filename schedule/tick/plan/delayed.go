package plan

import (
	"context"
	"fmt"
	"slices"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// takeDelayed notes the slots that wait, and returns those that this tick tries again, the oldest
// first. Slots for which it is too late are skipped. If nobody knows whether a slot is for this
// server, it is left to a later tick.
func takeDelayed(ctx context.Context, b *backfill) (slots []schedule.Slot, err error) {
	l := b.ledger
	rows, err := l.tx.Runs().Waiting(ctx)
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
			skipDelayed(b, row, "", waitedFor(row)+", and is "+WhyGone(l.Schedule, row.Task))
		case l.Minute.Sub(row.Slot) > task.MaxLateness():
			skipTooOld(b, row, humanize.Duration(task.MaxLateness()))
		default:
			l.runs[key] = plannedRun{run: row.ID, note: waitedFor(row) + ": " + row.Reason}
			slots = append(slots, schedule.Slot{Task: task, At: row.Slot})
		}
	}
	return slots, err
}

// skipTooOld skips a slot that has waited for longer than its task allows.
func skipTooOld(b *backfill, row state.Row, allowed string) {
	if row.Wait.For == state.ForPause {
		skipDelayed(b, row, "", fmt.Sprintf("%s; that took longer than %s", row.Reason, allowed))
		return
	}
	reason := fmt.Sprintf("nobody knew for %s whether another server runs it: %s", allowed, row.Reason)
	skipDelayed(b, row, outcome.StoreDown, reason)
}

// mayBeHere reports whether a task that is not for this server may be for it after all: a label
// that the task asks for may be among the wrong labels of this machine.
func mayBeHere(s *schedule.Schedule, name string) bool {
	t := s.Task(name)
	return s.Machine.Wrong != "" && t != nil && s.InUse(t) && slices.ContainsFunc(t.Servers, placement.IsLabel)
}

// WhyGone says why a task has no slots here.
func WhyGone(s *schedule.Schedule, name string) string {
	if t := s.Task(name); t != nil {
		return s.Inactive(t)
	}
	return "no longer in the schedule"
}

// skipOutdated skips waiting slots that were paused and are not the newest of their task any more:
// a newer slot waits, starts in this tick, or is planned by a live tick. It returns the other
// waiting slots.
func skipOutdated(b *backfill, waiting, starts []schedule.Slot, live []state.Row) []schedule.Slot {
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
		settleDelayed(b, row, "", row.Reason)
		return true
	})
}

// skipDelayed settles that a waiting slot does not run, and reports that.
func skipDelayed(b *backfill, row state.Row, kind outcome.Kind, reason string) {
	settleDelayed(b, row, kind, reason)
	slot := humanize.MinuteZone(row.Slot, b.ledger.Schedule.Location)
	b.ledger.addProblem("%s of %s is skipped: %s", row.Task, slot, reason)
}

// settleDelayed settles that a waiting slot does not run. Its row gets the outcome. If its task has
// on_skip hooks, the tick skips the slot later.
func settleDelayed(b *backfill, waiting state.Row, kind outcome.Kind, reason string) {
	if task := b.task(waiting.Task); task != nil && len(task.Hooks.OnSkip) > 0 {
		slot := schedule.Slot{Task: task, At: waiting.Slot}
		b.ledger.runs[keyOf(slot)] = plannedRun{run: waiting.ID}
		b.ledger.Expired = append(b.ledger.Expired, ExpiredSlot{slot, kind, reason})
		return
	}
	row := b.endedRow(slotKey{waiting.Task, waiting.Slot}, waiting.ID, outcome.Skipped, reason)
	row.Kind = kind
	b.rows = append(b.rows, row)
}
