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
)

// A lease is a lock: a key that ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	leased atomic.Pointer[time.Time] // when the lease began, at the earliest

	mu       sync.Mutex // one renewal or release at a time
	value    string     // of the key; "" until an adopted lock was looked for
	released bool
}

// Acquire takes name with a lease. A run that has it gets it again: its answer may have been lost.
func (s *Store) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	begun := time.Now()
	text, err := s.take(ctx, "lock", name, holder, s.config.Lease)
	if err != nil {
		return nil, err
	}
	l := &lease{store: s, name: name, holder: holder, value: text}
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

// Describe does nothing: the holder stands in the value of the key, which does not change.
func (l *lease) Describe(mutex.Holder) {}

func (l *lease) Lease() time.Duration { return l.store.config.Lease }

func (l *lease) LeaseBegan() time.Time { return *l.leased.Load() }

func (l *lease) key() string { return l.store.key("lock", l.name) }

// Renew begins the lease anew. When a majority of the servers does not have the key, one of these
// is true:
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
	begun, majority := time.Now(), l.store.majority
	found, err := l.store.read(ctx, l.key(), l.store.key("broken", l.name))
	if err != nil {
		return err
	}
	had := l.find(found[0])
	lost := &mutex.LostError{Name: l.name}
	if text, servers := mostCommon(found[0]); servers >= majority && !l.isOurs(text) {
		lost.Holder = mutex.HolderOf(text)
	}
	if had < majority && slices.ContainsFunc(found[1], l.isOurs) {
		lost.Broken = true
		return lost
	}
	lock, calls := redsyncMutex(ctx, l.store.servers, l.key(), l.value, l.store.config.Lease, false)
	renewed, err := lock.ExtendContext(ctx)
	switch {
	case renewed:
		l.leased.Store(&begun)
		if lacked := len(found[0]) - had; lacked < majority { // a server that lost its data has it again
			return nil
		}
	case !errors.As(err, new(*redsync.ErrTaken)): // it may be ours on servers that did not answer
		return cmp.Or(join(failures(calls), len(l.store.servers)), err)
	default:
		l.store.release(ctx, l.key(), l.value) // a minority that is ours would be in the way of the next holder
	}
	return lost
}

// find counts the servers that have the value of the lock. It looks for the value of an adopted
// lock, and makes one up if the run does not have the mutex.
func (l *lease) find(found []string) (servers int) {
	if l.value == "" {
		l.value, _ = mostCommon(slices.DeleteFunc(slices.Clone(found), func(text string) bool { return !l.isOurs(text) }))
		l.value = cmp.Or(l.value, mutex.NewValue(l.holder))
	}
	for _, text := range found {
		if text == l.value {
			servers++
		}
	}
	return servers
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
		l.find(found[0])
	}
	return l.store.release(ctx, l.key(), l.value)
}

const brokenFor = 24 * time.Hour // after the end of the lease a mark of Break is kept

// Break frees name on all servers. A mark with the value tells the run that had it when it renews.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	key := s.key("lock", name)
	found, err := s.read(ctx, key)
	if err != nil {
		return mutex.Holder{}, err
	}
	text, servers := mostCommon(found[0])
	free := len(found[0])-servers >= s.majority // a value on a minority is nobody's, and goes too
	_, err = query(ctx, s, func(ctx context.Context, c *server) ([]goredis.Cmder, error) {
		return c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			if !free {
				p.Set(ctx, s.key("broken", name), text, s.config.Lease+brokenFor)
			}
			p.Del(ctx, key)
			return nil
		})
	})
	if err == nil && free {
		err = mutex.ErrFree
	}
	return mutex.HolderOf(text), err
}
