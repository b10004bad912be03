//go:build schedtrace

// Package trace makes sched write what it does: the forks of commands, and what it asks its store.
// The programs in spec compare that with the models. A binary that is built with -tags schedtrace
// has it.
package trace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule/process"
)

func init() {
	process.Forking = forking
	stores.Opened = func(s mutex.Store) mutex.Store { return &tracedStore{Store: s} }
}

// write writes a line into the file that the environment names, with the time by the monotonic
// clock of the machine. Lines of two processes may stand in another order than their times.
func write(line map[string]any) {
	path, given := syscall.Getenv("SCHED_TRACE")
	if !given {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	line["at"] = now.Nano()
	text, _ := json.Marshal(line)
	file.Write(append(text, '\n'))
}

// forking writes a line about the fork of a command.
func forking(spec process.Spec) {
	if !slices.Equal(spec.Command.Argv(), spec.Task.Command.Argv()) {
		return
	}
	line := map[string]any{"what": "fork", "task": spec.Task.Name}
	for _, pair := range spec.Variables {
		if run, is := strings.CutPrefix(pair, "SCHED_RUN="); is {
			line["run"] = run
		}
		if slot, is := strings.CutPrefix(pair, "SCHED_SLOT="); is {
			line["slot"] = slot
		}
	}
	write(line)
}

// A tracedStore writes a line about each question about a claim or a lease, and a line about the
// answer.
type tracedStore struct {
	mutex.Store
	asked atomic.Bool // something that Close may have to withdraw
}

var questions atomic.Int64

func trace(what, name string, holder mutex.Holder, ask func() error) error {
	line := map[string]any{"what": what, "name": name, "run": holder.Run, "server": holder.Host,
		"pid": os.Getpid(), "ask": questions.Add(1)}
	write(line)
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
	write(line)
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
