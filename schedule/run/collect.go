package run

import (
	"sched/schedule/state"
)

// This file finishes runs that no process looks after: lost runs, and runs that wait. Ticks collect
// them, and people finish them by hand with `sched finish`.

// A stage is how far a run had come when its process was gone.
type stage int

const (
	commandStarted  stage = iota // or it was about to be started
	inQueue                      // it waits for its mutex or a seat
	betweenAttempts              // it waits for its next attempt
	resultWritten                // its hooks are left to do
)

func stageOf(row state.Row) stage {
	switch {
	case row.Phase == state.Finishing:
		return resultWritten
	case row.Queued():
		return inQueue
	case row.BetweenAttempts():
		return betweenAttempts
	}
	return commandStarted
}
