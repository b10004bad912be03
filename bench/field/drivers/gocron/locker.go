package main

import (
	"context"

	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"sched/bench/field/drivers/joblist"
)

// locker locks as the Redis locker of gocron does, which also is redsync behind gocron.Locker.
// The module of that locker cannot be had from the module proxy.
type locker struct {
	redsync  *redsync.Redsync
	settings []redsync.Option
}

// newLocker makes one attempt for a lock, as the README of the Redis locker says. A lock of the
// default expiry, 8 s, ends before a longer run does: WithExpiry makes it last as long as the run.
func newLocker(client redis.UniversalClient, lasting bool) gocron.Locker {
	settings := []redsync.Option{redsync.WithTries(1)}
	if lasting {
		settings = append(settings, redsync.WithExpiry(joblist.LongestRun))
	}
	return locker{redsync.New(goredis.NewPool(client)), settings}
}

// Lock returns an error if another server has the lock of this job.
func (l locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	mutex := l.redsync.NewMutex(job, l.settings...)
	if err := mutex.LockContext(ctx); err != nil {
		return nil, err
	}
	return lock{mutex}, nil
}

type lock struct{ mutex *redsync.Mutex }

// Unlock returns an error if the lock had ended before.
func (l lock) Unlock(ctx context.Context) error {
	_, err := l.mutex.UnlockContext(ctx)
	return err
}
