package run

import (
	"context"

	"sched/mutex"
	"sched/schedule/process"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// A runStore is a mutex.Store that gives no mutex away while its last run on this machine goes on, though nothing holds the lock
// of the kernel any more. So it is where the supervisor was killed, which had the descriptor, and the command has closed
// its own: the witness goes on with the run, or where that was killed, too, the command lives on.
type runStore struct {
	mutex.Store
	locks string // the folder of the locks of this machine
	state string // the state folder of their runs, or a spare one
}

// Acquire takes the mutex, unless the last run still has it.
func (s runStore) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	if last, goesOn := s.unlocked(name); goesOn {
		return nil, &mutex.HeldError{Name: name, Holder: last}
	}
	return s.Store.Acquire(ctx, name, holder)
}

// unlocked returns the last holder of a mutex whose run goes on though nothing holds the lock. It looks for the run only where that
// may have no end: where the disk was full the lock may be in one folder, and the file of its run in another.
func (s runStore) unlocked(name string) (last mutex.Holder, goesOn bool) {
	local := mutex.Files{Dir: s.locks}
	last, ok := local.Last(name)
	if !ok {
		return last, false
	}
	for _, folder := range statedir.Folders(s.state) {
		state, alive, err := runfile.Read(folder, last.Run)
		if err != nil || state.End != nil || state.Deferred() {
			continue
		}
		_, held := local.Held(name)
		return last, !held && (alive && state.Supervisor != "" || livesOn(state))
	}
	return last, false
}

// HeldIn returns who has a mutex whose lock is in the folder: the run that holds the lock, or that goes on without it.
func (s Storage) HeldIn(locks, name string) (holder mutex.Holder, held bool) {
	if holder, held = (mutex.Files{Dir: locks}).Held(name); held {
		return holder, true
	}
	return runStore{locks: locks, state: s.Dir}.unlocked(name)
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
