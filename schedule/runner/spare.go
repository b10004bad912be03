package runner

import (
	"sync"

	"sched/schedule/run"
	"sched/schedule/statedir"
)

// A spare is the storage that a tick uses instead of its own, once that could not be written
// (docs/decisions.md#there-is-a-spare-one). Safe for concurrent use.
type spare struct {
	storage run.Storage
	problem func(format string, a ...any)

	mu   sync.Mutex
	used *run.Storage // nil until it is needed
}

// instead returns the spare storage if err means that a storage cannot be written; false where the error is another, or no spare
// folder can be used. The first time it reports which folder is used.
func (s *spare) instead(err error) (run.Storage, bool) {
	if err == nil || !statedir.Unwritable(err) {
		return run.Storage{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used != nil {
		return *s.used, true
	}
	for _, spare := range s.storage.Spares() {
		if statedir.OpenSpare(spare.Dir) == nil {
			s.used = &spare
			s.problem("the state folder cannot be written: %v; the history waits in %s until it can", err, spare.Dir)
			return spare, true
		}
	}
	return run.Storage{}, false
}

// Instead is instead for the ledger.
func (s *spare) Instead(err error) (dir string, ok bool) {
	storage, ok := s.instead(err)
	return storage.Dir, ok
}

// InUse reports whether the spare storage was needed.
func (s *spare) InUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used != nil
}
