package run

import (
	"context"
	"path/filepath"

	"sched/mutex"
	"sched/schedule/process"
	"sched/schedule/runfile"
)

// A runStore is a mutex.Store that gives no mutex away while the command of its last run on this machine lives, though nothing
// holds the lock of the kernel any more: the watchers of that run were killed, and the command has closed the descriptor
// that it inherited.
type runStore struct {
	mutex.Store
	locks string // the folder of the locks of this machine, in the state folder of their runs
}

// Acquire takes the mutex, unless the command of a lost run has it. It looks for that only where the last run of the mutex has
// no result, and the lock is free.
func (s runStore) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	local := mutex.Files{Dir: s.locks}
	if last, ok := local.Last(name); ok {
		state, _, err := runfile.Read(filepath.Dir(s.locks), last.Run)
		if err == nil && state.Result == nil && state.End == nil && !state.Deferred() {
			if _, held := local.Held(name); !held && livesOn(state) {
				return nil, &mutex.HeldError{Name: name, Holder: last}
			}
		}
	}
	return s.Store.Acquire(ctx, name, holder)
}

// livesOn reports whether the command of a run lives, where the system can tell.
func livesOn(state runfile.State) bool {
	if !process.FindsByRun {
		return false
	}
	group, attempt := 0, 0
	if state.Attempt != nil {
		group, attempt = state.Attempt.PID, state.Attempt.Number
	}
	return len(process.Orphans(state.Begin.Run, group, attempt)) > 0
}
