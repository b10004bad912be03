package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"sched/mutex"
	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"
)

// takeLock claims the slot and takes the mutex, as the task asks, and notes in the record what it took.
// The reason says why the slot may not run.
type takeLock func(record *outcome.Record, slot schedule.Slot) (lock mutex.Lock, reason string)

// lock is how a tick takes the lock of one slot.
func (t *Tick) lock(record *outcome.Record, slot schedule.Slot) (lock mutex.Lock, reason string) {
	task := slot.Task
	if !task.OneServer && !task.WithoutOverlapping {
		return nil, ""
	}
	if owner, taken := t.claimedAhead(slot); taken {
		return nil, slotTaken(owner)
	}
	if owner, held := t.heldInSpare(record.Mutex); held && task.WithoutOverlapping {
		return nil, stillRunning(owner, clock.Now())
	}
	lock, err := tryLock(t.State, record, slot)
	if spare := t.spareFor(err); spare != nil {
		lock, err = tryLock(*spare, record, slot)
	}
	var held *mutex.HeldError
	if err != nil && !errors.As(err, &held) {
		t.storeDown(err, task)
		if task.RunWhenStoreDown {
			record.Notes = append(record.Notes, fmt.Sprintf("runs without its lock: %v", err))
			lock, err = tryLock(t.State.alone(), record, slot) // on this machine it overlaps with nothing all the same
		}
	}
	switch {
	case err == nil:
		return lock, ""
	case !errors.As(err, &held) && task.RunWhenStoreDown:
		return nil, ""
	case !errors.As(err, &held):
		return nil, unknown(task, err)
	case held.Name == record.Mutex:
		return nil, stillRunning(held.Holder, clock.Now())
	}
	return nil, slotTaken(held.Holder)
}

// heldInSpare tells of a run that began while the state folder could not be written, and so has its lock in
// a spare one.
func (t *Tick) heldInSpare(name string) (owner mutex.Holder, held bool) {
	t.mu.Lock()
	if t.folders == nil {
		t.folders = t.State.folders()
	}
	folders := t.folders
	t.mu.Unlock()
	for _, spare := range folders[1:] {
		if owner, held = (mutex.Files{Dir: spare.locks()}).Held(name); held {
			return owner, true
		}
	}
	return owner, false
}

// unknown is not "still running": that nobody knows is another trouble, with another cure.
func unknown(task *schedule.Task, err error) string {
	if task.OneServer {
		return fmt.Sprintf("nobody knows whether another server runs it: %v", err)
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// tryLock does it with one store.
func tryLock(state State, record *outcome.Record, slot schedule.Slot) (mutex.Lock, error) {
	ctx, store := context.Background(), state.Store()
	owner := mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now()}
	if slot.Task.OneServer {
		if err := store.Claim(ctx, claimKey(slot), claimUntil(slot), owner); err != nil {
			return nil, err
		}
	}
	if !slot.Task.WithoutOverlapping {
		return nil, nil
	}
	lock, err := store.Acquire(ctx, record.Mutex, owner)
	if err == nil {
		record.Locks, record.Fence = state.locks(), lock.Fence()
	}
	return lock, err
}

// storeDown says, once in a tick, that nobody knows who has which lock.
func (t *Tick) storeDown(err error, task *schedule.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !task.RunWhenStoreDown {
		t.skippedUnknown = true
	}
	if !t.saidDown {
		t.saidDown = true
		t.Problem("%v; until that is over tasks that need a lock are skipped, or run without one if they say store_down: run", err)
	}
}

// SkippedUnknown reports whether a slot was skipped since nobody knew whether it may run: that is
// no skip that all is well with.
func (t *Tick) SkippedUnknown() bool { return t.skippedUnknown }

// lookAhead asks a store that is far away, with one request, which of the foreground slots other servers
// have taken already. The others are claimed one by one when their turn comes: until then another
// server may take them.
func (t *Tick) lookAhead(slots []schedule.Slot) {
	var claims []string
	for _, slot := range slots {
		if slot.Task.OneServer {
			claims = append(claims, claimKey(slot))
		}
	}
	if t.State.Remote != nil && len(claims) > 1 {
		taken, _ := t.State.Remote.Claims(context.Background(), claims...) // without an answer each is asked for
		t.mu.Lock()
		defer t.mu.Unlock()
		t.taken = taken
	}
}

// claimedAhead tells of a claim of another server that lookAhead found.
func (t *Tick) claimedAhead(slot schedule.Slot) (owner mutex.Holder, taken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owner, taken = t.taken[claimKey(slot)]
	return owner, taken
}

// Locks are taken ahead for slots that start at the same time.
type locksAhead struct {
	take    takeLock
	results []chan lockResult // nil where the lock is taken when its turn comes
}

type lockResult struct {
	record outcome.Record
	lock   mutex.Lock
	reason string
}

// lockAhead asks a store that is far away for the locks of all slots at once: a hundred answers one after
// another are a hundred round trips. Slots with the same mutex are asked for in their order. The locks
// of this machine take microseconds, and are taken in turn.
func (t *Tick) lockAhead(slots []schedule.Slot) locksAhead {
	ahead := locksAhead{take: t.lock}
	if t.State.Remote == nil || len(slots) < 2 {
		return ahead
	}
	ahead.results = make([]chan lockResult, len(slots))
	queues := map[string][]int{}
	for i, slot := range slots {
		task := slot.Task
		if (task.OneServer || task.WithoutOverlapping) && t.barred(slot) == "" {
			ahead.results[i] = make(chan lockResult, 1)
			queues[task.Mutex] = append(queues[task.Mutex], i)
		}
	}
	results := slices.Clone(ahead.results) // those who take or release a lock clear its place
	for _, queue := range queues {
		go func() {
			for _, i := range queue {
				record := t.newRecord(slots[i])
				lock, reason := t.lock(&record, slots[i])
				results[i] <- lockResult{record, lock, reason}
			}
		}()
	}
	return ahead
}

// of returns how to take the lock of slot i.
func (a locksAhead) of(i int) takeLock {
	if a.results == nil || a.results[i] == nil {
		return a.take
	}
	return func(record *outcome.Record, _ schedule.Slot) (mutex.Lock, string) {
		r := <-a.results[i]
		a.results[i] = nil
		*record = r.record
		return r.lock, r.reason
	}
}

// release gives back the locks of the slots from i to j which nobody has asked for: they do not start.
func (a locksAhead) release(i, j int) {
	var all sync.WaitGroup
	for ; i < min(j, len(a.results)); i++ {
		if result := a.results[i]; result != nil {
			a.results[i] = nil
			all.Go(func() {
				if r := <-result; r.lock != nil {
					r.lock.Release(context.Background())
				}
			})
		}
	}
	all.Wait()
}
