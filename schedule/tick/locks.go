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
	"sched/schedule/state"
)

// A refusal says why a slot may not run; the zero refusal that it may.
type refusal struct {
	reason  string
	kind    outcome.Kind
	held    bool  // another run has the mutex or the seats, or waits for them: the task may wait, too
	unknown error // why the store was of no use; nil when another run has the slot or the mutex
}

// locks take the locks and claims of a tick. Safe for concurrent use.
type locks struct {
	tick        *Tick
	memory      *memory
	began       time.Time
	noNewStarts context.Context
	leases      run.Leases    // of the locks whose runs have yet to begin
	ahead       sync.Map      // by slot: each ahead whose lock was neither taken nor given back
	asking      chan struct{} // has an element for each claim and lock that the store is asked for

	outage         atomic.Pointer[error] // why the store was of no use when it was asked first
	said           sync.Once             // when that is reported
	skippedUnknown atomic.Bool           // a slot was skipped because the store did not answer
}

// take claims a slot and takes the mutex and a seat, as far as its task asks for them, and notes in
// the row what it took. The lock is nil for a task that needs none.
func (l *locks) take(row *state.Row, slot schedule.Slot) (lock mutex.Lock, no refusal) {
	if a := l.aheadOf(slot); a != nil && slot.Task.Background {
		lock, no = a.lock()
		l.ahead.Delete(slot)
		*row = a.row
		return lock, no
	}
	return l.takeNow(row, slot)
}

func (l *locks) takeNow(row *state.Row, slot schedule.Slot) (mutex.Lock, refusal) {
	task := slot.Task
	if !task.Locks() {
		return nil, refusal{}
	}
	lock, err := l.claimAndAcquire(l.tick.Storage, row, slot)
	if memory, ok := l.memory.instead(err); ok {
		lock, err = l.claimAndAcquire(memory, row, slot)
	}
	no := refusalOf(task, err)
	if why := no.unknown; why != nil {
		isOutage := !errors.Is(why, mutex.ErrSplit)
		if isOutage {
			l.outage.CompareAndSwap(nil, &why)
		}
		if isOutage && !task.WaitWhenStoreDown { // what waits says so itself, once
			l.said.Do(func() {
				l.tick.Report.Problem("%v; until that is over tasks that need a lock are skipped, or run without one if they say store_down: run", why)
			})
		}
		if task.RunWhenStoreDown {
			row.Notes = append(row.Notes, fmt.Sprintf("runs without its lock: %v", why))
			lock, err = l.claimAndAcquire(l.tick.Storage.Alone(), row, slot) // on this machine it overlaps with nothing all the same
			if no = refusalOf(task, err); no.unknown != nil {
				no = refusal{}
			}
		}
	}
	l.leases.Keep(lock)
	return lock, no
}

// refusalOf is what an error of claimAndAcquire means for a slot.
func refusalOf(task *schedule.Task, err error) refusal {
	reason, held := run.HeldReason(err)
	notOurs, taken := errors.AsType[notOursError](err)
	switch {
	case err == nil:
		return refusal{}
	case held:
		return refusal{reason: reason, held: true}
	case taken:
		return refusal{reason: notOurs.reason, kind: notOurs.kind}
	}
	no := refusal{reason: unknown(task, err), unknown: err}
	if task.OneServer {
		no.kind = outcome.StoreDown
	}
	return no
}

// claimAndAcquire claims the slot and acquires the mutex and a seat in one storage.
func (l *locks) claimAndAcquire(storage run.Storage, row *state.Row, slot schedule.Slot) (mutex.Lock, error) {
	ctx, store, holder := context.Background(), storage.Mutexes(), run.NewHolder(*row)
	claim := func() error {
		if a := l.aheadOf(slot); a != nil && storage.Store != nil {
			return a.claim()
		}
		return l.claim(storage, row, slot)
	}
	acquire := func() (mutex.Holding, error) {
		need := run.NeedOf(slot.Task)
		if slot.Task.Queues {
			if err := storage.Behind(need); errors.As(err, new(*run.BehindError)) {
				return mutex.Holding{}, err
			}
		}
		if storage.Store != nil {
			defer l.ask()()
		}
		var seats map[string]mutex.Holder // taken in the store, all with one question
		if storage.Store != nil && need.Pool != "" {
			seats, _ = storage.Store.Held(ctx, need.Names()...)
		}
		need.Taken = func(seat string) (mutex.Holder, bool) {
			if holder, taken := seats[seat]; taken {
				return holder, true
			}
			return mutex.Holder{}, false
		}
		return need.Acquire(ctx, store, holder)
	}
	held, err := schedule.TakeLocks(slot.Task, claim, acquire)
	if err == nil {
		row.Locked, row.Seat = held.Mutex, held.Seat
	}
	return held.Lock, err
}

// unknown is the reason of a skip because the store did not answer. It must never read as "still
// running": the cure is another.
func unknown(task *schedule.Task, err error) string {
	switch {
	case task.Pool.Name != "" && !task.WithoutOverlapping && !task.OneServer:
		return fmt.Sprintf("nobody knows whether pool %s is full: %v", task.Pool.Name, err)
	case task.OneServer:
		return fmt.Sprintf("nobody knows whether another server runs it: %v", err)
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}
