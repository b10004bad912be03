// Package next decides what is to be done with a row of the database. It reads no clock, asks no
// process and changes nothing: who calls it brings the facts. Ticks, supervisors, `sched finish`
// and `sched stop` all ask it, so a run has one meaning in all of them. The table in next_test.go
// is the manual of crashes.
package next

import (
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// Facts are what is known about a row beside what it says itself.
type Facts struct {
	Now        time.Time
	OwnerLives bool // the process that is responsible for the row has its lock (DB.Alive)

	// Lives says that a process of the attempt lives: the one with its pid and start time, or, when
	// the pid was not written down, any process that has the id of the run in its environment.
	Lives    bool
	Rebooted bool // the machine was started anew since the attempt began; then nothing of it lives

	RetryLost bool // retry: {lost: true}, and an attempt is left

	Missed Missed // what the task does with slots that were missed
	Within time.Duration
	Newer  bool // a newer slot of the task is about to run
}

// Missed says what a task does with slots that were missed.
type Missed string

const (
	MissedNone Missed = ""
	MissedOnce Missed = "once" // it runs for the newest of them, not older than Within
	MissedAll  Missed = "all"  // it runs for each of them, not older than Within
)

// A Step says what is to be done, and for skips, misses and ends why.
type Step struct {
	Do   Do
	Kind outcome.Kind
}

// Do is what is to be done. The set is closed.
type Do string

const (
	Nothing   Do = "nothing"    // somebody is responsible, its time has not come, or it is over
	Start     Do = "start"      // take the row, and try to start it: conditions and locks may still refuse
	RunAgain  Do = "run again"  // take the row, and start its next attempt when Row.Wait.NotBefore has come
	Adopt     Do = "adopt"      // take the row, and wait for the end of its command; how that ended will not be known
	Lose      Do = "lose"       // take the row, and finish it as lost
	Stop      Do = "stop"       // take the row, and finish it as stopped
	GiveUp    Do = "give up"    // take the row, and finish it as its last attempt ended
	Skip      Do = "skip"       // take the row, and end it as skipped
	Miss      Do = "miss"       // take the row, and end it as missed
	FireHooks Do = "fire hooks" // take the row, and go on with its hooks
)

// Next returns what has to be done with a row.
func Next(row state.Row, facts Facts) Step {
	switch row.Phase {
	case state.Waiting:
		return waiting(row, facts)
	case state.Ready, state.Running, state.Finishing:
		if !facts.OwnerLives {
			return orphaned(row, facts)
		}
	}
	return Step{Do: Nothing}
}

// waiting is for a row that has no owner.
func waiting(row state.Row, facts Facts) Step {
	switch {
	case row.Stop != nil:
		return Step{Stop, outcome.Asked}
	case !row.Wait.Until.IsZero() && facts.Now.After(row.Wait.Until):
		return tooLate(row)
	case facts.Now.Before(row.Wait.NotBefore):
		return Step{Do: Nothing}
	case row.Attempt.Number > 0:
		return Step{Do: RunAgain}
	}
	return Step{Do: Start}
}

// tooLate is for a row that has waited for long enough. One that ran before is no skip: it ends as
// its last attempt did.
func tooLate(row state.Row) Step {
	if row.Attempt.Number > 0 {
		return Step{GiveUp, outcome.ExitCode}
	}
	switch row.Wait.For {
	case state.ForPause:
		return Step{Skip, outcome.Paused}
	case state.ForStore:
		return Step{Skip, outcome.StoreDown}
	}
	return Step{Skip, outcome.WaitedTooLong}
}

// orphaned is for a row whose owner is dead.
func orphaned(row state.Row, facts Facts) Step {
	switch row.Phase {
	case state.Finishing:
		return Step{Do: FireHooks}
	case state.Running:
		return interrupted(row, facts)
	}
	switch {
	case row.Stop != nil:
		return Step{Stop, outcome.Asked}
	case row.Attempt.Number > 0: // its owner was killed between two attempts
		return Step{Do: RunAgain}
	case !row.Scheduled: // somebody asked for it, and it has never begun
		return Step{Do: Start}
	}
	return notBegun(row, facts)
}

// notBegun is for a slot of the schedule that no process has started.
func notBegun(row state.Row, facts Facts) Step {
	switch {
	case facts.Missed == MissedNone, facts.Now.Sub(row.Slot) > facts.Within:
		return Step{Miss, outcome.NotBegun}
	case facts.Missed == MissedOnce && facts.Newer:
		return Step{Miss, outcome.Superseded}
	}
	return Step{Do: Start}
}

// interrupted is for a row that was running as its owner died.
func interrupted(row state.Row, facts Facts) Step {
	kind := outcome.Vanished
	if facts.Rebooted {
		kind = outcome.Rebooted
	}
	switch {
	case facts.Lives && !facts.Rebooted:
		return Step{Do: Adopt}
	case row.Stop != nil:
		return Step{Stop, outcome.Asked}
	case facts.RetryLost:
		return Step{RunAgain, kind}
	}
	return Step{Lose, kind}
}

// Backfill divides the slots that a task missed, the oldest first, into those that run now and
// those that are recorded as missed. due says that the task is due in this very minute: with
// MissedOnce it then runs once, for this minute.
func Backfill(slots []time.Time, missed Missed, within time.Duration, now time.Time, due bool) (run, lost []time.Time) {
	from := len(slots)
	switch {
	case missed == MissedAll:
		from = 0
	case missed == MissedOnce && !due && len(slots) > 0:
		from = len(slots) - 1
	}
	for from < len(slots) && now.Sub(slots[from]) > within {
		from++
	}
	return slots[from:], slots[:from]
}
