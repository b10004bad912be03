package ledger

import (
	"time"

	"sched/schedule"
)

// claimedWithin is how late a slot still runs that a tick of this server had claimed for all servers when it was killed, unless its
// task has missed: once, which says so itself.
const claimedWithin = 3 * time.Minute

// Claiming writes down that a slot is about to be claimed for all servers, by a run with this id. Should this tick be killed before
// the run begins, no other server runs the slot; the next tick here claims it again for the same run, which changes nothing, and
// begins that (docs/internals/decisions.md#a-killed-tick-does-not-lose-what-it-had-claimed).
func (a *Account) Claiming(task string, slot time.Time, run string) {
	a.journal.Claim(task, slot, run)
}

// A resumed is the run that an earlier tick meant to begin for a slot, and a note on why it did not.
type resumed struct{ run, note string }

// RunOf returns the id of the run that an earlier tick meant to begin for a slot that this tick starts, and may have claimed it for,
// with a note on why it did not begin; empty where there is none.
func (a *Account) RunOf(task string, slot time.Time) (run, note string) {
	resumed := a.runs[Due{task, slot.UTC()}]
	return resumed.run, resumed.note
}

// resume has the run of a slot that this tick starts get the id that an earlier tick chose.
func (a *Account) resume(due Due, run, note string) {
	if a.runs == nil {
		a.runs = map[Due]resumed{}
	}
	a.runs[due] = resumed{run, note}
}

// runsClaimed reports whether a slot that a dead tick had claimed, and that did not begin, runs in this tick. What is due several
// times in a minute makes way for its next slot instead.
func (b *backfill) runsClaimed(due Due) bool {
	task := b.task(due.Task)
	if b.claims[due] == "" || task == nil || !task.OneServer || task.GivesWay(due.Slot) || !b.allowed(task, due.Slot) {
		return false
	}
	within := claimedWithin
	switch {
	case task.RunMissed:
		within = task.MissedWithin
	case task.StartDeadline > 0:
		within = min(within, task.StartDeadline)
	}
	return b.account.Minute.Sub(due.Slot) <= within
}

// runClaimed has a slot run in this tick, for the run that claimed it.
func (b *backfill) runClaimed(due Due) {
	b.claimed = append(b.claimed, schedule.Slot{Task: b.task(due.Task), At: due.Slot})
	b.accounted.add(due.Task, due.Slot, due.Slot)
	b.count(due.Task, 1, killedBefore)
	b.once++
	b.account.resume(due, b.claims[due], "sched run was killed when it had claimed the slot, before the run began")
}
