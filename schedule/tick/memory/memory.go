// Package memory has the storage of a tick whose state folder cannot be written.
package memory

import (
	"errors"
	"sync"

	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A Fallback is the storage that a tick uses when its own storage cannot be written, or belongs to
// a newer sched: a database that ends with the tick, and the locks of the kernel as far as their
// files can be opened. Safe for concurrent use.
type Fallback struct {
	Storage holding.Storage // of the tick
	Problem func(format string, a ...any)

	mu     sync.Mutex
	memory *holding.Storage // nil until it is needed
}

// OpenFor returns the storage in memory if err means that the storage of the tick cannot be
// written. The first call opens it, and reports err. If even a database in memory cannot be opened,
// OpenFor reports that, and returns false.
func (f *Fallback) OpenFor(err error) (holding.Storage, bool) {
	var newer *state.NewerError
	if err == nil || !state.Unwritable(err) && !statedir.Unwritable(err) && !errors.As(err, &newer) {
		return holding.Storage{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.memory == nil {
		db, memoryErr := state.OpenMemory()
		if memoryErr != nil {
			f.Problem("the state folder cannot be written, and no database can be opened in memory: %v", memoryErr)
			return holding.Storage{}, false
		}
		f.Storage.DB.ShortenWaits()
		f.memory = &holding.Storage{Dir: f.Storage.Dir, DB: db, Store: f.Storage.Store}
		f.Problem("the state folder cannot be written: %v; what is due runs, and nothing of it is recorded", err)
	}
	return *f.memory, true
}

// ReportOrFallBack reports an error. If the error says that the state folder cannot be written, the
// tick goes on with a database in memory instead, which is reported once.
func (f *Fallback) ReportOrFallBack(err error) {
	if err == nil {
		return
	}
	if _, fellBack := f.OpenFor(err); !fellBack {
		f.Problem("%v", err)
	}
}

// InUse reports whether the storage in memory was needed.
func (f *Fallback) InUse() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.memory != nil
}
