package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/mutex"
	"sched/mutex/pool"
	"sched/mutex/queue"
	"sched/schedule"
	"sched/schedule/oneserver"
	"sched/schedule/outcome"
)

// foregroundAhead takes the locks of foreground slots in batches where the store is far and the tasks are short: a hundred round trips one
// after another would delay the last task by all of them. A slot that is claimed is kept from servers that are free, so a batch holds
// what is likely to start within a few round trips: the first one a single slot, each next one at most four times as many, and a
// single one again where the tasks take longer (docs/decisions.md#locks-of-foreground-tasks-are-taken-in-batches).
type foregroundAhead struct {
	starter *starter
	size    int                            // of the last batch
	asked   time.Duration                  // what its locks took
	ready   time.Time                      // when they were there
	taken   map[schedule.Slot]*aheadResult // of slots that were not reached yet
}

// An aheadResult is what taking a lock ahead came to.
type aheadResult struct {
	lockResult
	again bool // it is asked for again when the slot is reached, by the same run: that may have the claim already
}

const (
	batchGrows    = 4   // at most, from one to the next
	batchLasts    = 4   // times what its locks took, as the last one ran
	largestBatch  = 500 // see mostAtOnce of package mutex: that many go in one round trip
	smallestBatch = 1
)

// taker returns how the lock of a slot is taken; later are those that come after it.
func (a *foregroundAhead) taker(later []schedule.Slot) takeLock {
	if a.starter.Storage.Store == nil {
		return a.starter.locks.take
	}
	return func(record *outcome.Record, slot schedule.Slot) (mutex.Lock, refusal) {
		result := a.taken[slot]
		if result == nil {
			return a.takeBatch(record, slot, later)
		}
		delete(a.taken, slot)
		*record = result.record
		if result.again {
			return a.starter.locks.take(record, slot)
		}
		return result.lock, result.no
	}
}

// takeBatch takes the lock of a slot, and those of the next ones at the same time.
func (a *foregroundAhead) takeBatch(record *outcome.Record, slot schedule.Slot, later []schedule.Slot) (mutex.Lock, refusal) {
	a.resize(time.Now())
	begun := time.Now()
	others := a.batch(slot, later)
	results := make([]*aheadResult, len(others))
	var all sync.WaitGroup
	for i, other := range others {
		all.Go(func() { results[i] = a.starter.takeAhead(other) })
	}
	lock, no := a.starter.locks.take(record, slot)
	all.Wait()
	for i, result := range results {
		a.taken[others[i]] = result
	}
	a.asked, a.ready = time.Since(begun), time.Now()
	return lock, no
}

// resize says how large the next batch is, from what the last one took until now.
func (a *foregroundAhead) resize(now time.Time) {
	if a.size == 0 {
		a.size, a.taken = smallestBatch, map[schedule.Slot]*aheadResult{}
		return
	}
	ran := max(now.Sub(a.ready), time.Microsecond)
	fits := int(min(int64(a.size)*batchLasts*int64(a.asked)/int64(ran), largestBatch))
	a.size = max(smallestBatch, min(fits, a.size*batchGrows))
}

// batch returns the slots after the first one whose locks are taken with its own: those that need one, are due at the same instant and may start as far as
// is known. What shares a mutex or a pool with one of them waits for its turn: it may start when that has ended.
func (a *foregroundAhead) batch(first schedule.Slot, later []schedule.Slot) (others []schedule.Slot) {
	mutexes, pools := map[string]bool{first.Task.Mutex: true}, map[string]bool{first.Task.Pool.Name: true}
	for _, slot := range later {
		if len(others)+1 >= a.size || !slot.At.Equal(first.At) {
			break
		}
		task := slot.Task
		if a.taken[slot] != nil || mutexes[task.Mutex] || len(task.ConditionCommands) > 0 || !task.Locks() || task.Pool.Name != "" && pools[task.Pool.Name] {
			continue
		}
		if _, claimed := a.starter.locks.claimedAhead(slot); claimed || a.starter.locks.turns.left(slot) > 0 || a.starter.admission.refuses(slot) {
			continue
		}
		mutexes[task.Mutex], pools[task.Pool.Name] = true, true
		others = append(others, slot)
	}
	return others
}

// release gives back the lock of a slot that was reached and did not start.
func (a *foregroundAhead) release(slots ...schedule.Slot) {
	for _, slot := range slots {
		if result := a.taken[slot]; result != nil {
			delete(a.taken, slot)
			if result.lock != nil {
				a.starter.locks.leases.Drop(result.lock)
				result.lock.Release(context.Background())
			}
		}
	}
}

// takeAhead takes the lock of a slot that is likely to start soon. It is decided when that is reached where another run has the mutex
// or a seat, or waits for them, and may have ended by then, or where the store did not answer.
func (s *starter) takeAhead(slot schedule.Slot) *aheadResult {
	result := &aheadResult{lockResult: lockResult{record: s.newRecord(slot)}}
	record := &result.record
	s.locks.awaitRelease(record.Mutex)
	if _, held := s.locks.heldInSpare(record.Mutex); held {
		result.again = true
		return result
	}
	if slot.Task.OneServer {
		s.locks.claiming(slot.Task.Name, slot.At, record.Run)
	}
	lock, err := s.locks.claimAndAcquire(s.locks.storage, record, slot)
	var full *pool.FullError
	var behind *queue.BehindError
	var taken *mutex.HeldError
	switch {
	case err == nil:
		s.locks.leases.Keep(lock)
		result.lock = lock
	case !errors.As(err, &full) && !errors.As(err, &behind) && errors.As(err, &taken) && taken.Name != record.Mutex:
		result.no = refusal{reason: oneserver.Taken(taken.Holder)}
	default:
		result.again = true
	}
	return result
}

// releaseLater releases the lock of a foreground run while the next one starts, where that takes a round trip. What takes the mutex
// next in this tick waits for it.
func (l *locks) releaseLater(name string, lock mutex.Lock) error {
	if lock.Lease() == 0 {
		return lock.Release(context.Background())
	}
	done := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.releasing == nil {
		l.releasing = map[string]chan struct{}{}
	}
	l.releasing[name] = done
	l.releases.Go(func() {
		defer close(done)
		if err := lock.Release(context.Background()); err != nil {
			l.problem("the lock on %s is left to the end of its lease: %v", name, err)
		}
	})
	return nil
}

// awaitRelease waits for the release of a mutex that this tick has begun.
func (l *locks) awaitRelease(name string) {
	l.mu.Lock()
	done := l.releasing[name]
	l.mu.Unlock()
	if done != nil {
		<-done
	}
}
