package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// This file is about the order of the runs that wait on one machine for mutexes and seats: first
// come, first served. Their rows say since when they wait, and for what (state.DB.Queue). A run
// whose process has died is in nobody's way.

// A BehindError says that other runs have waited longer for a mutex, or for a seat. It wraps a
// *mutex.HeldError.
type BehindError struct {
	Name  string       // of the mutex, or of the seats of a pool (state.SeatQueue)
	First mutex.Holder // Since is when it began to wait
}

func (e *BehindError) Error() string {
	what := "mutex " + humanize.Line(e.Name)
	if pool, ok := strings.CutSuffix(e.Name, "#"); ok {
		what = "a seat of pool " + pool
	}
	return fmt.Sprintf("%s waits for %s %s", humanize.Line(e.First.Task), what, e.First)
}

func (e *BehindError) Unwrap() error { return &mutex.HeldError{Name: e.Name, Holder: e.First} }

// A queueView is what the last look at the queue of one machine has found. Runs that wait in one
// process share it, so that hundreds of them read all rows once. Safe for concurrent use.
type queueView struct {
	mu   sync.Mutex
	at   time.Time // when the look began; zero: nobody has looked
	rows []state.Row
	err  error
}

// seenFor is how long a look is good for other runs. A run that begins to wait meanwhile comes
// after them.
const seenFor = 50 * time.Millisecond

// look returns the queue as it was at some moment after since.
func (s *queueView) look(db *state.DB, since time.Time) ([]state.Row, error) {
	if s == nil {
		return db.Queue(context.Background())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !s.at.After(since) || now.Sub(s.at) > seenFor {
		s.at = now
		s.rows, s.err = db.Queue(context.Background())
	}
	return s.rows, s.err
}

// firstOf returns a *BehindError for the first of the rows that stands for one of the names.
func firstOf(rows []state.Row, names []string) error {
	for _, name := range names {
		for _, row := range rows {
			if row.InQueue(name) {
				first := HolderOf(row)
				first.Since = row.Wait.Since
				return &BehindError{Name: name, First: first}
			}
		}
	}
	return nil
}

// Behind returns a *BehindError if runs wait for the mutex or for a seat that is needed. Any other
// error says that this is not known.
func (s Storage) Behind(need mutex.Need) error {
	rows, err := s.DB.Queue(context.Background())
	if err != nil {
		return err
	}
	return firstOf(rows, QueuesOf(need))
}

// QueuesOf returns the names of the queues for what a run needs.
func QueuesOf(need mutex.Need) (names []string) {
	if need.Mutex != "" {
		names = append(names, need.Mutex)
	}
	if need.Pool != "" {
		names = append(names, state.SeatQueue(need.Pool))
	}
	return names
}

// stand has the run stand in the queues of these names, and in no other: it writes down for what
// the run waits, if that has changed. Without a name a pause keeps the run. It returns a
// *BehindError when another run is first in one of the queues. Any other error says that the order
// is not known.
func (w *waiter) stand(names ...string) error {
	what := state.ForMutex
	switch {
	case len(names) == 0:
		what = state.ForPause
	case slices.Contains(names, state.SeatQueue(w.need.Pool)):
		what = state.ForSeat
	}
	if w.queuedAt.IsZero() {
		w.queuedAt = time.Now()
	}
	row := &w.run.row
	if what != row.Wait.For {
		if err := row.waitFor(what); err != nil {
			return err
		}
		w.queuedAt = time.Now()
	}
	return w.behind(names...)
}

// behind is stand, but leaves the run in the queues in which it stands.
func (w *waiter) behind(names ...string) error {
	rows, err := w.run.queues.look(w.run.DB, w.queuedAt)
	if err != nil {
		return err
	}
	end, _ := slices.BinarySearchFunc(rows, w.run.row.Row, state.InOrder)
	return firstOf(rows[:end], names)
}
