package sqlstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
)

// Kinds of rows.
const (
	kindLock   = "lock"
	kindClaim  = "claim"
	kindBroken = "broken" // a lock that Break took from its run
	kindBoard  = "board/" // and the name of the table
)

// A value is what the row of a lock or a claim says. The nonce is one of each attempt: only a row
// that an attempt itself has made is undone.
type value struct {
	mutex.Holder
	Nonce string `json:"nonce"`
}

// holderOf reads a value. Of garbage nobody knows the holder.
func holderOf(text []byte) mutex.Holder {
	v, _ := mutex.Decode[value](text)
	return v.Holder
}

// take gives a row to the run of a holder. The error is *HeldError when another run has it; after
// any other one this is unknown.
func (s *Store) take(ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, _ := json.Marshal(value{holder, rand.Text()}) // of texts and numbers: this cannot fail
	var found []byte
	for found == nil { // again when another run took or released the row at that moment
		i := &item{statement: &s.target.take, kind: kind, name: name, run: holder.Run, value: text, keep: keep}
		if err := s.write(ctx, i); err != nil {
			s.undos.Store(string(text), name)
			return err
		}
		found = i.found
	}
	if has := holderOf(found); has.Run != holder.Run || has.Run == "" {
		return &mutex.HeldError{Name: name, Holder: has}
	}
	s.undos.Delete(string(found)) // an attempt that was executed late is what the run has now
	return nil
}

// undo removes the rows of attempts that failed without an answer. Statements that are still on
// their way get half of the time to be executed: after that undo would find them, before it would
// not.
func (s *Store) undo(ctx context.Context) {
	args := []any{s.config.Namespace}
	var values []any
	s.undos.Range(func(value, name any) bool {
		args, values = append(args, encode(name.(string))), append(values, []byte(value.(string)))
		return true
	})
	if places := list(len(values), "?"); len(values) > 0 {
		end, _ := ctx.Deadline()
		for half := time.Now().Add(time.Until(end) / 2); !s.queue.idle() && time.Now().Before(half); {
			time.Sleep(5 * time.Millisecond)
		}
		s.failed.Store(nil) // it is asked also when it rests
		s.exec(ctx, "DELETE FROM {entry} WHERE schedule = ? AND kind IN ('lock', 'claim') AND name IN ("+places+") AND value IN ("+places+")",
			append(args, values...)...)
	}
}

// claimAtLeast is how long a claim is kept whatever the clocks say: somebody may set the clock of
// the database forward by an hour.
const claimAtLeast = 2 * time.Hour

func (s *Store) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	s.claimed.Store(true)
	return s.take(ctx, kindClaim, key, holder, max(time.Until(until), claimAtLeast))
}

func (s *Store) Claimed(ctx context.Context, key string, _ time.Time) (holder mutex.Holder, claimed bool, err error) {
	claims, err := s.Claims(ctx, key)
	holder, claimed = claims[key]
	return holder, claimed, err
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
	args := []any{s.config.Namespace, kind}
	for _, name := range names {
		args = append(args, encode(name))
	}
	rows, err := s.read(ctx, "SELECT name, value FROM {entry} WHERE schedule = ? AND kind = ? AND name IN ("+list(len(names), "?")+") AND ends > {now}", args...)
	holders := map[string]mutex.Holder{}
	for _, r := range rows {
		holders[decode(r.name)] = holderOf(r.value)
	}
	return holders, err
}

// A lease is a lock: a row that ends unless it is renewed. It is safe for concurrent use.
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
	begun := time.Now()
	if err := s.take(ctx, kindLock, name, holder, s.lease); err != nil {
		return nil, err
	}
	l := s.Adopt(name, holder, nil).(*lease)
	l.leased.Store(&begun)
	return l, nil
}

// Adopt returns the lock of a run, with a lease from holder.Since on.
func (s *Store) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	l := &lease{store: s, name: name, holder: holder}
	l.leased.Store(&holder.Since)
	return l
}

// Inherit returns nil: a lease does not depend on processes.
func (l *lease) Inherit() []*os.File { return nil }

// Describe does nothing: what the row says of its holder does not change.
func (l *lease) Describe(mutex.Holder) {}

func (l *lease) Lease() time.Duration { return l.store.lease }

func (l *lease) Leased() time.Time { return *l.leased.Load() }

// Renew begins the lease anew, also one that has ended if no other run took it. When the row is not
// ours, one of these is true:
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
	rows, err := s.exec(ctx, "UPDATE {entry} SET ends = {now} + ? WHERE schedule = ? AND kind = ? AND name = ? AND run = ?",
		s.lease.Milliseconds(), s.config.Namespace, kindLock, encode(l.name), l.holder.Run)
	if rows == 0 && err == nil {
		err = l.retake(ctx)
	}
	if lost := (*mutex.LostError)(nil); err == nil || errors.As(err, &lost) && lost.Holder.Run == "" && !lost.Broken {
		l.leased.Store(&begun)
	}
	return err
}

// retake takes a lock again that the run no longer has, unless it was broken. Its error is never
// nil.
func (l *lease) retake(ctx context.Context) error {
	broken, err := l.store.holders(ctx, kindBroken, l.name)
	if err != nil {
		return err
	}
	if lost := (&mutex.LostError{Name: l.name, Broken: true}); broken[l.name].Run == l.holder.Run {
		held, _ := l.store.Held(ctx, l.name)
		lost.Holder = held[l.name]
		return lost
	}
	err = l.store.take(ctx, kindLock, l.name, l.holder, l.store.lease)
	if other := (*mutex.HeldError)(nil); errors.As(err, &other) {
		return &mutex.LostError{Name: l.name, Holder: other.Holder}
	}
	if err != nil {
		return err
	}
	return &mutex.LostError{Name: l.name}
}

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	_, err := l.store.exec(ctx, "DELETE FROM {entry} WHERE schedule = ? AND kind = ? AND name = ? AND run = ?",
		l.store.config.Namespace, kindLock, encode(l.name), l.holder.Run)
	return err
}

const (
	longestLease = 24 * time.Hour
	brokenFor    = longestLease + time.Hour // a mark of Break is kept
)

// Break frees name. A mark tells the run that had it when it renews.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	held, err := s.Held(ctx, name)
	had, isHeld := held[name]
	if err == nil && !isHeld {
		err = mutex.ErrFree
	}
	if err != nil {
		return had, err
	}
	mark, _ := json.Marshal(value{Holder: had})
	if err := s.write(ctx, &item{statement: &s.target.put, kind: kindBroken, name: name, run: had.Run, value: mark, keep: brokenFor}); err != nil {
		return had, err
	}
	return had, s.delete(ctx, kindLock, name)
}
