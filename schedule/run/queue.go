package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/state"
)

// This file is about the order of the runs that wait on one machine for mutexes and seats: first
// come, first served. Their rows say since when they wait, and for what (state.DB.Queue). A run
// whose process has died is in nobody's way.

// Seen is what the last look at the queue of one machine has found. Runs that wait in one process
// share it, so that hundreds of them read all rows once. Safe for concurrent use.
type Seen struct {
	mu   sync.Mutex
	at   time.Time // when the look began; zero: nobody has looked
	rows []state.Row
	err  error
}

// seenFor is how long a look is good for other runs. A run that begins to wait meanwhile comes
// after them.
const seenFor = 50 * time.Millisecond

// look returns the queue as it was at some moment after since.
func (s *Seen) look(db *state.DB, since time.Time) ([]state.Row, error) {
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
			if row.StandsFor(name) {
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
		names = append(names, state.SeatsOf(need.Pool))
	}
	return names
}

// A queue is the place of a run among the runs that wait.
type queue struct {
	run   *Run
	taken time.Time // from then on the rows say for what it waits
}

var _ line = (*queue)(nil)

// stand writes down for what the run waits, if that has changed. Without a name a pause keeps the
// run.
func (q *queue) stand(names ...string) error {
	what := state.ForMutex
	switch {
	case len(names) == 0:
		what = state.ForPause
	case slices.Contains(names, state.SeatsOf(q.run.row.Pool)):
		what = state.ForSeat
	}
	if q.taken.IsZero() {
		q.taken = time.Now()
	}
	if what != q.run.row.Wait.For {
		err := q.run.write(func(ctx context.Context) error { return q.run.own.StandFor(ctx, q.run.row.ID, what) },
			func(row *state.Row) { row.Wait.For = what })
		if err != nil {
			return err
		}
		q.taken = time.Now()
	}
	return q.behind(names...)
}

func (q *queue) behind(names ...string) error {
	rows, err := q.run.Queues.look(q.run.DB, q.taken)
	if err != nil {
		return err
	}
	end, _ := slices.BinarySearchFunc(rows, q.run.row, state.InOrder)
	return firstOf(rows[:end], names)
}
