package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

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

// A lease is a lock: a row that ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	began  atomic.Pointer[time.Time] // when the request was sent after which the lease began: see LeaseBegan

	mu       sync.Mutex // one renewal or release at a time
	released bool
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

func (l *lease) Inherit() []*os.File   { return nil } // a lease does not depend on processes
func (l *lease) Describe(mutex.Holder) {}             // the holder in the row does not change
func (l *lease) Lease() time.Duration  { return l.store.config.Lease }
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
