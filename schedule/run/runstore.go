package run

import (
	"context"
	"path/filepath"

	"sched/mutex"
	"sched/schedule/process"
	"sched/schedule/runfile"
)

// A runStore is a mutex.Store that gives no mutex away while its last run on this machine goes on, though nothing holds the lock
// of the kernel any more. So it is where the supervisor was killed, which had the descriptor, and the command has closed
// its own: the witness goes on with the run, or where that was killed, too, the command lives on.
type runStore struct {
	mutex.Store
	locks string // the folder of the locks of this machine, in the state folder of their runs
}

// Acquire takes the mutex, unless the last run still has it. It looks for that only where that has no end, and the lock is free.
func (s runStore) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	local := mutex.Files{Dir: s.locks}
	if last, ok := local.Last(name); ok {
		state, alive, err := runfile.Read(filepath.Dir(s.locks), last.Run)
		if err == nil && state.End == nil && !state.Deferred() {
			if _, held := local.Held(name); !held && (alive && state.Supervisor != "" || livesOn(state)) {
				return nil, &mutex.HeldError{Name: name, Holder: last}
			}
		}
	}
	return s.Store.Acquire(ctx, name, holder)
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
