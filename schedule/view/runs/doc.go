// Package runs answers questions about single runs: which one is meant, how far it is, what it printed.
package runs

import "sched/schedule/view"

// Runs are the runs of a schedule, as one machine sees them. Its methods may be called from several goroutines.
type Runs struct{ view.Source }

// Of returns the runs of the schedule of a Source.
func Of(source view.Source) Runs { return Runs{source} }
