package redis

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/clock"
)

// A lease is a lock: a key that ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	began  atomic.Pointer[time.Time] // when the request was sent after which the lease began: see LeaseBegan

	mu       sync.Mutex // one renewal or release at a time
	value    string     // of the key; "" until learnValue has set it, for an adopted lock
	released bool
}

// Acquire takes name with a lease. A run that has it gets it again: its answer may have been lost.
func (s *Store) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	begun := clock.Steady()
	text, err := s.take(ctx, "lock", name, holder, s.config.Lease)
	if err != nil {
		return nil, err
	}
	l := &lease{store: s, name: name, holder: holder, value: text}
	l.began.Store(&begun)
	return l, nil
}

// Adopt returns the lock of a run.
func (s *Store) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	l, now := &lease{store: s, name: name, holder: holder}, clock.Steady()
	l.began.Store(&now)
	return l
}

func (l *lease) Inherit() []*os.File   { return nil } // a lease does not depend on processes
func (l *lease) Describe(mutex.Holder) {}             // the holder in the value does not change
func (l *lease) Lease() time.Duration  { return l.store.config.Lease }
func (l *lease) LeaseBegan() time.Time { return *l.began.Load() }
func (l *lease) key() string           { return l.store.key("lock", l.name) }

// Renew begins the lease anew. If a majority of the servers does not have the key, one of these is
// true:
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
	ctx, cancel := begin(ctx)
	defer cancel()
	begun := clock.Steady()
	found, err := l.store.read(ctx, l.key(), l.store.key("broken", l.name))
	if err != nil {
		return err
	}
	values, marks := found[0], found[1]
	l.learnValue(values)
	lost := &mutex.LostError{Name: l.name, Broken: l.wasBroken(values, marks)}
	if text, servers := mostCommon(values); servers >= l.store.majority && !l.isOurs(text) {
		lost.Holder = mutex.HolderOf(text)
	}
	if lost.Broken {
		return lost
	}
	renewed, err := l.extend(ctx)
	if err != nil {
		return err
	}
	if renewed {
		l.began.Store(&begun)
	}
	missing := count(values, func(text string) bool { return text != l.value })
	if renewed && missing < l.store.majority {
		return nil // also a server that lost its data has the key now
	}
	return lost
}

// wasBroken reports whether a majority does not have the key, and a mark of Break says why.
func (l *lease) wasBroken(values, marks []string) bool {
	having := count(values, func(text string) bool { return text == l.value })
	return having < l.store.majority && slices.ContainsFunc(marks, l.isOurs)
}

// extend begins the lease anew on all servers, and sets the key where it is free. It returns false
// if another run has the key on a majority. After an error this is unknown.
func (l *lease) extend(ctx context.Context) (renewed bool, err error) {
	lock, calls := redsyncMutex(ctx, l.store.servers, l.key(), l.value, l.store.config.Lease, atOnce)
	renewed, err = lock.ExtendContext(ctx)
	switch {
	case renewed:
		return true, nil
	case !errors.As(err, new(*redsync.ErrTaken)): // servers that did not answer may have the value
		return false, cmp.Or(join(failures(calls), len(l.store.servers)), err)
	}
	// Our value on a minority would be in the way of the next holder, until its lease ends.
	_ = l.store.release(ctx, l.key(), l.value)
	return false, nil
}

// learnValue sets the value of an adopted lock to the value of the run that most servers have. If
// no server has one, the run does not have the mutex, and the lock gets a new value.
func (l *lease) learnValue(found []string) {
	if l.value != "" {
		return
	}
	ofRun := slices.DeleteFunc(slices.Clone(found), func(text string) bool { return !l.isOurs(text) })
	text, _ := mostCommon(ofRun)
	l.value = cmp.Or(text, mutex.NewValue(l.holder))
}

func (l *lease) isOurs(text string) bool { return mutex.HolderOf(text).Run == l.holder.Run }

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	ctx, cancel := begin(ctx)
	defer cancel()
	if l.value == "" {
		found, err := l.store.read(ctx, l.key())
		if err != nil {
			return err
		}
		l.learnValue(found[0])
	}
	return l.store.release(ctx, l.key(), l.value)
}

// brokenFor is how long a mark of Break is kept after the end of the lease.
const brokenFor = 24 * time.Hour

// breakScript removes a key that has one of the values, or that is empty or no text.
const breakScript = `local value = redis.pcall("GET", KEYS[1])
for _, seen in ipairs(ARGV) do
	if value == seen or value == "" or type(value) == "table" then return redis.call("DEL", KEYS[1]) end
end`

// Break frees name on all servers. A mark with the value tells the run that had it when it renews.
// Break removes only values that it has read: another run may have the key by then.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	key := s.key("lock", name)
	found, err := s.read(ctx, key)
	if err != nil {
		return mutex.Holder{}, err
	}
	values := found[0]
	text, servers := mostCommon(values)
	isFree := len(values)-servers >= s.majority // a value on a minority is no lock; it is removed, too
	var seen []any
	for _, value := range values {
		seen = append(seen, value)
	}
	_, err = query(ctx, s, func(ctx context.Context, c *server) ([]goredis.Cmder, error) {
		return c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			if !isFree {
				p.Set(ctx, s.key("broken", name), text, s.config.Lease+brokenFor)
			}
			p.Eval(ctx, breakScript, []string{key}, seen...)
			return nil
		})
	})
	if err == nil && isFree {
		err = mutex.ErrFree
	}
	return mutex.HolderOf(text), err
}
