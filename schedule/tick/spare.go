package tick

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/ledger"
	"sched/schedule/run"
	"sched/schedule/statedir"
)

// A spare is the storage that a tick uses instead of its own, once that could not be written.
// Safe for concurrent use.
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
	dir, others := statedir.OpenAnySpare(s.storage.Dir)
	cause := err.Error()
	if others != nil {
		cause += "; " + strings.ReplaceAll(others.Error(), "\n", "; ")
	}
	if dir == "" {
		s.problem("the state folder cannot be written: %s", cause)
		return run.Storage{}, false
	}
	s.used = &run.Storage{Dir: dir, Store: s.storage.Store}
	s.problem("the state folder cannot be written: %s; the history waits in %s until it can", cause, dir)
	return *s.used, true
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

// removeSpares removes spare folders that nobody needs any more. One with the output of a run stays until that is pruned.
func (t *Tick) removeSpares(now time.Time) {
	for _, spare := range t.Storage.Folders()[1:] {
		mutex.Files{Dir: spare.Locks()}.SweepClaims(now)
		statedir.RemoveSpare(spare.Dir, func() []string {
			return append(slices.Concat(ledger.Unneeded(spare.Dir, t.Storage.Dir), t.unneededLocks(spare)), "runs/.draft-*")
		})
	}
}

// unneededLocks returns the files of locks in a spare folder but for those of runs that go on, also of one that nothing holds the lock
// for any more: its file tells the next run of the mutex to wait.
func (t *Tick) unneededLocks(spare run.Storage) (patterns []string) {
	entries, _ := os.ReadDir(spare.Locks())
	for _, entry := range entries {
		name, isLock := mutex.NameOf(entry.Name())
		if _, held := t.Storage.HeldIn(spare.Locks(), name); isLock && held {
			continue
		}
		patterns = append(patterns, filepath.Join(filepath.Base(spare.Locks()), entry.Name()))
	}
	return patterns
}
