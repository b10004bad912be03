package runner

import (
	"context"
	"slices"
	"sync"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
)

// lookAhead asks a store, with one request, which of the foreground slots other servers have claimed already. The others
// are claimed one by one right before they start: until then another server may claim them.
func (l *locks) lookAhead(slots []schedule.Slot) {
	var claims []string
	for _, slot := range slots {
		if slot.Task.OneServer {
			claims = append(claims, claimKey(slot))
		}
	}
	if l.storage.Store != nil && len(claims) > 1 {
		claimed, _ := l.storage.Store.Claims(context.Background(), claims...) // without an answer each is asked for
		l.mu.Lock()
		defer l.mu.Unlock()
		l.claimed = claimed
	}
}

// claimedAhead returns the holder of a claim that lookAhead found.
func (l *locks) claimedAhead(slot schedule.Slot) (holder mutex.Holder, claimed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	holder, claimed = l.claimed[claimKey(slot)]
	return holder, claimed
}

// locksAhead are locks that are taken ahead, for slots that start at the same time.
type locksAhead struct {
	take    takeLock
	results []chan lockResult // nil where the lock is taken when the slot starts
}

type lockResult struct {
	record outcome.Record
	lock   mutex.Lock
	reason string
}

// lockAhead asks a store for the locks of all slots at once: a hundred answers one after another are a hundred round trips.
// Slots with the same mutex are asked for in their order (docs/decisions.md#locks-of-background-tasks-are-taken-ahead). The locks
// of this machine take microseconds, and are taken when a slot starts.
func (s *starter) lockAhead(slots []schedule.Slot) locksAhead {
	ahead := locksAhead{take: s.locks.take}
	if s.Storage.Store == nil || len(slots) < 2 {
		return ahead
	}
	ahead.results = make([]chan lockResult, len(slots))
	queues := map[string][]int{}
	for i, slot := range slots {
		task := slot.Task
		if (task.OneServer || task.WithoutOverlapping) && s.admission.refusal(slot) == "" {
			ahead.results[i] = make(chan lockResult, 1)
			queues[task.Mutex] = append(queues[task.Mutex], i)
		}
	}
	results := slices.Clone(ahead.results) // of and release clear their places
	for _, queue := range queues {
		go func() {
			for _, i := range queue {
				record := s.newRecord(slots[i])
				lock, reason := s.locks.take(&record, slots[i])
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
		result := <-a.results[i]
		a.results[i] = nil
		*record = result.record
		return result.lock, result.reason
	}
}

// release gives back the locks of the slots from i up to j, which do not start.
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
