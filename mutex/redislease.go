package mutex

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex/redisserver"
)

// A lease is a lock on Redis, which ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	redis *Redis
	name  string
	run   string

	renewed atomic.Pointer[time.Time] // when the lease began, at the earliest

	mu       sync.Mutex // one renewal or release at a time
	released bool
	sequence sequence

	description description
}

func (r *Redis) newLease(name string, holder Holder) *lease {
	return &lease{redis: r, name: name, run: holder.Run, sequence: newSequence(len(r.servers)), description: description{holder: holder}}
}

// lockKeys returns the keys of a mutex: who has it (the run), the text about the holder, and
// the run that Break took it from.
func (r *Redis) lockKeys(name string) []string {
	return []string{r.Key("lock", name), r.Key("holder", name), r.Key("broken", name)}
}

func (l *lease) keys() []string { return l.redis.lockKeys(l.name) }

// redlock returns the key of the lock for one operation, which ends with the context or in two seconds.
func (l *lease) redlock(ctx context.Context) redlock {
	return redlock{redis: l.redis, key: l.keys()[0], value: l.run, run: l.run, keep: l.Lease(), end: deadline(ctx), sequence: &l.sequence}
}

// Acquire takes name with a lease.
func (r *Redis) Acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l := r.newLease(name, holder)
	begun := time.Now()
	l.renewed.Store(&begun)
	key := l.redlock(ctx)
	_, err := key.acquire(redisserver.Request{Grants: true, Script: &acquireScript, Keys: append(l.keys(), r.Key("granted")),
		Args: []any{holder.Run, milliseconds(key.keep), holderText(holder)}})
	var held *HeldError
	if errors.As(err, &held) {
		held.Name = name
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Adopt returns the lock of a run that was acquired elsewhere, at holder.Since.
func (r *Redis) Adopt(name string, holder Holder, _ *os.File) Lock {
	l := r.newLease(name, holder)
	l.renewed.Store(&holder.Since)
	return l
}

// Leased returns when the lease began last.
func (l *lease) Leased() time.Time { return *l.renewed.Load() }

// Inherit returns nil: a lease does not depend on processes.
func (l *lease) Inherit() []*os.File { return nil }

// Lease returns the lease of the config.
func (l *lease) Lease() time.Duration { return l.redis.config.lease() }

// Elapsed is how long ago something was, by the clock that says more: the monotonic one stands still
// while the machine sleeps, the wall clock may be set back. Leases are measured by it.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// Release frees the mutex where the run has it. With an error it is freed by the end of its lease.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	return l.redlock(ctx).release()
}

// Break frees name on all servers. Renewals of the run that had it fail from now on.
func (r *Redis) Break(ctx context.Context, name string) (Holder, error) {
	if ctx.Err() != nil {
		return Holder{}, context.Cause(ctx)
	}
	t := r.tally(r.send(deadline(ctx), redisserver.Request{Script: &breakScript, Keys: r.lockKeys(name)}, nil), nil)
	if err := r.outage(t.failed); err != nil {
		return Holder{}, err
	}
	if t.free >= r.quorum() {
		return Holder{}, ErrFree
	}
	holder, _ := t.holder()
	return holder, nil
}
