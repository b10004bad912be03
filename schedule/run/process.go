package run

import (
	"context"

	"sched/schedule/notify"
	"sched/schedule/state"
)

// A Process is what a process of sched gives to the runs that it begins or finishes.
type Process struct {
	Storage
	Self       *state.Self    // this process in the database of the storage, as the owner of runs
	Environ    []string       // the environment of this process, which commands and hooks inherit
	Sender     *notify.Sender // of messages; nil in a process that fires no hooks
	Leases     *Leases        // of the process; nil: each run keeps only its own
	queueCache *queueView     // what runs that wait in the process have seen; nil: each looks itself
	// Terminate is done when this process was asked to end. It ends what a run waits for and could
	// do without.
	Terminate context.Context
}
