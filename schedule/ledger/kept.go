package ledger

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/kept"
	"sched/schedule/outcome"
	"sched/schedule/placement"
	"sched/schedule/statedir"
)

// mostKept is how many slots of a task wait for the store at most: those of a task that is due every minute would run a whole night
// one after another.
const mostKept = 60

// A waitingSlot is a kept slot, and the state folder that has it.
type waitingSlot struct {
	kept.Slot
	folder string
}

// Keep keeps a slot for which the store had no answer (docs/internals/decisions.md#a-slot-that-waits-for-the-store-is-a-file), or one that is
// paused. IsNew is false where an earlier tick did. Not ok says that it is not kept, and to be skipped: it is too late for it, too many
// of its task are kept, it gives way to the next one of its minute, the tick accounts for nothing, or no folder can be written.
func (a *Account) Keep(record outcome.Record, task *schedule.Task, why string, paused bool) (isNew, ok bool) {
	slot := kept.Slot{Task: task.Name, At: record.Slot.UTC(), Run: record.Run, Since: clock.Now(), Until: record.Slot.Add(task.LateWithin()), Why: why, Paused: paused}
	if w, waits := a.waiting[Due{slot.Task, slot.At}]; waits {
		if w.Paused != paused { // it waits for something else by now
			slot.Since = w.Since
			return false, kept.Keep(w.folder, slot) == nil
		}
		return false, true
	}
	of := func(due Due) bool { return due.Task == slot.Task }
	if !a.Covers || a.Minute.After(slot.Until) || task.GivesWay(slot.At) || count(a.waiting, of) >= mostKept {
		return false, false
	}
	err := kept.Keep(a.Dir, slot)
	if spare, use := a.instead(err); use {
		err = kept.Keep(spare, slot)
	}
	return true, err == nil
}

func count(all map[Due]waitingSlot, of func(Due) bool) (n int) {
	for due := range all {
		if of(due) {
			n++
		}
	}
	return n
}

// forgetKept removes the file of a kept slot that has a run or an outcome now. Where this process is killed before, the next tick
// finds the one or the other.
func (a *Account) forgetKept(task string, at time.Time) {
	if w, waits := a.waiting[Due{task, at.UTC()}]; waits {
		kept.Forget(w.folder, task, at)
	}
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
		due, task := Due{w.Task, w.At.UTC()}, b.task(w.Task)
		switch {
		case slices.ContainsFunc(live, func(p Promise) bool { return slices.Contains(p.Due, due) }):
		case ended.itself(w.Task, w.At):
			a.forgetKept(w.Task, w.At)
			delete(a.waiting, due)
		case task == nil && a.mayBeHere(w.Task) && !a.Minute.After(w.Until):
		case task == nil:
			a.skipKept(b, w, waitedFor(w)+", and is "+a.whyGone(w.Task))
		case a.Minute.Sub(w.At) > task.LateWithin() && w.Paused:
			a.skipKept(b, w, fmt.Sprintf("%s; that took longer than %s", w.Why, humanize.Duration(task.LateWithin())))
		case a.Minute.Sub(w.At) > task.LateWithin():
			a.skipKept(b, w, fmt.Sprintf("nobody knew for %s %s: %s", humanize.Duration(task.LateWithin()), outcome.AnotherServer, w.Why))
		default:
			a.resume(due, w.Run, waitedFor(w)+": "+w.Why)
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
func waitedFor(w kept.Slot) string {
	if w.Paused {
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
		if !w.Paused || !slices.ContainsFunc(promised, newer) {
			return false
		}
		a.recordKept(b, w.Slot, w.Why)
		return true
	})
}

// isKept reports whether a slot was kept when this tick began.
func (a *Account) isKept(slot schedule.Slot) bool {
	_, waits := a.waiting[Due{slot.Task.Name, slot.At.UTC()}]
	return waits
}

// readKept reads which slots are kept, and where.
func (a *Account) readKept() (all []kept.Slot) {
	for _, folder := range statedir.Folders(a.Dir) {
		slots, err := kept.List(folder)
		if err != nil {
			a.Problem("%v", err)
		}
		for _, s := range slots {
			if a.waiting == nil {
				a.waiting = map[Due]waitingSlot{}
			}
			a.waiting[Due{s.Task, s.At.UTC()}] = waitingSlot{s, folder}
		}
		all = append(all, slots...)
	}
	slices.SortStableFunc(all, func(x, y kept.Slot) int { return x.At.Compare(y.At) })
	return all
}

// endedOf returns those of the kept slots that have a run or an outcome: of a tick that was killed before it removed their files.
func (a *Account) endedOf(waiting []kept.Slot, dead []*Journal) (accounted, error) {
	ended := accounted{}
	for _, journal := range dead {
		ended.addOutcomes(journal)
	}
	if err := a.addRuns(ended); err != nil {
		return nil, err
	}
	return ended, a.inHistory(ended, waiting[0].At, waiting[len(waiting)-1].At.Add(time.Second))
}

// skipKept records that a kept slot does not run, and says so.
func (a *Account) skipKept(b *backfill, w kept.Slot, reason string) {
	a.recordKept(b, w, reason)
	a.Problem("%s of %s is skipped: %s", w.Task, humanize.MinuteZone(w.At, a.Schedule.Location), reason)
}

// recordKept records that a kept slot does not run. Its file is removed when that is in the history.
func (a *Account) recordKept(b *backfill, w kept.Slot, reason string) {
	row := b.row(w.Task, w.At, outcome.Skipped, reason)
	row.Run = w.Run
	a.backfill, a.unfired, a.tooLate = append(a.backfill, row), append(a.unfired, row), append(a.tooLate, w)
}
