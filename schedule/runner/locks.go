package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/admission"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
)

// takeLock claims the slot and takes the mutex, as far as the task asks for them, and notes in the record what it took. The lock is
// nil where the task needs none. Reason is why the slot may not run; "" when it may.
type takeLock func(record *outcome.Record, slot schedule.Slot) (lock mutex.Lock, reason string)

// locks take the locks and claims of a tick. Safe for concurrent use.
type locks struct {
	storage run.Storage
	spare   *spare
	problem func(format string, a ...any)
	leases  run.Leases // of the locks whose runs have yet to begin

	mu             sync.Mutex
	claimed        map[string]mutex.Holder // claims of other servers, found by lookAhead
	folders        []run.Storage           // the state folder, and the spare ones that were there at first
	outage         error                   // why the store was of no use when it was asked first; nil while it always answered
	skippedUnknown bool                    // a slot was skipped since the store did not answer
}

// take is the takeLock of a single slot: it claims the slot first, then acquires the mutex.
func (l *locks) take(record *outcome.Record, slot schedule.Slot) (lock mutex.Lock, reason string) {
	lock, reason, _ = l.takeOrHeld(record, slot)
	return lock, reason
}

// takeOrHeld is take, and reports with a reason whether another run has the lock; else the store did not answer.
func (l *locks) takeOrHeld(record *outcome.Record, slot schedule.Slot) (lock mutex.Lock, reason string, isHeld bool) {
	task := slot.Task
	if !task.OneServer && !task.WithoutOverlapping {
		return nil, "", false
	}
	if holder, claimed := l.claimedAhead(slot); claimed {
		return nil, slotTaken(holder), true
	}
	if holder, held := l.heldInSpare(record.Mutex); held && task.WithoutOverlapping {
		return nil, run.StillRunning(holder, clock.Now()), true
	}
	lock, err := claimAndAcquire(l.storage, record, slot)
	if spare, ok := l.spare.instead(err); ok {
		lock, err = claimAndAcquire(spare, record, slot)
	}
	var held *mutex.HeldError
	if err != nil && !errors.As(err, &held) {
		l.storeDown(err, task)
		if task.RunWhenStoreDown {
			record.Notes = append(record.Notes, fmt.Sprintf("runs without its lock: %v", err))
			lock, err = claimAndAcquire(l.storage.Alone(), record, slot) // on this machine it overlaps with nothing all the same
		}
	}
	switch {
	case err == nil:
		l.leases.Keep(lock)
		return lock, "", false
	case !errors.As(err, &held) && task.RunWhenStoreDown:
		return nil, "", false
	case !errors.As(err, &held):
		return nil, unknown(task, err), false
	case held.Name == record.Mutex:
		return nil, run.StillRunning(held.Holder, clock.Now()), true
	}
	return nil, slotTaken(held.Holder), true
}

// claimAndAcquire claims the slot and acquires the mutex in one storage. The error is *mutex.HeldError for either of them.
func claimAndAcquire(storage run.Storage, record *outcome.Record, slot schedule.Slot) (mutex.Lock, error) {
	ctx, store := context.Background(), storage.Mutexes()
	holder := mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now()}
	claim := func() error { return store.Claim(ctx, claimKey(slot), claimUntil(slot), holder) }
	acquire := func() (mutex.Lock, error) { return store.Acquire(ctx, record.Mutex, holder) }
	lock, err := admission.TakeLocks(slot.Task, claim, acquire)
	if err == nil && lock != nil {
		record.Locks, record.Fence = storage.Locks(), lock.Fence()
	}
	return lock, err
}

// heldInSpare finds a run that began while the state folder could not be written, and so has its lock in a spare one.
func (l *locks) heldInSpare(name string) (holder mutex.Holder, held bool) {
	l.mu.Lock()
	if l.folders == nil {
		l.folders = l.storage.Folders()
	}
	folders := l.folders
	l.mu.Unlock()
	for _, spare := range folders[1:] {
		if holder, held = l.storage.HeldIn(spare.Locks(), name); held {
			return holder, true
		}
	}
	return holder, false
}

// unknown is the reason of a skip because the store did not answer. It must never read as "still running": the cure is another.
func unknown(task *schedule.Task, err error) string {
	if task.OneServer {
		return fmt.Sprintf("nobody knows whether another server runs it: %v", err)
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// storeDown reports, once in a tick, that the store does not answer.
func (l *locks) storeDown(err error, task *schedule.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !task.RunWhenStoreDown {
		l.skippedUnknown = true
	}
	if l.outage == nil {
		l.outage = err
		l.problem("%v; until that is over tasks that need a lock are skipped, or run without one if they say store_down: run", err)
	}
}

// claimFor is how long a claim outlives its slot: longer than any two clocks differ.
const claimFor = time.Hour

// claimKey is the key under which every server claims a slot of a task. It has nothing of the mutex, which other tasks may share:
// each of them has slots of its own.
func claimKey(slot schedule.Slot) string {
	return slot.Task.Name + "@" + slot.At.UTC().Format("20060102T150405Z")
}

// claimUntil returns how long the claim of a slot is kept: longer than any two clocks differ, after the last moment at
// which a tick may start it. It is the same for every tick and every server.
func claimUntil(slot schedule.Slot) time.Time {
	until := slot.At.Add(claimFor)
	if slot.Task.RunMissed {
		until = until.Add(slot.Task.MissedWithin)
	}
	return until
}

func slotTaken(holder mutex.Holder) string { return "another tick has this slot " + holder.String() }
