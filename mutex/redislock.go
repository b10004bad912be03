package mutex

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
)

// Acquire takes name with a lease. owner.Fence, if there is one, is the least for its fence.
func (r *Redis) Acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l := r.lock(name, holder)
	l.renewed = time.Now()
	e := l.election(ctx)
	c, err := e.hold(request{way: take, script: takeScript, keys: l.keys(),
		args: []any{holder.Run, milliseconds(e.keep), holderText(holder), holder.Fence}})
	var held *HeldError
	if errors.As(err, &held) {
		held.Name = name
	}
	if err != nil {
		return nil, err
	}
	l.holder.Fence = c.fence
	if err := r.raise(e, l); err != nil {
		e.release()
		return nil, err
	}
	return l, nil
}

// raise tells a majority which fence was given away, where the servers, whose clocks differ, gave
// different ones: every later majority has one server that knows.
func (r *Redis) raise(e election, l *redisLock) error {
	if len(r.servers) == 1 {
		return nil
	}
	answers := r.poll(e.end, request{script: raiseScript, keys: l.keys()[2:3], args: []any{l.holder.Fence}}, nil)
	c := r.count(answers, func(c *count) bool { return c.ours >= r.quorum() })
	return r.enough(c.failed)
}

// Adopt returns the lock of a run that was acquired elsewhere, at owner.Since and with owner.Fence.
func (r *Redis) Adopt(name string, holder Holder, _ *os.File) Lock {
	l := r.lock(name, holder)
	l.renewed = holder.Since
	return l
}

type redisLock struct {
	redis *Redis
	name  string

	mu       sync.Mutex // one request about the lease at a time
	renewed  time.Time  // when the lease began, at the earliest
	released bool
	queue    queue

	telling sync.Mutex // guards what follows
	holder  Holder
	news    bool // owner is to be told to Redis
	told    bool // somebody does
}

func (r *Redis) lock(name string, holder Holder) *redisLock {
	l := &redisLock{redis: r, name: name, holder: holder}
	for range r.servers {
		l.queue = append(l.queue, nobody)
	}
	return l
}

func (l *redisLock) keys() []string {
	r := l.redis
	return []string{r.Key("lock", l.name), r.Key("holder", l.name), r.Key("fence", l.name), r.Key("broken", l.name)}
}

func (l *redisLock) election(ctx context.Context) election {
	return election{redis: l.redis, key: l.keys()[0], value: l.holder.Run, run: l.holder.Run, keep: l.Lease(), end: deadline(ctx), queue: &l.queue}
}

// Inherit returns nil: a lease does not depend on processes.
func (l *redisLock) Inherit() *os.File { return nil }

// Fence is the time of the acquisition in microseconds by the clock of Redis, or more.
func (l *redisLock) Fence() int64 { return l.described().Fence }

func (l *redisLock) Lease() time.Duration { return l.redis.config.lease() }

func (l *redisLock) described() Holder {
	l.telling.Lock()
	defer l.telling.Unlock()
	return l.holder
}

// Renew begins the lease anew, also while the store counts as down. A mutex that is gone before the
// lease ended was forgotten by Redis and is taken again; so is one that is gone later, but then
// another may have had it.
func (l *redisLock) Renew(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	r, holder, asked := l.redis, l.described(), time.Now()
	answers := r.poll(deadline(ctx), request{way: insist, script: renewScript, keys: l.keys(),
		args: []any{holder.Run, milliseconds(l.Lease()), holderText(holder), holder.Fence}}, &l.queue)
	c := r.count(answers, func(c *count) bool { return c.ours >= r.quorum() })

	inTime := elapsed(l.renewed, asked) < l.Lease()
	switch {
	case c.ours >= r.quorum():
		l.renewed = asked
		return nil
	case c.ours+c.again >= r.quorum():
		l.renewed = asked
		if inTime {
			return nil
		}
		return &LostError{Name: l.name}
	case c.ours+c.again+len(c.failed) >= r.quorum():
		return outage(len(r.servers), c.failed) // the silent ones may be ours
	}
	l.giveUp(ctx, c)
	lost := &LostError{Name: l.name, Broken: c.broken >= r.quorum()}
	if other, votes := c.holder(); votes >= r.quorum() {
		lost.Holder = other
	}
	return lost
}

// giveUp frees the servers of a minority that are ours, so that they do not get in the way of the
// new owner.
func (l *redisLock) giveUp(ctx context.Context, c count) {
	if c.ours+c.again > 0 {
		l.election(ctx).release()
	}
}

// elapsed is how long ago something was, by the clock that says more: one stands still while the
// machine sleeps, the other may be set back.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// Describe tells Redis in the background who has the mutex. What it could not tell before is left
// out when there is something newer.
func (l *redisLock) Describe(holder Holder) {
	l.telling.Lock()
	defer l.telling.Unlock()
	holder.Run, holder.Fence = l.holder.Run, max(holder.Fence, l.holder.Fence)
	l.holder, l.news = holder, true
	if !l.told {
		l.told = true
		l.redis.busy.Go(l.tell)
	}
}

func (l *redisLock) tell() {
	for holder, news := l.newest(); news; holder, news = l.newest() {
		l.redis.count(l.redis.poll(deadline(context.Background()), request{script: describeScript, keys: l.keys()[:2],
			args: []any{holder.Run, holderText(holder)}}, nil), nil)
	}
}

func (l *redisLock) newest() (Holder, bool) {
	l.telling.Lock()
	defer l.telling.Unlock()
	news := l.news
	l.news, l.told = false, news
	return l.holder, news
}

// Release frees the mutex where the run has it. With an error it is freed by the end of its lease.
func (l *redisLock) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	return l.election(ctx).release()
}

// Break frees name on all servers. Its renewals fail from now on.
func (r *Redis) Break(ctx context.Context, name string) (Holder, error) {
	if ctx.Err() != nil {
		return Holder{}, context.Cause(ctx)
	}
	c := r.count(r.poll(deadline(ctx), request{script: breakScript, keys: r.lock(name, Holder{}).keys()}, nil), nil)
	if err := r.enough(c.failed); err != nil {
		return Holder{}, err
	}
	if c.free >= r.quorum() {
		return Holder{}, ErrFree
	}
	holder, _ := c.holder()
	return holder, nil
}

// holderText is a holder as JSON, as it is kept on Redis.
func holderText(holder Holder) string {
	text, _ := json.Marshal(holder) // of strings and numbers: there is nothing to fail
	return string(text)
}
