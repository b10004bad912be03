package cmd

import (
	"reflect"
	"sync"
	"time"

	"sched/schedule"
)

// A liveStore lets requests that are answered at the same time use the store of the schedule as it is now: an edit may have changed it
// since `sched serve` began.
type liveStore struct {
	*app

	mu   sync.Mutex
	name string // of the schedule, and its store, that the connections are for
	of   schedule.Store
}

// longestUse is how long answers that were begun with the store of before may go on with it.
const longestUse = time.Minute

// with has something made of the store of the schedule.
func (l *liveStore) with(s *schedule.Schedule, make func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.name != s.Name || !reflect.DeepEqual(l.of, s.Store) {
		if before := l.remote; before != nil {
			time.AfterFunc(longestUse, func() { before.Close() })
		}
		l.name, l.of, l.remote = s.Name, s.Store, nil // dialed again when it is needed
	}
	make()
}
