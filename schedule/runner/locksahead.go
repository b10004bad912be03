package runner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/oneserver"
	"sched/schedule/outcome"
)

// lookAhead asks a store, with one request, which of the foreground slots other servers have claimed already. The others
// are claimed one by one right before they start: until then another server may claim them.
func (l *locks) lookAhead(slots []schedule.Slot) {
	var claims []string
	for _, slot := range slots {
		if slot.Task.OneServer {
			claims = append(claims, oneserver.Key(slot))
		}
	}
	if l.storage.Store != nil && len(claims) > 1 {
		claimed, _ := l.storage.Store.Claims(context.Background(), claims...) // without an answer each is asked for
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.claimed == nil {
			l.claimed = map[string]mutex.Holder{}
		}
		maps.Copy(l.claimed, claimed)
	}
}

// A look asks once for all slots of an instant at which it is the turn of other servers, when the first of them has waited: by then
// most are claimed, and one request says so where each would be one.
type look struct {
	slots []schedule.Slot
	once  sync.Once
}

// lookLater has those of the slots that wait for their turn asked for together then.
func (l *locks) lookLater(slots []schedule.Slot) {
	for _, slot := range slots {
		if l.turns.left(slot) == 0 {
			continue
		}
		l.mu.Lock()
		if l.looks == nil {
			l.looks = map[time.Time]*look{}
		}
		if l.looks[slot.At] == nil {
			l.looks[slot.At] = &look{}
		}
		l.looks[slot.At].slots = append(l.looks[slot.At].slots, slot)
		l.mu.Unlock()
	}
}

// awaitTurn waits until it is the turn of this server to claim the slot. The refusal says that another one has claimed it meanwhile, or
// that the tick is to end.
func (l *locks) awaitTurn(slot schedule.Slot) (no refusal) {
	waited, no := l.turns.await(slot)
	if !waited || no.reason != "" {
		return no
	}
	l.mu.Lock()
	look := l.looks[slot.At]
	l.mu.Unlock()
	if look != nil {
		look.once.Do(func() { l.lookAhead(look.slots) })
	}
	if holder, claimed := l.claimedAhead(slot); claimed {
		no.reason = oneserver.Taken(holder)
	}
	return no
}

// claimedAhead returns the holder of a claim that lookAhead found.
func (l *locks) claimedAhead(slot schedule.Slot) (holder mutex.Holder, claimed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	holder, claimed = l.claimed[oneserver.Key(slot)]
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
	no     refusal
}

// lockAhead asks a store for the locks of all slots at once: a hundred answers one after another are a hundred round trips.
// Slots with the same mutex or pool are asked for in their order (docs/decisions.md#locks-of-background-tasks-are-taken-ahead). The locks
// of this machine take microseconds, and are taken when a slot starts.
func (s *starter) lockAhead(slots []schedule.Slot) locksAhead {
	ahead := locksAhead{take: s.locks.take}
	if s.Storage.Store == nil || len(slots) < 2 {
		return ahead
	}
	ahead.results = make([]chan lockResult, len(slots))
	queues := queues{}
	for i, slot := range slots {
		task := slot.Task
		if task.Locks() && !s.admission.refuses(slot) {
			ahead.results[i] = make(chan lockResult, 1)
			queues.add(i, task)
		}
	}
	results := slices.Clone(ahead.results) // of and release clear their places
	for _, queue := range queues.all {
		go func() {
			for _, i := range queue {
				record := s.newRecord(slots[i])
				lock, no := s.locks.take(&record, slots[i])
				results[i] <- lockResult{record, lock, no}
			}
		}()
	}
	return ahead
}

// queues are slots whose locks are taken beside each other, those of one mutex or one pool in their order.
type queues struct {
	all  map[int][]int  // by the first slot of each
	byID map[string]int // the queue of a mutex or of a pool
}

// add puts slot i behind all those that have the mutex or the pool of its task: their queues become one.
func (q *queues) add(i int, task *schedule.Task) {
	if q.all == nil {
		q.all, q.byID = map[int][]int{}, map[string]int{}
	}
	into, slots, merged := i, []int(nil), 0
	ids := []string{task.Mutex}
	if task.Pool.Name != "" {
		ids = append(ids, task.Pool.Name+"#")
	}
	for _, id := range ids {
		if queue, known := q.byID[id]; known && q.all[queue] != nil {
			into = min(into, queue)
			slots = append(slots, q.all[queue]...)
			delete(q.all, queue)
			merged++
		}
	}
	slices.Sort(slots)
	q.all[into] = append(slots, i)
	if merged > 1 {
		for id, queue := range q.byID {
			if q.all[queue] == nil {
				q.byID[id] = into
			}
		}
	}
	for _, id := range ids {
		q.byID[id] = into
	}
}

// of returns how to take the lock of slot i.
func (a locksAhead) of(i int) takeLock {
	if a.results == nil || a.results[i] == nil {
		return a.take
	}
	return func(record *outcome.Record, _ schedule.Slot) (mutex.Lock, refusal) {
		result := <-a.results[i]
		a.results[i] = nil
		*record = result.record
		return result.lock, result.no
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
