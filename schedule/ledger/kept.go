package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// mostKept is how many slots of a task wait for the store at most: those of a task that is due every minute would run a whole night
// one after another.
const mostKept = 60

// Keep has a slot wait for which the store had no answer, or one that is paused
// (docs/internals/decisions.md#a-slot-that-waits-is-a-row). IsNew is false where an earlier tick
// did. Not ok says that it does not wait, and is to be skipped: it is too late for it, too many of
// its task wait, it gives way to the next one of its minute, the tick accounts for nothing, or the
// database cannot be written.
func (a *Account) Keep(record outcome.Record, task *schedule.Task, why string, paused bool) (isNew, ok bool) {
	ctx, slot := context.Background(), record.Slot.UTC()
	wait := state.Wait{For: state.ForStore, Since: clock.Now(), Until: record.Slot.Add(task.LateWithin())}
	if paused {
		wait.For = state.ForPause
	}
	if w, waits := a.waiting[Due{task.Name, slot}]; waits {
		if w.Wait.For != wait.For { // it waits for something else by now
			wait.Since = w.Wait.Since
			return false, a.DB.Runs().WaitOn(ctx, w.ID, wait, why) == nil
		}
		return false, true
	}
	of := func(due Due) bool { return due.Task == task.Name }
	if !a.Covers || a.Minute.After(wait.Until) || task.GivesWay(slot) || count(a.waiting, of) >= mostKept {
		return false, false
	}
	_, err := a.DB.Runs().Request(ctx, state.Row{
		ID: record.Run, Task: task.Name, Mutex: record.Mutex, Slot: slot, Scheduled: true, Background: record.Background, Server: record.Server,
		Wait: wait, Result: state.Result{Reason: why},
	})
	return true, err == nil
}

func count(all map[Due]state.Row, of func(Due) bool) (n int) {
	for due := range all {
		if of(due) {
			n++
		}
	}
	return n
}

// keptSlots returns the kept slots that this tick tries again, the oldest first. Those for which it is too late are skipped, and those
// that a live tick tries at this moment are left to it, as those of which nobody knows whether they are for this server to a later one.
func (a *Account) keptSlots(dead []*Journal, live []Promise) (slots []schedule.Slot) {
	waiting := a.readKept()
	if len(waiting) == 0 {
		return nil
	}
	ended, err := a.endedOf(waiting, dead)
	if err != nil {
		a.Problem("what waits for the store, or for the end of a pause, is left to a later tick: %v", err)
		return nil
	}
	b := &backfill{account: a}
	for _, w := range waiting {
		due, task, late := Due{w.Task, w.Slot}, b.task(w.Task), a.Minute.Sub(w.Slot)
		switch {
		case slices.ContainsFunc(live, func(p Promise) bool { return slices.Contains(p.Due, due) }):
		case ended.itself(w.Task, w.Slot): // its row goes when that is recorded
			delete(a.waiting, due)
		case task == nil && a.mayBeHere(w.Task) && !a.Minute.After(w.Wait.Until):
		case task == nil:
			a.skipKept(b, w, waitedFor(w)+", and is "+a.whyGone(w.Task))
		case late > task.LateWithin() && w.Wait.For == state.ForPause:
			a.skipKept(b, w, fmt.Sprintf("%s; that took longer than %s", w.Reason, humanize.Duration(task.LateWithin())))
		case late > task.LateWithin():
			a.skipKept(b, w, fmt.Sprintf("nobody knew for %s %s: %s", humanize.Duration(task.LateWithin()), outcome.AnotherServer, w.Reason))
		default:
			a.resume(due, w.ID, waitedFor(w)+": "+w.Reason)
			slots = append(slots, schedule.Slot{Task: task, At: due.Slot})
		}
	}
	return slots
}

// mayBeHere reports whether a task is not for this server for the one reason that a label of it may be among those that are wrong.
func (a *Account) mayBeHere(name string) bool {
	s, t := a.Schedule, a.named(name)
	return s.Machine.Wrong != "" && t != nil && s.InUse(t) && slices.ContainsFunc(t.Servers, placement.IsLabel)
}

