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
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
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

// execute executes one statement: see do.
func (s *Store) execute(ctx context.Context, statement string, args ...any) ([]answer, error) {
	return s.do(ctx, func(ctx context.Context, c *sql.Conn) ([]answer, error) {
		return s.query(ctx, c, statement, args...)
	})
}

// do runs an operation, and repeats it until the deadline if its error may pass by itself. The
// error is a *StoreError, or why the context was cancelled.
func (s *Store) do(ctx context.Context, o operation) ([]answer, error) {
	begun := time.Now()
	if silent := s.silent.Load(); silent != nil && begun.Before(silent.until) {
		return nil, silent.err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end, _ := ctx.Deadline()
	for pause := maxPause / 8; ; pause = min(2*pause, maxPause) {
		answers, err := s.try(ctx, o)
		if err == nil {
			return answers, nil
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, context.Cause(ctx)
		}
		explained, again := s.target.explain(err)
		if wait := rand.N(pause); again && time.Until(end) > wait+maxPause {
			time.Sleep(wait)
			continue
		}
		hadTime := time.Since(begun) > timeout/2 // the deadline of the caller may leave the database no time
		if hadTime {
			s.silent.Store(&silence{err: explained, until: time.Now().Add(quietTime)})
		}
		return nil, explained
	}
}

// try runs an operation on a connection. It closes the connection after an error: another server
// may have taken over.
func (s *Store) try(ctx context.Context, o operation) (answers []answer, err error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err = s.prepare(ctx, c); err == nil {
		answers, err = o(ctx, c)
	}
	if err != nil {
		c.Raw(func(any) error { return driver.ErrBadConn })
	}
	return answers, err
}

// prepare makes the tables that are missing, and refuses tables of a newer version of sched. After
// a success it does nothing.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	if s.prepared.Load() {
		return nil
	}
	version, newest := 0, len(s.target.migrations)
	err := c.QueryRowContext(ctx, s.target.sql(selectVersion)).Scan(&version)
	if err != nil && !slices.Contains(strings.Fields(missingTableCodes), codeOf(err)) {
		return err
	}
	if version > newest {
		text := fmt.Sprintf("has tables of a newer sched: version %d, and this one knows %d", version, newest)
		return s.target.failed(text, "update sched on this server")
	}
	for _, statement := range slices.Concat(s.target.migrations[version:]...) {
		if _, err := c.ExecContext(ctx, s.target.sql(statement)); err != nil {
			return err
		}
	}
	s.prepared.Store(true)
	return nil
}

