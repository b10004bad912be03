package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
)

// The kinds of rows. The name of a row begins with its kind.
const (
	kindLock  = "lock"
	kindClaim = "claim"
	kindBoard = "board/" // the name of a table follows
)

// brokenTable is the table of the board that has the locks that Break took, with the runs that had
// them.
const brokenTable = "broken"

// nameOf is the name of a row. Databases take it whatever bytes the key has.
func nameOf(kind, key string) string { return kind + "/" + url.PathEscape(key) }

// keyOf undoes nameOf. Other programs may have written a name that nameOf does not make.
func keyOf(name string) (key string) {
	key, _ = url.PathUnescape(name[strings.LastIndex(name, "/")+1:])
	return key
}

// An attempt is a row that a call of take wants for a run.
type attempt struct {
	ctx       context.Context
	name, run string
	value     []byte
	keep      time.Duration
	done      chan error
	found     []byte // set before done is sent: the value that the row has then; see sendTo
}

// take gives a row to the run of a holder. The error is *HeldError when another run has it; after
// any other error this is unknown.
//
// A claim that our run has already gets the value of this attempt. The process that set the earlier
// value may have asked the database to remove it, and that may happen at any time from now on.
func (s *Store) take(ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text := mutex.NewValue(holder)
	for {
		a := &attempt{
			ctx:   ctx,
			name:  nameOf(kind, name),
			run:   holder.Run,
			value: []byte(text),
			keep:  keep,
			done:  make(chan error, 1),
		}
		found, err := a.sendTo(s)
		if err != nil {
			s.undos.Store(text, a.name)
			return err
		}
		owner := mutex.HolderOf(found)
		switch {
		case found == nil: // the row was released at that moment: try again
		case owner.Run != holder.Run || owner.Run == "":
			return &mutex.HeldError{Name: name, Holder: owner}
		case kind == kindClaim && string(found) != text: // the next attempt says whether it has the new value
			if _, err := s.run(ctx, updateValue, []byte(text), s.config.Namespace, a.name, found); err != nil {
				return err
			}
		default:
			s.undos.Delete(string(found)) // an attempt that was executed late counts for the run now
			return nil
		}
	}
}

// sendTo hands the attempt to a worker that collects a batch, or to a new one. It returns the value
// that the row has then; nil if the row was released at that moment.
func (a *attempt) sendTo(s *Store) (found []byte, err error) {
	select {
	case s.attempts <- a:
	case s.workers <- struct{}{}:
		go s.work([]*attempt{a})
	case <-a.ctx.Done():
	}
	select {
	case err := <-a.done:
		return a.found, err
	case <-a.ctx.Done():
		explained, _ := s.target.explain(a.ctx.Err())
		return nil, explained
	}
}

// work collects a batch for a millisecond, and takes its rows with one statement. Attempts that
// come while all workers wait for the database are in the next batch.
func (s *Store) work(batch []*attempt) {
	for full := time.After(time.Millisecond); full != nil; {
		select {
		case a := <-s.attempts:
			batch = append(batch, a)
		case <-full:
			full = nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout*9/10) // callers still wait for the error
	defer cancel()
	answers, err := s.do(ctx, func(ctx context.Context, c *sql.Conn) ([]answer, error) {
		return s.takeAll(ctx, c, batch)
	})
	found := map[string][]byte{}
	for _, answer := range answers {
		found[answer.text] = answer.value
	}
	for _, a := range batch {
		a.found = found[a.name]
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
			wanted[a.name] = a // one attempt on a row is enough: its answer says whose the row is
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	var args, names []any
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		a := wanted[name]
		args = append(args, s.config.Namespace, name, a.run, a.value, a.keep.Milliseconds())
		names = append(names, name)
	}
	args = slices.Concat(args, []any{s.config.Namespace}, names)
	return s.query(ctx, c, fill(s.target.takeRows, len(names)), args...)
}

// undo removes the rows of attempts that failed without an answer. First it waits up to half of
// closeTime, because it does not find the rows of statements that are still to be executed.
func (s *Store) undo(ctx context.Context) {
	var names, values []any
	s.undos.Range(func(value, name any) bool {
		names, values = append(names, name), append(values, []byte(value.(string)))
		return true
	})
	if len(values) == 0 {
		return
	}
	for deadline := time.Now().Add(closeTime / 2); len(s.workers) > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	s.silent.Store(nil) // the database is asked even if it was silent a moment ago
	s.run(ctx, fill(deleteValues, len(values)), slices.Concat([]any{s.config.Namespace}, names, values)...)
}

// A lease is a lock: a row that ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	began  atomic.Pointer[time.Time] // the lease, at the earliest

	mu       sync.Mutex // one renewal or release at a time
	released bool
}

// Acquire takes name with a lease. A run that has it gets it again: its answer may have been lost.
func (s *Store) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	l := &lease{store: s, name: name, holder: holder}
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Adopt returns the lock of a run, with a lease from holder.Since on.
func (s *Store) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	l := &lease{store: s, name: name, holder: holder}
	l.began.Store(&holder.Since)
	return l
}

func (l *lease) Inherit() []*os.File   { return nil } // a lease does not depend on processes
func (l *lease) Describe(mutex.Holder) {}             // the holder in the row does not change
func (l *lease) Lease() time.Duration  { return l.store.config.Lease }
func (l *lease) LeaseBegan() time.Time { return *l.began.Load() }

func (l *lease) take(ctx context.Context) error {
	begun := time.Now()
	err := l.store.take(ctx, kindLock, l.name, l.holder, l.store.config.Lease)
	if err == nil {
		l.began.Store(&begun)
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
	begun, s := time.Now(), l.store
	answers, err := s.run(ctx, s.target.renewLock,
		s.config.Lease.Milliseconds(), s.config.Namespace, nameOf(kindLock, l.name), l.holder.Run)
	if err != nil {
		return err
	}
	if renewed := answers[0].text; renewed != "0" {
		l.began.Store(&begun)
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
	err = l.take(ctx)
	if held, isHeld := errors.AsType[*mutex.HeldError](err); isHeld {
		return &mutex.LostError{Name: l.name, Holder: held.Holder}
	}
	return cmp.Or(err, error(&mutex.LostError{Name: l.name}))
}

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	_, err := l.store.run(ctx, deleteOfRun, l.store.config.Namespace, nameOf(kindLock, l.name), l.holder.Run)
	return err
}

// Break frees name. A mark tells the run that had it when it renews. Break removes the row only
// with the value that it has read: another run may have the row by then.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	row := nameOf(kindLock, name)
	answers, err := s.run(ctx, fill(selectNames, 1), s.config.Namespace, row)
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
	_, err = s.run(ctx, fill(deleteValues, 1), s.config.Namespace, row, value)
	return had, err
}
