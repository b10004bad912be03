//go:build schedtrace

package stores

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule/statedir"
)

// traced returns a store that writes a line about each question about a claim or a lease, and a
// line about the answer: see statedir.Trace. The programs in spec compare them with the models.
func traced(s mutex.Store, err error) (mutex.Store, error) {
	if err != nil {
		return nil, err
	}
	return &tracedStore{Store: s}, nil
}

type tracedStore struct {
	mutex.Store
	asked atomic.Bool // something that Close may have to withdraw
}

var questions atomic.Int64

func trace(what, name string, holder mutex.Holder, ask func() error) error {
	line := map[string]any{"what": what, "name": name, "run": holder.Run, "server": holder.Host,
		"pid": os.Getpid(), "ask": questions.Add(1)}
	statedir.Trace(line)
	err := ask()
	var held *mutex.HeldError
	var lost *mutex.LostError
	switch {
	case err == nil:
		line["answer"] = "ok"
	case errors.As(err, &held):
		line["answer"], line["holder"] = "held", held.Holder.Run
	case errors.As(err, &lost):
		line["answer"], line["holder"], line["broken"] = "lost", lost.Holder.Run, lost.Broken
	default:
		line["answer"] = "unknown"
	}
	statedir.Trace(line)
	return err
}

func (s *tracedStore) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	s.asked.Store(true)
	return trace("claim", key, holder, func() error { return s.Store.Claim(ctx, key, until, holder) })
}

func (s *tracedStore) Acquire(ctx context.Context, name string, holder mutex.Holder) (lock mutex.Lock, err error) {
	s.asked.Store(true)
	err = trace("acquire", name, holder, func() error {
		lock, err = s.Store.Acquire(ctx, name, holder)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &tracedLock{lock, name, holder}, nil
}

func (s *tracedStore) Adopt(name string, holder mutex.Holder, file *os.File) mutex.Lock {
	return &tracedLock{s.Store.Adopt(name, holder, file), name, holder}
}

func (s *tracedStore) Close() error {
	if !s.asked.Load() {
		return s.Store.Close()
	}
	return trace("close", "", mutex.Holder{}, s.Store.Close)
}

type tracedLock struct {
	mutex.Lock
	name   string
	holder mutex.Holder
}

func (l *tracedLock) Renew(ctx context.Context) error {
	return trace("renew", l.name, l.holder, func() error { return l.Lock.Renew(ctx) })
}

func (l *tracedLock) Release(ctx context.Context) error {
	return trace("release", l.name, l.holder, func() error { return l.Lock.Release(ctx) })
}
