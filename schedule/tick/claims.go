package tick

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// This file is about what a tick asks a store for before the slots start: a hundred answers one
// after another are a hundred round trips. Locks of one machine are taken when a slot starts.

// preferredFirst is how long a server leaves a slot to the servers that its task prefers.
const preferredFirst = time.Second

// A prefetch is what a tick asks a store for before it reaches a slot. Both functions ask once.
type prefetch struct {
	row   state.Row                    // of the run that it is for
	claim func() error                 // of a task of one_server
	lock  func() (mutex.Lock, refusal) // of a background slot; other locks are taken when the slot starts
}

// prefetch begins to claim the slots of an instant for this server, and to take the locks of
// background slots, side by side. Slots that share a mutex or a pool are locked in their order. It
// leaves out slots that may not start at this moment, and slots with condition commands: these are
// claimed after a yes. If this tick claims a slot and cannot start it, no other server runs the
// slot. If take does not fetch a lock, releasePrefetched must.
func (s *launcher) prefetch(slots []schedule.Slot) {
	last := map[string]*prefetch{} // the last slot that wants it, by run.QueuesOf
	for _, slot := range slots {
		task := slot.Task
		if s.tick.Storage.Store == nil || !task.OneServer && !(task.Background && task.Holds()) || len(task.ConditionCommands) > 0 ||
			s.locks.prefetched(slot) != nil || s.admission.refuses(slot) {
			continue
		}
		a := &prefetch{row: s.newRow(slot)}
		s.locks.prefetches.Store(slot, a)
		var before []*prefetch
		for _, name := range run.QueuesOf(run.NeedOf(task)) {
			if other := last[name]; other != nil {
				before = append(before, other)
			}
			if task.Background {
				last[name] = a
			}
		}
		a.claim = sync.OnceValue(func() error { return s.locks.claim(s.tick.Storage, &a.row, slot) })
		a.lock = sync.OnceValues(func() (mutex.Lock, refusal) {
			for _, other := range before {
				other.lock()
			}
			return s.locks.takeNow(&a.row, slot)
		})
		go func() {
			if task.OneServer {
				a.claim()
			}
			if task.Background {
				a.lock()
			}
		}()
	}
}

// prefetched returns what was asked for a slot ahead; nil for nothing.
func (l *locks) prefetched(slot schedule.Slot) *prefetch {
	a, _ := l.prefetches.Load(slot)
	begun, _ := a.(*prefetch)
	return begun
}

// A notOursError says why a slot is not for this tick: another run has it, or the tick is to end.
type notOursError struct {
	reason string
	kind   outcome.Kind
}

func (e notOursError) Error() string { return e.reason }

// claim claims a slot for a run, in one storage. After any error but a notOursError nobody knows.
func (l *locks) claim(storage run.Storage, row *state.Row, slot schedule.Slot) error {
	if storage.Store != nil {
		if wait := l.preferred(slot); wait > 0 {
			clock.Wait(l.noNewStarts, wait)
		}
		defer l.ask()()
	}
	if l.noNewStarts.Err() != nil {
		return notOursError{reason: whyDone(l.noNewStarts)}
	}
	err := storage.Mutexes().Claim(context.Background(), cluster.Key(slot), cluster.Until(slot), run.NewHolder(*row))
	if held, ok := errors.AsType[*mutex.HeldError](err); ok {
		return notOursError{cluster.Taken(held.Holder), outcome.Elsewhere}
	}
	return err
}

// preferred returns how long this server still leaves a slot to the servers that its task prefers.
func (l *locks) preferred(slot schedule.Slot) time.Duration {
	if prefer := slot.Task.Prefer; l.tick.Replay || len(prefer) == 0 || slices.Contains(prefer, l.tick.Host.Server) {
		return 0
	}
	return min(preferredFirst, humanize.Later(l.began, slot.At).Add(preferredFirst).Sub(clock.Now()))
}

// ask waits until the store may be asked for one more claim or lock, until done is called.
func (l *locks) ask() (done func()) {
	l.asking <- struct{}{}
	return func() { <-l.asking }
}

// releasePrefetched releases the locks that were taken ahead for background slots that did not
// start.
func (l *locks) releasePrefetched(slots []schedule.Slot) {
	mutex.Each(len(slots), func(i int) {
		if a := l.prefetched(slots[i]); a != nil {
			lock, _ := a.lock()
			if l.prefetches.Delete(slots[i]); lock != nil {
				l.leases.Drop(lock)
				lock.Release(context.Background())
			}
		}
	})
}
