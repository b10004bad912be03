package sqlstore

import (
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

const (
	kindLock  = "lock" // rows have names that begin with a kind
	kindClaim = "claim"
	kindBoard = "board/" // and the table
	broken    = "broken" // the table of the locks that Break took, with the runs that had them

	claimAtLeast = 2 * time.Hour // a claim is kept: somebody may set the clock of the database forward by an hour
)

// nameOf is the name of a row. Databases take it whatever bytes the key has.
func nameOf(kind, key string) string { return kind + "/" + url.PathEscape(key) }

// keyOf undoes nameOf. Other programs may have written a name that nameOf does not make.
func keyOf(name string) (key string) {
	key, _ = url.PathUnescape(name[strings.LastIndex(name, "/")+1:])
	return key
}

func (s *Store) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	s.claimed.Store(true)
	return s.take(ctx, kindClaim, key, holder, max(time.Until(until), claimAtLeast))
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
		args = append(args, nameOf(kind, name))
	}
	rows, err := s.run(ctx, fill(selectNames, len(names)), args...)
	holders := map[string]mutex.Holder{}
	for _, r := range rows {
		holders[keyOf(r.name)] = mutex.HolderOf(r.value)
	}
	return holders, err
}

// An attempt is a row that a call wants for a run.
type attempt struct {
	ctx       context.Context
	name, run string
	value     []byte
	keep      time.Duration
	done      chan error
	found     []byte // when done: see sendTo
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
		a := &attempt{ctx: ctx, name: nameOf(kind, name), run: holder.Run, value: []byte(text), keep: keep, done: make(chan error, 1)}
		found, err := a.sendTo(s)
		if err != nil {
			s.undos.Store(text, a.name)
			return err
		}
		has := mutex.HolderOf(found)
		switch {
		case found == nil: // the row was released at that moment
		case has.Run != holder.Run || has.Run == "":
			return &mutex.HeldError{Name: name, Holder: has}
		case kind == kindClaim && string(found) != text: // and the next attempt says whether it has the new value
			if _, err := s.run(ctx, confirm, []byte(text), s.config.Namespace, a.name, found); err != nil {
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
	ctx, cancel := context.WithTimeout(context.Background(), timeout*9/10) // callers wait for why it fails
	defer cancel()
	rows, err := s.do(ctx, func(ctx context.Context, c *sql.Conn) ([]row, error) { return s.takeAll(ctx, c, batch) })
	found := map[string][]byte{}
	for _, r := range rows {
		found[r.name] = r.value
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
func (s *Store) takeAll(ctx context.Context, c *sql.Conn, batch []*attempt) ([]row, error) {
	wanted := map[string]*attempt{}
	for _, a := range batch {
		if a.ctx.Err() == nil {
			wanted[a.name] = a // of two attempts on the same row one is enough to know whose it is
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	var args, names []any
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		a := wanted[name]
		args, names = append(args, s.config.Namespace, name, a.run, a.value, a.keep.Milliseconds()), append(names, name)
	}
	return s.query(ctx, c, fill(s.target.take, len(names)), slices.Concat(args, []any{s.config.Namespace}, names)...)
}

// undo removes the rows of attempts that failed without an answer. Statements that are still on
// their way get half of the time to be executed: after that undo finds them, before it would not.
func (s *Store) undo(ctx context.Context) {
	var names, values []any
	s.undos.Range(func(value, name any) bool {
		names, values = append(names, name), append(values, []byte(value.(string)))
		return true
	})
	if len(values) == 0 {
		return
	}
	for half := time.Now().Add(timeout / 8); len(s.workers) > 0 && time.Now().Before(half); {
		time.Sleep(5 * time.Millisecond)
	}
	s.silent.Store(nil) // the database is asked also when it rests
	s.run(ctx, fill(undo, len(values)), slices.Concat([]any{s.config.Namespace}, names, values)...)
}

type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	leased atomic.Pointer[time.Time] // when the lease began, at the earliest

	mu       sync.Mutex // one renewal or release at a time
	released bool
}

// Acquire takes name with a lease. A run that has it gets it again: its answer may have been lost.
func (s *Store) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	l := s.Adopt(name, holder, nil).(*lease)
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func (s *Store) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	l := &lease{store: s, name: name, holder: holder}
	l.leased.Store(&holder.Since)
	return l
}

func (l *lease) Inherit() []*os.File   { return nil } // a lease does not depend on processes
func (l *lease) Describe(mutex.Holder) {}             // the holder in the row does not change
func (l *lease) Lease() time.Duration  { return l.store.config.Lease }
func (l *lease) LeaseBegan() time.Time { return *l.leased.Load() }

func (l *lease) take(ctx context.Context) error {
	begun := time.Now()
	err := l.store.take(ctx, kindLock, l.name, l.holder, l.store.config.Lease)
	if err == nil {
		l.leased.Store(&begun)
	}
	return err
}

// Renew begins the lease anew, also one that has ended if no other run took it. When the row is not
// ours, *LostError says one of these: Break took it, and it is not taken again; another run has it;
// or it was free, and is taken again. After Release it does nothing.
func (l *lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	begun, s := time.Now(), l.store
	rows, err := s.run(ctx, s.target.renew, s.config.Lease.Milliseconds(), s.config.Namespace, nameOf(kindLock, l.name), l.holder.Run)
	if err != nil {
		return err
	}
	if rows[0].name != "0" {
		l.leased.Store(&begun)
		return nil
	}
	marks, err := s.holders(ctx, kindBoard+broken, l.name)
	if err != nil {
		return err
	}
	lost := &mutex.LostError{Name: l.name, Broken: marks[l.name].Run == l.holder.Run}
	if lost.Broken {
		held, _ := s.Held(ctx, l.name)
		lost.Holder = held[l.name]
		return lost
	}
	err = l.take(ctx)
	if other, is := errors.AsType[*mutex.HeldError](err); is {
		lost.Holder = other.Holder
	} else if err != nil {
		return err
	}
	return lost
}

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	_, err := l.store.run(ctx, release, l.store.config.Namespace, nameOf(kindLock, l.name), l.holder.Run)
	return err
}

// Break frees name. A mark tells the run that had it when it renews.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	held, err := s.Held(ctx, name)
	had, isHeld := held[name]
	if err == nil && !isHeld {
		err = mutex.ErrFree
	}
	if err == nil {
		err = s.Put(ctx, broken, name, []byte(mutex.NewValue(had)), s.config.Lease+time.Hour)
	}
	if err == nil {
		_, err = s.run(ctx, remove, s.config.Namespace, nameOf(kindLock, name))
	}
	return had, err
}