// whyGone says why a task has no slots here.
func (a *Account) whyGone(name string) string {
	if t := a.named(name); t != nil {
		return a.Schedule.Inactive(t)
	}
	return "no longer in the schedule"
}

// named returns a task of the schedule, active or not; nil where it has none of that name.
func (a *Account) named(name string) *schedule.Task {
	i := slices.IndexFunc(a.Schedule.Tasks, func(t *schedule.Task) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return a.Schedule.Tasks[i]
}

// waitedFor says what a kept slot waited for.
func waitedFor(w state.Row) string {
	if w.Wait.For == state.ForPause {
		return "it waited for the end of a pause"
	}
	return "it waited for the store"
}

// newestPaused leaves out of the waiting slots those that were paused and are not the newest of their task any more: another one
// waits, starts in this tick, or is promised by a live one. They are skipped, since they were paused.
func (a *Account) newestPaused(waiting, starts []schedule.Slot, live []Promise) []schedule.Slot {
	var promised []Due
	for _, slot := range slices.Concat(waiting, starts) {
		if slot.Task.UnmetCondition(slot.At) == "" {
			promised = append(promised, Due{slot.Task.Name, slot.At.UTC()})
		}
	}
	for _, promise := range live {
		promised = append(promised, promise.Due...)
	}
	b := &backfill{account: a}
	return slices.DeleteFunc(slices.Clone(waiting), func(slot schedule.Slot) bool {
		due := Due{slot.Task.Name, slot.At.UTC()}
		w := a.waiting[due]
		newer := func(other Due) bool { return other.Task == due.Task && other.Slot.After(due.Slot) }
		if w.Wait.For != state.ForPause || !slices.ContainsFunc(promised, newer) {
			return false
		}
		a.recordKept(b, w, w.Reason)
		return true
	})
}

// isKept reports whether a slot was kept when this tick began.
func (a *Account) isKept(slot schedule.Slot) bool {
	_, waits := a.waiting[Due{slot.Task.Name, slot.At.UTC()}]
	return waits
}

// readKept reads which slots wait, the oldest first.
func (a *Account) readKept() (slots []state.Row) {
	if state.NothingWaits(a.Dir) {
		return nil
	}
	rows, err := a.DB.Runs().Waiting(context.Background())
	if err != nil && !state.Unwritable(err) { // that is said where the history is written
		a.Problem("which slots wait cannot be read: %v", err)
	}
	a.waiting = map[Due]state.Row{}
	for _, row := range rows {
		if row.KeptSlot() {
			a.waiting[Due{row.Task, row.Slot}] = row
			slots = append(slots, row)
		}
	}
	slices.SortStableFunc(slots, func(x, y state.Row) int { return x.Slot.Compare(y.Slot) })
	return slots
}

// endedOf returns those of the waiting slots that have a run, or an outcome that is not recorded
// yet.
func (a *Account) endedOf(waiting []state.Row, dead []*Journal) (accounted, error) {
	ended := accounted{}
	for _, journal := range dead {
		ended.addOutcomes(journal)
	}
	return ended, a.inDatabase(ended, waiting[0].Slot, waiting[len(waiting)-1].Slot.Add(time.Second))
}

// skipKept records that a waiting slot does not run, and says so.
func (a *Account) skipKept(b *backfill, w state.Row, reason string) {
	a.recordKept(b, w, reason)
	a.Problem("%s of %s is skipped: %s", w.Task, humanize.MinuteZone(w.Slot, a.Schedule.Location), reason)
}

// recordKept records that a waiting slot does not run. Its row goes with that.
func (a *Account) recordKept(b *backfill, w state.Row, reason string) {
	row := b.row(w.Task, w.Slot, outcome.Skipped, reason)
	row.Run = w.ID
	a.backfill, a.unfired = append(a.backfill, row), append(a.unfired, row)
}
