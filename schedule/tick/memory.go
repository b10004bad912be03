package tick

import (
	"errors"
	"sync"

	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A memory is the storage that a tick uses instead of its own, once that could not be written, or
// belongs to a newer sched: a database that ends with the tick, and the locks of the kernel as far
// as their files can be opened. Safe for concurrent use.
type memory struct {
	storage run.Storage
	problem func(format string, a ...any)

	mu   sync.Mutex
	used *run.Storage // nil until it is needed
}

// instead returns the storage in memory if err means that the other one cannot be written. The
// first time it says so.
func (m *memory) instead(err error) (run.Storage, bool) {
	var newer *state.NewerError
	if err == nil || !state.Unwritable(err) && !statedir.Unwritable(err) && !errors.As(err, &newer) {
		return run.Storage{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		db, merr := state.OpenMemory()
		if merr != nil {
			return run.Storage{}, false
		}
		m.storage.DB.GiveUp()
		m.used = &run.Storage{Dir: m.storage.Dir, DB: db, Store: m.storage.Store}
		m.problem("the state folder cannot be written: %v; what is due runs, and nothing of it is recorded", err)
	}
	return *m.used, true
}

// inUse reports whether the storage in memory was needed.
func (m *memory) inUse() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used != nil
}