// query executes a statement on a connection.
func (s *Store) query(
	ctx context.Context, c *sql.Conn, statement string, args ...any,
) (answers []answer, err error) {
	rows, err := c.QueryContext(ctx, s.target.sql(statement), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a answer
		if err := rows.Scan(&a.text, &a.value); err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, rows.Err()
}

// takeRow gives the row of a key to the run of a holder. The error is *HeldError when another run
// has it; after any other error this is unknown.
//
// A claim that our run has already gets the value of this attempt. The process that set the earlier
// value may have asked the database to remove it, and that may happen at any time from now on.
func (s *Store) takeRow(ctx context.Context, kind, key string, holder mutex.Holder, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	row, value := rowName(kind, key), mutex.NewValue(holder)
	for {
		a := &attempt{
			ctx:   ctx,
			row:   row,
			run:   holder.Run,
			value: []byte(value),
			keep:  keep,
			done:  make(chan error, 1),
		}
		current, err := a.await(s)
		if err != nil {
			s.undos.Store(value, row)
			return err
		}
		owner := mutex.HolderOf(current)
		switch {
		case current == nil: // the row was released at that moment: try again
		case owner.Run != holder.Run || owner.Run == "":
			return &mutex.HeldError{Name: key, Holder: owner}
		case kind == kindClaim && string(current) != value: // the next attempt says whether it has the new value
			if _, err := s.execute(ctx, updateValue, []byte(value), s.config.Namespace, row, current); err != nil {
				return err
			}
		default:
			s.undos.Delete(string(current)) // an attempt that was executed late counts for the run now
			return nil
		}
	}
}

// work collects a batch for a millisecond, and takes its rows with one statement. Attempts that
// come while all workers wait for the database are in the next batch.
func (s *Store) work(batch []*attempt) {
	timeIsOver := time.After(time.Millisecond)
	for collects := true; collects; {
		select {
		case a := <-s.attempts:
			batch = append(batch, a)
		case <-timeIsOver:
			collects = false
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout*9/10) // callers still wait for the error
	defer cancel()
	answers, err := s.do(ctx, func(ctx context.Context, c *sql.Conn) ([]answer, error) {
		return s.takeAll(ctx, c, batch)
	})
	values := map[string][]byte{} // by the names of their rows
	for _, answer := range answers {
		values[answer.text] = answer.value
	}
	for _, a := range batch {
		a.current = values[a.row]
		a.done <- err
	}
	<-s.workers
}

// takeAll takes the rows of a batch. They are sorted by name, so statements of two servers wait for
// each other without a deadlock. An attempt whose caller gave up is not sent: a connection may take
// long to make.
func (s *Store) takeAll(ctx context.Context, c *sql.Conn, batch []*attempt) ([]answer, error) {
	wanted := map[string]*attempt{}
	for _, a := range batch {
		if a.ctx.Err() == nil {
			wanted[a.row] = a // one attempt on a row is enough: its answer says whose the row is
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	var args, rows []any
	for _, row := range slices.Sorted(maps.Keys(wanted)) {
		a := wanted[row]
		args = append(args, s.config.Namespace, row, a.run, a.value, a.keep.Milliseconds())
		rows = append(rows, row)
	}
	args = slices.Concat(args, []any{s.config.Namespace}, rows)
	return s.query(ctx, c, fill(s.target.takeRows, len(rows)), args...)
}

// undo removes the rows of attempts that failed without an answer. First it waits up to half of
// closeTimeout, because it does not find the rows of statements that are still to be executed.
func (s *Store) undo(ctx context.Context) {
	var rows, values []any
	s.undos.Range(func(value, row any) bool {
		rows, values = append(rows, row), append(values, []byte(value.(string)))
		return true
	})
	if len(values) == 0 {
		return
	}
	for deadline := time.Now().Add(closeTimeout / 2); len(s.workers) > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	s.silent.Store(nil) // the database is asked even if it was silent a moment ago
	s.execute(ctx, fill(deleteValues, len(values)), slices.Concat([]any{s.config.Namespace}, rows, values)...)
}

// Acquire takes name with a lease. A run that has it gets it again: its answer may have been lost.
func (s *Store) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	l := &lease{store: s, name: name, holder: holder}
	if err := l.takeRow(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Adopt returns the lock of a run.
func (s *Store) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	l, now := &lease{store: s, name: name, holder: holder}, clock.Steady()
	l.began.Store(&now)
	return l
}

// Break frees name. A mark tells the run that had it when it renews. Break removes the row only
// with the value that it has read: another run may have the row by then.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	row := rowName(kindLock, name)
	answers, err := s.execute(ctx, fill(selectByNames, 1), s.config.Namespace, row)
	if err != nil {
		return mutex.Holder{}, err
	}
	if len(answers) == 0 {
		return mutex.Holder{}, mutex.ErrFree
	}
	value := answers[0].value
	had := mutex.HolderOf(value)
	mark := []byte(mutex.NewValue(had))
	if err := s.Put(ctx, brokenTable, name, mark, s.config.Lease+time.Hour); err != nil {
		return had, err
	}
	_, err = s.execute(ctx, fill(deleteValues, 1), s.config.Namespace, row, value)
	return had, err
}

// An attempt is a row that a call of takeRow wants for a run. A worker collects attempts from
// Store.attempts and takes all their rows at once; Store.workers bounds the number of workers.
type attempt struct {
	ctx   context.Context
	row   string // its name
	run   string
	value []byte
	keep  time.Duration

	current []byte     // set before done is sent: the value that the row has after the attempt; see await
	done    chan error // has room for one error
}

// await hands the attempt to a worker that collects a batch, or to a new one, and waits for the end
// of the batch. It returns the value that the row has then; nil if the row was released at that
// moment.
func (a *attempt) await(s *Store) (current []byte, err error) {
	select {
	case s.attempts <- a:
	case s.workers <- struct{}{}:
		go s.work([]*attempt{a})
	case <-a.ctx.Done():
	}
	select {
	case err := <-a.done:
		return a.current, err
	case <-a.ctx.Done():
		explained, _ := s.target.explain(a.ctx.Err())
		return nil, explained
	}
}

// A lease is a lock: a row that ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	began  atomic.Pointer[time.Time] // when the request was sent after which the lease began: see LeaseBegan

	mu       sync.Mutex // one renewal or release at a time
	released bool
}

func (l *lease) Inherit() []*os.File { return nil } // a lease does not depend on processes

func (l *lease) Describe(mutex.Holder) {} // the holder in the row does not change

func (l *lease) Lease() time.Duration { return l.store.config.Lease }

func (l *lease) LeaseBegan() time.Time { return *l.began.Load() }

// takeRow takes the row of the lock, and begins the lease.
func (l *lease) takeRow(ctx context.Context) error {
	sent := clock.Steady()
	err := l.store.takeRow(ctx, kindLock, l.name, l.holder, l.store.config.Lease)
	if err == nil {
		l.began.Store(&sent)
	}
	return err
}

// Renew begins the lease anew, even if it has ended, unless another run took it. When the row is
// not ours, one of these is true:
//
//   - Break took it: *LostError with Broken. It is not taken again.
//   - It is free: it is taken again for the same run, and *LostError without a holder says so.
//   - Another run has it: *LostError with that holder.
//
// Any other error means that this is unknown. After Release it does nothing.
func (l *lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	sent, s := clock.Steady(), l.store
	answers, err := s.execute(ctx, s.target.renewLock,
		s.config.Lease.Milliseconds(), s.config.Namespace, rowName(kindLock, l.name), l.holder.Run)
	if err != nil {
		return err
	}
	if renewed := answers[0].text; renewed != "0" {
		l.began.Store(&sent)
		return nil
	}
	return l.takeAgain(ctx)
}

// takeAgain takes a lock that our run has lost, if it is free and Break did not take it. It returns
// what Renew returns then.
func (l *lease) takeAgain(ctx context.Context) error {
	marks, err := l.store.holders(ctx, kindBoard+brokenTable, l.name)
	if err != nil {
		return err
	}
	if marks[l.name].Run == l.holder.Run {
		held, _ := l.store.Held(ctx, l.name)
		return &mutex.LostError{Name: l.name, Holder: held[l.name], Broken: true}
	}
	err = l.takeRow(ctx)
	if held, isHeld := errors.AsType[*mutex.HeldError](err); isHeld {
		return &mutex.LostError{Name: l.name, Holder: held.Holder}
	}
	return cmp.Or(err, error(&mutex.LostError{Name: l.name}))
}

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	_, err := l.store.execute(ctx, deleteOfRun, l.store.config.Namespace, rowName(kindLock, l.name), l.holder.Run)
	return err
}
