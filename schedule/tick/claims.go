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
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// This file is about the claims and locks for which a tick asks a store before the slots start,
// side by side: a hundred answers one after another are a hundred round trips. The locks of one
// machine are taken when a slot starts.

// preferredHeadStart is how long a server leaves a slot to the servers that its task prefers.
const preferredHeadStart = time.Second

// A prefetch is the claim, or the lock, or both, for which a tick asks a store before a slot
// starts.
type prefetch struct {
	locks  *locks
	slot   schedule.Slot
	row    state.Row    // of the run of the slot
	before []*prefetch  // of earlier slots that share a mutex or a pool with this one
	claim  func() error // claims the slot, once
	// lock takes the locks of a background slot, once. The locks of a foreground slot are taken
	// when the slot starts.
	lock func() (mutex.Lock, lockRefusal)
}

// prefetch begins to claim the slots of an instant for this server, and to take the locks of
// background slots, side by side. Slots that share a mutex or a pool are locked in their order. If
// this tick claims a slot and cannot start it, no other server runs the slot. If take does not
// fetch a lock, releasePrefetched must.
func (l *launcher) prefetch(slots []schedule.Slot) {
	last := map[string]*prefetch{} // the last background slot in each queue, by run.QueuesOf
	for _, slot := range slots {
		if !l.asksAhead(slot) {
			continue
		}
		p := &prefetch{locks: l.locks, slot: slot, row: l.newRow(slot)}
		p.claim, p.lock = sync.OnceValue(p.claimNow), sync.OnceValues(p.lockNow)
		for _, name := range run.QueuesOf(run.NeedOf(slot.Task)) {
			if other := last[name]; other != nil {
				p.before = append(p.before, other)
			}
			if slot.Task.Background {
				last[name] = p
			}
		}
		l.locks.prefetches.Store(slot, p)
		go p.askStore()
	}
}

// asksAhead reports whether the store is to be asked ahead for a slot: not for slots that may not
// start at this moment, and not for slots with condition commands, which are claimed after a yes.
func (l *launcher) asksAhead(slot schedule.Slot) bool {
	task := slot.Task
	asks := task.OneServer || task.Background && task.HoldsWhileRunning()
	if !asks || l.tick.Storage.Store == nil || len(task.ConditionCommands) > 0 || l.locks.prefetched(slot) != nil {
		return false
	}
	reason, _ := l.admission.refusal(slot)
	return reason == ""
}

// askStore asks the store for the claim and the locks.
func (p *prefetch) askStore() {
	if p.slot.Task.OneServer {
		p.claim()
	}
	if p.slot.Task.Background {
		p.lock()
	}
}

func (p *prefetch) claimNow() error { return p.locks.claim(p.locks.tick.Storage, &p.row, p.slot) }

func (p *prefetch) lockNow() (mutex.Lock, lockRefusal) {
	for _, other := range p.before {
		other.lock()
	}
	return p.locks.takeNow(&p.row, p.slot)
}

// prefetched returns what was asked for a slot ahead; nil for nothing.
func (l *locks) prefetched(slot schedule.Slot) *prefetch {
	value, _ := l.prefetches.Load(slot)
	p, _ := value.(*prefetch)
	return p
}

// A notOursError says why a slot is not for this tick: another run has it, or the tick is to end.
type notOursError struct {
	reason string
	kind   outcome.Kind
}

func (e notOursError) Error() string { return e.reason }

// claim claims a slot for a run, in one storage. After any error but a notOursError nobody knows
// whether the slot is claimed.
func (l *locks) claim(storage run.Storage, row *state.Row, slot schedule.Slot) error {
	if storage.Store != nil {
		if wait := l.waitForPreferred(slot); wait > 0 {
			clock.Wait(l.noNewStarts, wait)
		}
		done := l.beginAsking()
		defer done()
	}
	if l.noNewStarts.Err() != nil {
		return notOursError{reason: whyDone(l.noNewStarts)}
	}
	err := storage.Mutexes().Claim(context.Background(), slot.ClaimKey(), slot.ClaimedUntil(), run.NewHolder(*row))
	if held, ok := errors.AsType[*mutex.HeldError](err); ok {
		return notOursError{claimReason(slot.Task, held.Holder), outcome.Elsewhere}
	}
	return err
}

// claimReason is the reason of a slot that was skipped because the holder has claimed it. The
// holder may be unknown.
func claimReason(task *schedule.Task, holder mutex.Holder) string {
	if holder.Run == "" {
		return "another tick had this slot, some time ago"
	}
	return "another tick has this slot " + holder.Text(run.ZoneOf(task))
}

// waitForPreferred returns how long this server still leaves a slot to the servers that its task
// prefers.
func (l *locks) waitForPreferred(slot schedule.Slot) time.Duration {
	preferred := slot.Task.Prefer
	if l.tick.Replay || len(preferred) == 0 || slices.Contains(preferred, l.tick.Host.Server) {
		return 0
	}
	return min(preferredHeadStart, humanize.Later(l.began, slot.At).Add(preferredHeadStart).Sub(clock.Now()))
}

// beginAsking waits until the store may be asked for one more claim or lock. The caller calls done
// when the store has answered.
func (l *locks) beginAsking() (done func()) {
	l.asking <- struct{}{}
	return func() { <-l.asking }
}

// releasePrefetched releases the locks that were taken ahead for background slots that did not
// start.
func (l *locks) releasePrefetched(slots []schedule.Slot) {
	mutex.Concurrently(len(slots), func(i int) {
		if p := l.prefetched(slots[i]); p != nil {
			lock, _ := p.lock()
			l.prefetches.Delete(slots[i])
			if lock != nil {
				l.leases.Drop(lock)
				lock.Release(context.Background())
			}
		}
	})
}
