package run

import (
	"sched/mutex"
	"sched/mutex/pool"
	"sched/schedule/process"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// HeldIn returns who has a mutex whose lock is in the folder: the run that holds the lock, or that goes on without it.
func (s Storage) HeldIn(locks, name string) (holder mutex.Holder, held bool) {
	local := mutex.Files{Dir: locks}
	if holder, held = local.Held(name); held {
		return holder, true
	}
	last, ok := local.Last(name)
	return last, ok && s.goesOn(name, last)
}

// goesOn reports whether the last run that had a mutex goes on, though nothing holds the lock of the kernel any more. So it is where
// the supervisor was killed, which had the descriptor, and the command has closed its own: the witness goes on with the run,
// or where that was killed, too, the command lives on. It looks for the run only where that may have no end: where
// the disk was full the lock may be in one folder, and the file of its run in another.
func (s Storage) goesOn(name string, last mutex.Holder) bool {
	for _, folder := range statedir.Folders(s.Dir) {
		state, alive, err := runfile.Read(folder, last.Run)
		if err != nil || state.End != nil || state.Waits() {
			continue
		}
		if _, seat := pool.Of(name); seat && state.Begin.Seat.Name != name {
			continue // it had this seat when it could not begin, as on a full disk, and began later with another one
		}
		return alive && state.Supervisor != "" || livesOn(state)
	}
	return false
}

// livesOn reports whether the command of a run without a result lives, where the system can tell.
func livesOn(state runfile.State) bool {
	if !process.FindsByRun || state.Result != nil {
		return false
	}
	group, attempt := 0, 0
	if state.Attempt != nil {
		group, attempt = state.Attempt.PID, state.Attempt.Number
	}
	return len(process.Orphans(state.Begin.Run, group, attempt)) > 0
}
