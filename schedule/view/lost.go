package view

import (
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// IsUnwatched reports whether the command of a lost run lives: only the process that watched it is
// dead.
func IsUnwatched(row state.Row) bool { return holding.LivesOn(row) }

// LostText says what is known of a lost run, and what the next tick will do.
func LostText(row state.Row) string {
	switch {
	case !IsUnwatched(row):
		return "its processes vanished; the next tick will finish it"
	case row.Background:
		return "the sched that watched it was killed, and its command still runs; " +
			"the next tick will end it, or `sched stop`"
	}
	return "its tick was killed, and its command still runs; the next tick will end it, or `sched stop`"
}
