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

// This file is about the order of the runs that wait on one machine for mutexes and seats: the run
// that has waited longest is first. The rows say since when the runs wait, and for what
// (state.DB.Queue). No run waits for a run whose process has died.

// A BehindError says that other runs have waited longer for a mutex, or for a seat. It wraps a
// *mutex.HeldError.
type BehindError struct {
	Name  string       // of the mutex, or of the seats of a pool (state.SeatQueue)
	First mutex.Holder // Since is when it began to wait
}

func (e *BehindError) Error() string {
	wanted := "mutex " + humanize.Line(e.Name)
	if pool, ok := strings.CutSuffix(e.Name, "#"); ok {
		wanted = "a seat of pool " + pool
	}
	return fmt.Sprintf("%s waits for %s %s", humanize.Line(e.First.Task), wanted, e.First)
}

func (e *BehindError) Unwrap() error { return &mutex.HeldError{Name: e.Name, Holder: e.First} }

// A queueView caches the queue of one machine. Runs that wait in one process share it, so that
// hundreds of them read all rows once. Safe for concurrent use.
type queueView struct {
	mu     sync.Mutex
	readAt time.Time // when the reading began; zero: the queue was not read yet
	rows   []state.Row
	err    error
}

// queueMaxAge is how old the queue may be that runs see. A run that begins to wait meanwhile comes
// after them.
const queueMaxAge = 50 * time.Millisecond

// read returns the queue as it was at some moment after since. A nil queueView caches nothing.
func (s *queueView) read(db *state.DB, since time.Time) ([]state.Row, error) {
	if s == nil {
		return db.Queue(context.Background())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !s.readAt.After(since) || now.Sub(s.readAt) > queueMaxAge {
		s.readAt = now
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

// enqueue puts the run into the queues of these names, and takes it out of all others: it writes
// down for what the run waits, if that has changed. Without a name a pause keeps the run. It
// returns a *BehindError if another run is first in one of the queues. Any other error says that
// the order is not known.
func (w *waiter) enqueue(names ...string) error {
	waitsFor := state.ForMutex
	switch {
	case len(names) == 0:
		waitsFor = state.ForPause
	case slices.Contains(names, state.SeatQueue(w.need.Pool)):
		waitsFor = state.ForSeat
	}
	if w.queuedAt.IsZero() {
		w.queuedAt = time.Now()
	}
	row := &w.run.row
	if waitsFor != row.Wait.For {
		if err := row.recordWaitsFor(waitsFor); err != nil {
			return err
		}
		w.queuedAt = time.Now()
	}
	return w.behind(names...)
}

// behind returns the errors of enqueue, but leaves the run in the queues in which it is.
func (w *waiter) behind(names ...string) error {
	rows, err := w.run.queues.read(w.run.DB, w.queuedAt)
	if err != nil {
		return err
	}
	end, _ := slices.BinarySearchFunc(rows, w.run.row.Row, state.InOrder)
	return firstOf(rows[:end], names)
}
