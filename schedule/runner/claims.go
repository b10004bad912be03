package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/text"
)

// This file is about what a tick asks a store for before the slots start: a hundred answers one after another are a hundred round trips.
// The locks of one machine take microseconds, and are taken when a slot starts.

// preferredFirst is how long a server that a task does not prefer leaves its slots to those that the task prefers.
const preferredFirst = time.Second

// A claim of a slot is made before the slot is reached.
type claim struct {
	run  string        // the id of the run that it is for
	made chan struct{} // is closed when err is known
	err  error
}

// claimAhead begins to claim the slots of an instant for this server. It leaves out those that may not start at this moment, and those
// with condition commands: they are claimed when these have said yes. What this tick claims and cannot start, no other server runs.
func (s *starter) claimAhead(slots []schedule.Slot) {
	if s.Storage.Store == nil {
		return
	}
	for _, slot := range slots {
		if !slot.Task.OneServer || len(slot.Task.ConditionCommands) > 0 || s.locks.claimOf(slot) != nil || s.admission.refuses(slot) {
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

// A stoppedError says why a slot was not claimed: the tick is to end.
type stoppedError string

func (e stoppedError) Error() string { return string(e) }

// claim claims a slot for a run, in one storage. The error is a stoppedError, a *mutex.HeldError, or says that nobody knows.
func (l *locks) claim(storage run.Storage, record *outcome.Record, slot schedule.Slot) error {
	if storage.Store != nil {
		if wait := l.preferred(slot); wait > 0 {
			clock.Wait(l.noNewStarts, wait)
		}
		defer l.ask()()
	}
	if l.noNewStarts.Err() != nil {
		return stoppedError(whyDone(l.noNewStarts))
	}
	l.claiming(slot.Task.Name, slot.At, record.Run)
	return storage.Mutexes().Claim(context.Background(), cluster.Key(slot), cluster.Until(slot), run.NewHolder(*record))
}

// preferred returns how long this server still leaves a slot to the servers that its task prefers.
func (l *locks) preferred(slot schedule.Slot) time.Duration {
	if prefer := slot.Task.Prefer; l.tick.Replay || len(prefer) == 0 || slices.Contains(prefer, l.tick.Host.Server) {
		return 0
	}
	return min(preferredFirst, text.Later(l.began, slot.At).Add(preferredFirst).Sub(clock.Now()))
}

// ask waits until the store may be asked for one more claim or lock. The caller calls done when it has the answer.
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

// lockAhead asks a store for the locks of background slots side by side. Slots that share a mutex or a pool are asked for in their
// order. An element is nil for a slot whose lock is taken when it starts.
func (s *starter) lockAhead(slots []schedule.Slot) []*lockAhead {
	all := make([]*lockAhead, len(slots))
	if s.Storage.Store == nil || len(slots) < 2 {
		return all
	}
	before := map[string]*lockAhead{} // by mutex, and by pool with a "#": the last one that wants it
	for i, slot := range slots {
		task := slot.Task
		if !task.Locks() || s.admission.refuses(slot) {
			continue
		}
		a := &lockAhead{done: make(chan struct{}), record: s.newRecord(slot)}
		names := []string{task.Mutex}
		if task.Pool.Name != "" {
			names = append(names, task.Pool.Name+"#")
		}
		var first []*lockAhead
		for _, name := range names {
			if other := before[name]; other != nil {
				first = append(first, other)
			}
			before[name] = a
		}
		all[i] = a
		go func() {
			defer close(a.done)
			for _, other := range first {
				<-other.done
			}
			a.lock, a.no = s.locks.take(&a.record, slot)
		}()
	}
	return all
}

// result is a takeLock.
func (a *lockAhead) result(record *outcome.Record, _ schedule.Slot) (mutex.Lock, refusal) {
	<-a.done
	*record = a.record
	return a.lock, a.no
}

// release gives back the locks that were taken ahead for slots that do not start.
func (l *locks) release(ahead []*lockAhead) {
	var all sync.WaitGroup
	for _, a := range ahead {
		if a != nil {
			all.Go(func() {
				if <-a.done; a.lock != nil {
					l.leases.Drop(a.lock)
					a.lock.Release(context.Background())
				}
			})
		}
	}
	all.Wait()
}
