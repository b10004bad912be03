package tick

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/lease"
	"sched/schedule/state"
)

// A lockRefusal says why a slot cannot have the locks that its run needs. The zero lockRefusal says
// that it has them.
type lockRefusal struct {
	cause  refusalCause
	reason string
	kind   outcome.Kind
	err    error // of the store, with storeUnknown
}

// A refusalCause is what keeps a slot from running.
type refusalCause int

const (
	noRefusal    refusalCause = iota
	locksHeld                 // another run has the mutex or the seats, or waits for them: the task may wait, too
	notOurs                   // another run has the slot, or the tick is to end
	storeUnknown              // nobody knows who has the locks that the task needs
)

// locks take the locks and claims of a tick. Safe for concurrent use.
type locks struct {
	tick        *Tick
	fallback    *fallback
	began       time.Time
	noNewStarts context.Context
	leases      lease.Keeper  // of the locks whose runs have yet to begin
	prefetches  sync.Map      // by slot: each prefetch whose lock was neither taken nor released
	asking      chan struct{} // has an element for each claim or lock for which the store is being asked

	outage         atomic.Pointer[error] // why the store was of no use when it was asked first
	reportOutage   sync.Once
	skippedUnknown atomic.Bool // a slot was skipped because the store did not answer
	skippedHeld    atomic.Bool // a slot was skipped: other runs had its mutex or seats, or waited for them
}

// take claims a slot and takes the mutex and a seat, as far as its task asks for them, and notes in
// the row what it took. The lock is nil for a task that needs none.
func (l *locks) take(row *state.Row, slot schedule.Slot) (lock mutex.Lock, refusal lockRefusal) {
	// Of a foreground slot only the claim is prefetched: claimAndAcquire uses that.
	if p := l.prefetched(slot); p != nil && slot.Task.Background {
		lock, refusal = p.lock()
		l.prefetches.Delete(slot)
		*row = p.row
		return lock, refusal
	}
	return l.takeNow(row, slot)
}

// takeNow is take for a slot whose locks were not prefetched.
func (l *locks) takeNow(row *state.Row, slot schedule.Slot) (mutex.Lock, lockRefusal) {
	task := slot.Task
	if !task.NeedsLocks() {
		return nil, lockRefusal{}
	}
	lock, err := l.claimAndAcquire(l.tick.Storage, row, slot)
	if memory, fellBack := l.fallback.openFor(err); fellBack {
		lock, err = l.claimAndAcquire(memory, row, slot)
	}
	refusal := refusalOf(task, err)
	if refusal.cause == storeUnknown {
		l.noteOutage(task, refusal.err)
		if task.RunWhenStoreDown {
			lock, refusal = l.takeAlone(row, slot, refusal.err)
		}
	}
	l.leases.Keep(lock)
	return lock, refusal
}

// noteOutage notes and reports that the store did not answer for a slot. A store whose servers
// disagree is up, and is no outage.
func (l *locks) noteOutage(task *schedule.Task, why error) {
	if errors.Is(why, mutex.ErrSplit) {
		return
	}
	l.outage.CompareAndSwap(nil, &why)
	if task.WaitWhenStoreDown { // a slot that waits is reported by itself, once
		return
	}
	l.reportOutage.Do(func() {
		l.tick.Report.Problem("%v; until that is over tasks that need a lock are skipped,"+
			" or run without one if they say store_down: run", why)
	})
}

// takeAlone takes the locks of this machine alone, for a task that runs without an answer of the
// store. On this machine nothing may overlap.
func (l *locks) takeAlone(row *state.Row, slot schedule.Slot, why error) (mutex.Lock, lockRefusal) {
	row.Notes = append(row.Notes, fmt.Sprintf("runs without its lock: %v", why))
	lock, err := l.claimAndAcquire(l.tick.Storage.Alone(), row, slot)
	refusal := refusalOf(slot.Task, err)
	if refusal.cause == storeUnknown {
		return lock, lockRefusal{}
	}
	return lock, refusal
}

// refusalOf returns what an error of claimAndAcquire means for a slot.
func refusalOf(task *schedule.Task, err error) lockRefusal {
	reason, held := run.HeldReason(task, err)
	other, taken := errors.AsType[notOursError](err)
	switch {
	case err == nil:
		return lockRefusal{}
	case held:
		return lockRefusal{cause: locksHeld, reason: reason}
	case taken:
		return lockRefusal{cause: notOurs, reason: other.reason, kind: other.kind}
	}
	refusal := lockRefusal{cause: storeUnknown, reason: unknownReason(task, err), err: err}
	if task.OneServer {
		refusal.kind = outcome.StoreDown
	}
	return refusal
}

// claimAndAcquire claims the slot and acquires the mutex and a seat in one storage.
func (l *locks) claimAndAcquire(storage run.Storage, row *state.Row, slot schedule.Slot) (mutex.Lock, error) {
	claim := func() error {
		// The answer of a prefetch is about the tick's own storage. In another storage the slot is
		// claimed anew; the store knows by the run that the claim is ours.
		isOwn := storage.DB == l.tick.Storage.DB && storage.Store != nil
		if p := l.prefetched(slot); p != nil && isOwn {
			return p.claim()
		}
		return l.claim(storage, row, slot)
	}
	holder := run.NewHolder(*row)
	acquire := func() (mutex.Holding, error) { return l.acquire(storage, slot.Task, holder) }
	held, err := schedule.TakeLocks(slot.Task, claim, acquire)
	if err == nil {
		row.Locked, row.Seat = held.Mutex, held.Seat
	}
	return held.Lock, err
}

// acquire acquires the mutex and a seat for a task in one storage.
func (l *locks) acquire(storage run.Storage, task *schedule.Task, holder mutex.Holder) (mutex.Holding, error) {
	ctx, need := context.Background(), run.NeedOf(task)
	if task.CatchesUp { // it waits for its turn even if the mutex is free
		return mutex.Holding{}, &mutex.HeldError{Name: need.Mutex}
	}
	if task.MayQueue {
		if err := storage.Behind(need); errors.As(err, new(*run.BehindError)) {
			return mutex.Holding{}, err
		}
	}
	if storage.Store != nil {
		done := l.beginAsking()
		defer done()
	}
	var seats map[string]mutex.Holder // the taken seats in the store, all with one question
	if storage.Store != nil && need.Pool != "" {
		seats, _ = storage.Store.Held(ctx, need.Names()...)
	}
	need.Taken = func(seat string) (mutex.Holder, bool) {
		holder, taken := seats[seat]
		return holder, taken && !storage.Over(holder.Run)
	}
	return need.Acquire(ctx, storage.Mutexes(), holder)
}

// unknownReason returns the reason of a skip because the store did not answer. It must never read
// as "still running": the cure is another.
func unknownReason(task *schedule.Task, err error) string {
	switch {
	case task.Pool.Name != "" && !task.WithoutOverlapping && !task.OneServer:
		return fmt.Sprintf("nobody knows whether pool %s is full: %v", task.Pool.Name, err)
	case task.OneServer:
		return fmt.Sprintf("nobody knows whether another server runs it: %v", err)
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}
