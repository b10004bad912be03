package run

import (
	"time"

	"sched/schedule/state"
)

// An Action is what is to be done with a row now.
type Action string

const (
	Nothing   Action = "nothing"   // it is over, or another process does it
	Wait      Action = "wait"      // its time has not come, or it may not start
	Queue     Action = "queue"     // it waits in its place for its mutex and its seat
	Start     Action = "start"     // its next attempt starts, when the run has its mutex and its seat
	Watch     Action = "watch"     // its command lives as a child of this process, which waits for it
	GiveBack  Action = "give back" // its next attempt is left to a tick
	Stop      Action = "stop"      // it ends without its next attempt, because somebody asked for that
	Lose      Action = "lose"      // what is left of its command is ended, and it is lost
	Miss      Action = "miss"      // it is missed
	FireHooks Action = "fire hooks"
)

// Facts are what a process knows about a row beside what the row says.
type Facts struct {
	OwnerLives bool      // another process looks after the row: the kernel says so
	IsOurs     bool      // this process looks after the row
	HasCommand bool      // the command of its last attempt is a child of this process
	Unrecorded int       // attempts that were started after the ones in the row, on a full disk
	Now, DueBy time.Time // what is due by then may start: in a tick the minute that it plans

	MayNotBegin bool // this process is to begin no run, or not this one
	IsPaused    bool // its task is paused, or in maintenance

	// Of a slot that a dead tick had planned:
	IsAccounted bool // another row has its outcome
	MayBeLate   bool // its task runs it, if it is late
}

// Next returns what is to be done with a row now. It is pure. Its test is the manual of crashes: a
// row for each moment at which a process may be killed.
func Next(row state.Row, f Facts) Action {
	switch isUnstarted := row.Phase == state.Ready && !row.Attempted() && !row.Queued(); {
	case row.Phase == state.Ended, f.OwnerLives:
		return Nothing
	case row.Phase == state.Planned:
		return nextOfPlanned(row, f)
	case row.Phase == state.Finishing:
		return FireHooks
	case row.Phase == state.Running && f.HasCommand:
		return Watch
	case row.Phase == state.Running, f.Unrecorded > 0, isUnstarted && !f.IsOurs:
		return Lose
	case row.Stop != nil && !f.IsOurs: // its owner looks for that itself, before each attempt
		return Stop
	case row.BetweenAttempts() && !row.Background && !f.IsOurs: // no supervisor has it, and its tick is dead
		return GiveBack
	case f.MayNotBegin:
		return Wait
	case row.Queued(): // a pause counts when its turn comes
		return Queue
	case f.IsPaused, row.Attempted() && row.Wait.NotBefore.After(f.DueBy) && !row.BeganAfter(f.Now):
		return Wait // a clock that was ahead when the last attempt began has planned a time that means nothing
	}
	return Start
}

// nextOfPlanned is Next for a slot that a dead tick had planned, and not begun.
func nextOfPlanned(row state.Row, f Facts) Action {
	switch {
	case !row.Scheduled, row.Wait.For != state.ForNothing: // the plan has put it back, or removed it
		return Nothing
	case f.Unrecorded > 0 && row.Slot.Before(f.DueBy.Add(time.Minute)):
		return Lose
	case !row.Slot.Before(f.DueBy): // the clock was set back: the tick of its minute begins it
		return Wait
	case f.IsAccounted:
		return Nothing
	case f.MayBeLate:
		return Start
	}
	return Miss
}
