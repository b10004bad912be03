package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/text"
)

// This file is about what a tick asks a store for before the slots start: a hundred answers one
// after another are a hundred round trips. Locks of one machine are taken when a slot starts.

// preferredFirst is how long a server leaves a slot to the servers that its task prefers.
const preferredFirst = time.Second

// A claim of a slot is made before the slot is reached.
type claim struct {
	run  string        // the id of the run that it is for
	made chan struct{} // is closed when err is known
	err  error
}

// claimAhead begins to claim the slots of an instant for this server. It leaves out slots that may
// not start at this moment, and slots with condition commands: these are claimed after a yes. What
// this tick claims and cannot start, no other server runs.
func (s *starter) claimAhead(slots []schedule.Slot) {
	for _, slot := range slots {
		if s.Storage.Store == nil || !slot.Task.OneServer || len(slot.Task.ConditionCommands) > 0 ||
			s.locks.claimOf(slot) != nil || s.admission.refuses(slot) {
			continue
		}
		record := s.newRecord(slot)
		c := &claim{run: record.Run, made: make(chan struct{})}
		s.locks.claims.Store(slot, c)
		go func() {
			defer close(c.made)
			c.err = s.locks.claim(s.Storage, &record, slot)
		}()
	}
}

// claimOf returns the claim of a slot that was begun ahead; nil for none.
func (l *locks) claimOf(slot schedule.Slot) *claim {
	c, _ := l.claims.Load(slot)
	begun, _ := c.(*claim)
	return begun
}

// A notOursError says why a slot is not for this tick: another run has it, or the tick is to end.
type notOursError string

func (e notOursError) Error() string { return string(e) }

// claim claims a slot for a run, in one storage. After any error but a notOursError nobody knows.
func (l *locks) claim(storage run.Storage, record *outcome.Record, slot schedule.Slot) error {
	if storage.Store != nil {
		if wait := l.preferred(slot); wait > 0 {
			clock.Wait(l.noNewStarts, wait)
		}
		defer l.ask()()
	}
	if l.noNewStarts.Err() != nil {
		return notOursError(whyDone(l.noNewStarts))
	}
	l.claiming(slot.Task.Name, slot.At, record.Run)
	err := storage.Mutexes().Claim(context.Background(), cluster.Key(slot), cluster.Until(slot), run.NewHolder(*record))
	if held, ok := errors.AsType[*mutex.HeldError](err); ok {
		return notOursError(cluster.Taken(held.Holder))
	}
	return err
}

// preferred returns how long this server still leaves a slot to the servers that its task prefers.
func (l *locks) preferred(slot schedule.Slot) time.Duration {
	if prefer := slot.Task.Prefer; l.tick.Replay || len(prefer) == 0 || slices.Contains(prefer, l.tick.Host.Server) {
		return 0
	}
	return min(preferredFirst, text.Later(l.began, slot.At).Add(preferredFirst).Sub(clock.Now()))
}

// ask waits until the store may be asked for one more claim or lock, until done is called.
func (l *locks) ask() (done func()) {
	l.asking <- struct{}{}
	return func() { <-l.asking }
}

// A lockAhead is the lock of a background slot, which is asked for before the slot starts.
type lockAhead struct {
	done   chan struct{} // is closed when the rest is known
	record outcome.Record
	lock   mutex.Lock
	no     refusal
}

// lockAhead asks a store for the locks of background slots side by side. Slots that share a mutex
// or a pool are asked for in their order. What take does not fetch, giveBack must.
func (s *starter) lockAhead(slots []schedule.Slot) {
	last := map[string]chan struct{}{} // done of the last slot that wants it, by run.QueuesOf
	for _, slot := range slots {
		if s.Storage.Store == nil || !slot.Task.Locks() || s.admission.refuses(slot) {
			continue
		}
		a := &lockAhead{done: make(chan struct{}), record: s.newRecord(slot)}
		s.locks.ahead.Store(slot, a)
		var before []chan struct{}
		for _, name := range run.QueuesOf(run.NeedOf(slot.Task)) {
			if other := last[name]; other != nil {
				before = append(before, other)
			}
			last[name] = a.done
		}
		go func() {
			defer close(a.done)
			for _, other := range before {
				<-other
			}
			a.lock, a.no = s.locks.takeNow(&a.record, slot)
		}()
	}
}

// giveBack releases the locks that were taken ahead for slots that did not start.
func (l *locks) giveBack(slots []schedule.Slot) {
	mutex.Each(len(slots), func(i int) {
		if a, ok := l.ahead.LoadAndDelete(slots[i]); ok {
			a := a.(*lockAhead)
			if <-a.done; a.lock != nil {
				l.leases.Drop(a.lock)
				a.lock.Release(context.Background())
			}
		}
	})
}
