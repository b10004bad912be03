// Package sqlstore is the store of mutexes in a database: PostgreSQL, or MySQL and MariaDB.
//
// Locks, claims and the values of the board are rows of one table, which end by the clock of the
// database. Each operation is one statement that commits by itself, so nothing depends on a
// session, and a pooler may give each statement another connection.
//
//   - A row belongs to a run. A run takes a row that is not there, that has ended, or that it has.
//   - Calls that come at the same time share a statement: a process has few connections.
//   - A deadlock, a serialization failure and a full server are tried again until the deadline, a
//     broken connection and a read-only server twice on a new connection.
//   - An operation ends within two seconds. A silent database is not asked again for a second.
//   - A statement without an answer may still be executed. Close undoes such attempts.
//
// The drivers are not touched before the first request.
package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
)

const (
	timeout     = 2 * time.Second // of an operation, with all that is tried again
	rest        = time.Second     // a silent database is not asked again
	connections = 4               // of one process at most
	idle        = 5 * time.Second // then a connection is closed: many runs wait for long
)

// A Store keeps locks, claims and a board in a database. It is safe for concurrent use.
type Store struct {
	config  mutex.Config
	lease   time.Duration
	target  *target
	open    func() (*sql.DB, error) // once
	opened  atomic.Bool
	failed  atomic.Pointer[failure] // of the last request; nil when it was answered
	claimed atomic.Bool             // this process has claimed something: Close removes rows that have ended
	undos   sync.Map                // name by value: what may be there though its attempt has failed
	queue   queue

	preparing sync.Mutex
	prepared  bool // the tables are there, and of our version
}

var _ mutex.Store = (*Store)(nil)

// Open prepares the store of a config. It does not connect: the first request does. The error
// quotes nothing of the URL.
func Open(c mutex.Config) (*Store, error) {
	t, err := targetOf(c)
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, target: t, lease: cmp.Or(c.Lease, mutex.DefaultLease)}
	s.open = sync.OnceValues(func() (*sql.DB, error) {
		connector, err := t.connector()
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		db.SetConnMaxIdleTime(idle)
		s.opened.Store(true)
		return db, nil
	})
	return s, nil
}

func (s *Store) Config() mutex.Config { return s.config }

func (s *Store) Down() error {
	if last := s.failed.Load(); last != nil {
		return last.err
	}
	return nil
}

// Now returns the time by the clock of the database.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	begun := time.Now()
	rows, err := s.read(ctx, "SELECT 'now', {now}")
	if err != nil {
		return time.Time{}, err
	}
	millis, err := strconv.ParseInt(string(rows[0].value), 10, 64)
	return time.UnixMilli(millis).Add(time.Since(begun) / 2), err
}

// Risks says when a crash of the server may undo what was committed.
func (s *Store) Risks(ctx context.Context) ([]mutex.Risk, error) {
	rows, err := s.read(ctx, s.target.risk)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return []mutex.Risk{{Text: s.target.String() + " may forget the last commits when it crashes (" + rows[0].name + ")",
		Hint: "then a slot may run again on another server; a server that keeps its defaults forgets nothing"}}, nil
}

// mostPruned is how many rows that have ended one process removes.
const mostPruned = 1000

func (s *Store) Close() error {
	if !s.opened.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout/4)
	defer cancel()
	s.undo(ctx)
	if s.claimed.Load() && s.Down() == nil {
		s.exec(ctx, s.target.prune, mostPruned)
	}
	go func() {
		defer cancel()
		db, _ := s.open()
		db.Close() // it waits for the server
	}()
	<-ctx.Done()
	return nil
}
