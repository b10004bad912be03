package outcome

import "slices"

// A Kind says why a run has its outcome, or why it waits. The set is closed. People read the words
// beside a kind (a reason); code reads the kind alone.
type Kind string

// Kinds of skipped slots.
const (
	Unmet         Kind = "condition"      // days, between, unless_between or except
	Refused       Kind = "when"           // a condition command, when or skip, said no
	NoAnswer      Kind = "when failed"    // a condition command failed, or took too long
	Paused        Kind = "paused"         // by a person, the task or everything
	Maintenance   Kind = "maintenance"    // the maintenance file was there
	TooLate       Kind = "late"           // past start_deadline, or the next slot had come
	Overlapping   Kind = "overlapping"    // another run has the mutex
	PoolFull      Kind = "pool full"      // all seats of the pool are taken
	AlreadyWaits  Kind = "already waits"  // another run of the task waits for the mutex or a seat
	WaitedTooLong Kind = "waited"         // it waited as long as wait_at_most says
	Elsewhere     Kind = "elsewhere"      // another tick or another server has the claim
	StoreDown     Kind = "store down"     // nobody knows whether another server runs it
	Superseded    Kind = "superseded"     // a newer slot of the same task runs in its place
	NotDefined    Kind = "not defined"    // the schedule does not have the task any more
	Interrupted   Kind = "interrupted"    // its tick was told to end before it began
	NotReady      Kind = "cannot prepare" // its folder, user or env_file cannot be used
)

// Kinds of missed slots.
const (
	NoTick   Kind = "no tick"   // no tick covered its minute
	NotBegun Kind = "not begun" // its tick or supervisor was killed before it began
)

// Kinds of runs that failed, timed out, were stopped or lost.
const (
	ExitCode   Kind = "exit code"   // the command ended with an exit code of failure
	Signal     Kind = "signal"      // a signal that sched did not send ended the command
	NotStarted Kind = "not started" // the command could not be started
	Before     Kind = "before"      // a before-hook failed
	Timeout    Kind = "timeout"     // the attempt took longer than timeout
	Asked      Kind = "asked"       // somebody asked to stop it
	TickEnded  Kind = "tick ended"  // the process that watched it was told to end
	LostLease  Kind = "lost lease"  // another server has its lock, and on_lost_lease is stop
	Vanished   Kind = "vanished"    // its processes were gone when a later tick looked
	Unwatched  Kind = "unwatched"   // its command ended while no process watched to read the exit code
	Rebooted   Kind = "rebooted"    // the machine had been started anew
)

// AllKinds lists every kind.
var AllKinds = []Kind{
	Unmet, Refused, NoAnswer, Paused, Maintenance, TooLate, Overlapping, PoolFull, AlreadyWaits, WaitedTooLong, Elsewhere,
	StoreDown, Superseded, NotDefined, Interrupted, NotReady, NoTick, NotBegun, ExitCode, Signal, NotStarted, Before, Timeout,
	Asked, TickEnded, LostLease, Vanished, Unwatched, Rebooted,
}

// Known reports whether the kind is in the list.
func (k Kind) Known() bool { return slices.Contains(AllKinds, k) }
