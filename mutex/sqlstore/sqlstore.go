// Package sqlstore is the store of mutexes in a database: PostgreSQL, or MySQL and MariaDB.
//
//   - Locks, claims and values of the board are rows, which end by the clock of the database. A run
//     takes a row that is not there, that has ended, or that it has.
//   - Each statement commits by itself: a pooler may give the next one another connection.
//   - Calls that come at the same time share a statement: a process has few connections.
//   - An operation is tried again, on a new connection, for two seconds unless its error would come
//     again. Then the database is not asked for a second.
//   - A statement without an answer may still be executed. Close undoes such attempts.
package sqlstore

import (
	"context"
	"database/sql"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
)

const (
	maxPause       = 200 * time.Millisecond // between two tries of an operation
	timeout        = 2 * time.Second        // of an operation with all its tries
	quietTime      = time.Second            // how long a database that did not answer in time is not asked
	maxConnections = 4                      // of one process
	maxIdle        = 5 * time.Second        // how long a connection is kept without use
	maxWorkers     = 2                      // how many workers take rows at the same time, each with a connection
	maxPruned      = 1000                   // how many rows that have ended one process removes
	maxRead        = 10_000                 // how many rows of a table are read, whoever wrote them
)

// The kinds of rows. The name of a row begins with its kind.
const (
	kindLock  = "lock"
	kindClaim = "claim"
	kindBoard = "board/" // the name of a table follows
)

// brokenTable is the table of the board with the locks that Break took, and the runs that had them.
const brokenTable = "broken"

// rowName returns the name of a row. Databases take it whatever bytes the key has.
func rowName(kind, key string) string { return kind + "/" + url.PathEscape(key) }

// keyOf undoes rowName. The key of a name that rowName does not make is empty or a part of it.
func keyOf(rowName string) (key string) {
	key, _ = url.PathUnescape(rowName[strings.LastIndex(rowName, "/")+1:])
	return key
}

// A Store keeps locks, claims and a board in a database. It is safe for concurrent use.
type Store struct {
	config   mutex.Config
	target   *target
	open     func() (*sql.DB, error) // opens the database at the first call
	prepared atomic.Bool             // the tables exist, and are of our version
	silent   atomic.Pointer[silence] // the last silence of the database; nil for none
	claimed  atomic.Bool             // this process has claimed something: Close removes rows that have ended
	attempts chan *attempt           // to workers that collect a batch
	workers  chan struct{}           // holds one element for each worker that works

	// undos maps values to the names of their rows: the values of attempts that failed, and that
	// the rows may have all the same.
	undos sync.Map
}

// Open prepares the store of a config, whose lease is not 0. It does not connect: the first request
// does. The error quotes nothing of the URL.
func Open(c mutex.Config) (mutex.Store, error) {
	t, err := targetOf(c)
	if err != nil {
		return nil, err
	}
	return &Store{
		config:   c,
		target:   t,
		open:     sync.OnceValues(t.open),
		attempts: make(chan *attempt),
		workers:  make(chan struct{}, maxWorkers),
	}, nil
}

func (s *Store) Config() mutex.Config { return s.config }

// Now returns the time by the clock of the database.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	begun := time.Now()
	answers, err := s.execute(ctx, selectNow)
	if err != nil {
		return time.Time{}, err
	}
	millis, err := strconv.ParseInt(string(answers[0].value), 10, 64)
	return time.UnixMilli(millis).Add(time.Since(begun) / 2), err
}

// Risks says when a crash of the server may undo commits, and whether it takes no writes.
func (s *Store) Risks(ctx context.Context) (risks []mutex.Risk, err error) {
	answers, err := s.execute(ctx, s.target.selectRisks)
	for _, answer := range answers {
		if string(answer.value) == "refuses" {
			refused := s.target.failed("takes no writes: it is a replica, or read-only", s.target.primaryHint)
			return []mutex.Risk{{Text: refused.Text, Hint: refused.Hint, Refuses: true}}, nil
		}
		if len(risks) > 0 {
			continue
		}
		risks = append(risks, mutex.Risk{
			Text: s.target.String() + " may forget the last commits when it crashes (" + answer.text + ")",
			Hint: "then a slot may run again on another server; a server that keeps its defaults forgets nothing",
		})
	}
	return risks, err
}

// closeTimeout is how long Close takes at most. Its undo waits for half of it.
const closeTimeout = timeout / 4

func (s *Store) Close() error {
	db, err := s.open()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	s.undo(ctx)
	if s.claimed.Load() {
		s.execute(ctx, s.target.pruneRows, maxPruned)
	}
	go func() { db.Close(); cancel() }() // db.Close waits for the server without a bound: ctx bounds it
	<-ctx.Done()
	return nil
}

// minClaim is how long a claim is kept at least: somebody may set the clock of the database
// forward by an hour.
const minClaim = 2 * time.Hour

func (s *Store) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	s.claimed.Store(true)
	return s.takeRow(ctx, kindClaim, key, holder, max(time.Until(until), minClaim))
}

func (s *Store) Claims(ctx context.Context, keys ...string) (map[string]mutex.Holder, error) {
	return s.holders(ctx, kindClaim, keys...)
}

func (s *Store) Held(ctx context.Context, names ...string) (map[string]mutex.Holder, error) {
	return s.holders(ctx, kindLock, names...)
}

func (s *Store) holders(ctx context.Context, kind string, names ...string) (map[string]mutex.Holder, error) {
	if len(names) == 0 {
		return nil, nil
	}
	args := []any{s.config.Namespace}
	for _, name := range names {
		args = append(args, rowName(kind, name))
	}
	answers, err := s.execute(ctx, fill(selectByNames, len(names)), args...)
	holders := map[string]mutex.Holder{}
	for _, a := range answers {
		holders[keyOf(a.text)] = mutex.HolderOf(a.value)
	}
	return holders, err
}

func (s *Store) Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error {
	_, err := s.execute(ctx, fill(s.target.putRow, 1),
		s.config.Namespace, rowName(kindBoard+table, key), "", value, keep.Milliseconds())
	return err
}

func (s *Store) Delete(ctx context.Context, table, key string) error {
	_, err := s.execute(ctx, deleteRow, s.config.Namespace, rowName(kindBoard+table, key))
	return err
}

func (s *Store) All(ctx context.Context, table string) (map[string][]byte, error) {
	first := rowName(kindBoard+table, "")
	end := strings.TrimSuffix(first, "/") + "0" // the first name behind the table: "0" follows "/" in ASCII
	answers, err := s.execute(ctx, selectByTable, s.config.Namespace, first, end, maxRead)
	values := map[string][]byte{}
	for _, a := range answers {
		values[keyOf(a.text)] = a.value
	}
	return values, err
}

// Append adds values to a log. If a connection breaks before the answer, the log may get the values
// twice.
func (s *Store) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	var args []any
	for _, value := range values {
		args = append(args, s.config.Namespace, log, value)
	}
	if _, err := s.execute(ctx, fill(appendLog, len(values)), args...); err != nil {
		return err
	}
	_, err := s.execute(ctx, trimLog, s.config.Namespace, log, s.config.Namespace, log, keep)
	return err
}

func (s *Store) Tail(ctx context.Context, log string, skip, count int) (values [][]byte, err error) {
	answers, err := s.execute(ctx, tailLog, s.config.Namespace, log, max(0, count), max(0, skip))
	for _, a := range answers {
		values = append(values, a.value)
	}
	return values, err
}
