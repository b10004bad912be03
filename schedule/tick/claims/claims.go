// Package claims takes the locks and claims of the slots of a tick. It asks a store before the
// slots start, side by side: a hundred answers one after another are a hundred round trips. The
// locks of one machine are taken when a slot starts.
package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/run/lease"
	"sched/schedule/state"
	"sched/schedule/tick/admission"
	"sched/schedule/tick/memory"
)

// A Refusal says why a slot cannot have the locks that its run needs. The zero Refusal says
// that it has them.
type Refusal struct {
	Cause  Cause
	Reason string
	Kind   outcome.Kind
	Err    error // with Held and Unknown
}

// A Cause is what keeps a slot from running.
type Cause int

const (
	None    Cause = iota
	Held          // another run has the mutex or the seats, or waits for them: the task may wait, too
	NotOurs       // another run has the slot, or the tick is to end
	Unknown       // nobody knows who has the locks that the task needs
)

// A NotOursError says why a slot is not for this tick: another run has it, or the tick is to end.
type NotOursError struct {
	Reason string
	Kind   outcome.Kind
}

func (e NotOursError) Error() string { return e.Reason }

// A Tick is what the locks know of their tick.
type Tick struct {
	Storage     holding.Storage
	Fallback    *memory.Fallback
	Server      string          // this one
	Began       time.Time       // when the tick began
	NoNewStarts context.Context // when it is done, nothing is claimed any more
	Replay      bool            // the minute was given, not read
	Problem     func(format string, a ...any)
}

// Locks take the locks and claims of a tick. Safe for concurrent use.
type Locks struct {
	Tick
	Leases lease.Keeper          // of the locks whose runs have yet to begin
	Outage atomic.Pointer[error] // why the store was of no use when it was asked first

	SkippedUnknown atomic.Bool // a slot was skipped because the store did not answer
	SkippedHeld    atomic.Bool // a slot was skipped: other runs had its mutex or seats, or waited for them

	prefetches   sync.Map      // by slot: each prefetch whose lock was neither taken nor released
	asking       chan struct{} // has an element for each claim or lock for which the store is being asked
	reportOutage sync.Once
}

// New returns the locks of a tick.
func New(tick Tick) *Locks {
	return &Locks{Tick: tick, asking: make(chan struct{}, mutex.MaxConcurrent)}
}

// A prefetch is the claim, or the lock, or both, for which a tick asks a store before a slot
// starts.
type prefetch struct {
	row   state.Row    // of the run of the slot
	claim func() error // claims the slot, once
	// lock takes the locks of a background slot, once. The locks of a foreground slot are taken
	// when the slot starts.
	lock func() (mutex.Lock, Refusal)
}

// An Ask is a slot for which a store is to be asked, with the row of its run.
type Ask struct {
	Slot schedule.Slot
	Row  state.Row
}

// Prefetch begins to claim the slots of an instant for this server, and to take the locks of
// background slots, side by side. Slots that share a mutex or a pool are locked in their order. If
// this tick claims a slot and cannot start it, no other server runs the slot. If Take does not
// fetch a lock, ReleasePrefetched must.
func (l *Locks) Prefetch(asks []Ask) {
	last := map[string]*prefetch{} // the last background slot in each queue, by holding.QueuesOf
	for _, ask := range asks {
		slot, p := ask.Slot, &prefetch{row: ask.Row}
		var before []*prefetch // of earlier slots that share a mutex or a pool with this one
		for _, name := range holding.QueuesOf(holding.NeedOf(slot.Task)) {
			if other := last[name]; other != nil {
				before = append(before, other)
			}
			if slot.Task.Background {
				last[name] = p
			}
		}
		p.claim = sync.OnceValue(func() error { return l.claim(l.Storage, &p.row, slot) })
		p.lock = sync.OnceValues(func() (mutex.Lock, Refusal) {
			for _, other := range before {
				other.lock()
			}
			return l.takeNow(&p.row, slot)
		})
		l.prefetches.Store(slot, p)
		go func() {
			if slot.Task.OneServer {
				p.claim()
			}
			if slot.Task.Background {
				p.lock()
			}
		}()
	}
}

// prefetched returns what was asked for a slot ahead; nil for nothing.
func (l *Locks) prefetched(slot schedule.Slot) *prefetch {
	value, _ := l.prefetches.Load(slot)
	p, _ := value.(*prefetch)
	return p
}

// PrefetchedRun returns the id of the run for which the slot was asked ahead; "" for none.
func (l *Locks) PrefetchedRun(slot schedule.Slot) string {
	if p := l.prefetched(slot); p != nil {
		return p.row.ID
	}
	return ""
}

// ReleasePrefetched releases the locks that were taken ahead for background slots that did not
// start.
func (l *Locks) ReleasePrefetched(slots []schedule.Slot) {
	mutex.Concurrently(len(slots), func(i int) {
		if p := l.prefetched(slots[i]); p != nil {
			lock, _ := p.lock()
			l.prefetches.Delete(slots[i])
			if lock != nil {
				l.Leases.Drop(lock)
				lock.Release(context.Background())
			}
		}
	})
}

// Take claims a slot and takes the mutex and a seat, as far as its task asks for them, and notes in
// the row what it took. The lock is nil for a task that needs none.
func (l *Locks) Take(row *state.Row, slot schedule.Slot) (lock mutex.Lock, refusal Refusal) {
	// Of a foreground slot only the claim is prefetched: claimAndAcquire uses that.
	if p := l.prefetched(slot); p != nil && slot.Task.Background {
		lock, refusal = p.lock()
		l.prefetches.Delete(slot)
		*row = p.row
		return lock, refusal
	}
	return l.takeNow(row, slot)
}

// takeNow is Take for a slot whose locks were not prefetched.
func (l *Locks) takeNow(row *state.Row, slot schedule.Slot) (mutex.Lock, Refusal) {
	task := slot.Task
	if !task.NeedsLocks() {
		return nil, Refusal{}
	}
	lock, err := l.claimAndAcquire(l.Storage, row, slot)
	if storage, fellBack := l.Fallback.OpenFor(err); fellBack {
		lock, err = l.claimAndAcquire(storage, row, slot)
	}
	refusal := RefusalOf(task, err)
	if refusal.Cause == Unknown {
		l.noteOutage(task, refusal.Err)
		if task.RunWhenStoreDown {
			lock, refusal = l.takeAlone(row, slot, refusal.Err)
		}
	}
	l.Leases.Keep(lock)
	return lock, refusal
}

// noteOutage notes and reports that the store did not answer for a slot. A store whose servers
// disagree is up, and is no outage.
func (l *Locks) noteOutage(task *schedule.Task, why error) {
	if errors.Is(why, mutex.ErrSplit) {
		return
	}
	l.Outage.CompareAndSwap(nil, &why)
	if task.WaitWhenStoreDown { // a slot that waits is reported by itself, once
		return
	}
	l.reportOutage.Do(func() {
		l.Problem("%v; until that is over tasks that need a lock are skipped,"+
			" or run without one if they say store_down: run", why)
	})
}

// takeAlone takes the locks of this machine alone, for a task that runs without an answer of the
// store. On this machine nothing may overlap.
func (l *Locks) takeAlone(row *state.Row, slot schedule.Slot, why error) (mutex.Lock, Refusal) {
	row.Notes = append(row.Notes, fmt.Sprintf("runs without its lock: %v", why))
	lock, err := l.claimAndAcquire(holding.Storage{Dir: l.Storage.Dir, DB: l.Storage.DB}, row, slot)
	refusal := RefusalOf(slot.Task, err)
	if refusal.Cause == Unknown {
		return lock, Refusal{}
	}
	return lock, refusal
}

// RefusalOf returns what an error of claimAndAcquire means for a slot.
func RefusalOf(task *schedule.Task, err error) Refusal {
	reason, kind, held := holding.HeldReason(task, err)
	other, taken := errors.AsType[NotOursError](err)
	switch {
	case err == nil:
		return Refusal{}
	case held:
		return Refusal{Cause: Held, Reason: reason, Kind: kind, Err: err}
	case taken:
		return Refusal{Cause: NotOurs, Reason: other.Reason, Kind: other.Kind}
	}
	return Refusal{Cause: Unknown, Kind: outcome.StoreDown, Reason: unknownReason(task, err), Err: err}
}

// claimAndAcquire claims the slot and acquires the mutex and a seat in one storage.
func (l *Locks) claimAndAcquire(storage holding.Storage, row *state.Row, slot schedule.Slot) (mutex.Lock, error) {
	claim := func() error {
		// The answer of a prefetch is about the tick's own storage. In another storage the slot is
		// claimed anew; the store knows by the run that the claim is ours.
		isOwn := storage.DB == l.Storage.DB && storage.Store != nil
		if p := l.prefetched(slot); p != nil && isOwn {
			return p.claim()
		}
		return l.claim(storage, row, slot)
	}
	acquire := func() (mutex.Holding, error) { return l.acquire(storage, slot.Task, holding.NewHolder(*row)) }
	held, err := schedule.TakeLocks(slot.Task, claim, acquire)
	if err == nil {
		row.Locked, row.Seat = held.Mutex, held.Seat
	}
	return held.Lock, err
}

// acquire acquires the mutex and a seat for a task in one storage.
func (l *Locks) acquire(storage holding.Storage, task *schedule.Task, holder mutex.Holder) (mutex.Holding, error) {
	ctx, need := context.Background(), holding.NeedOf(task)
	if task.CatchesUp { // it waits for its turn even if the mutex is free
		return mutex.Holding{}, &mutex.HeldError{Name: need.Mutex}
	}
	if task.MayQueue {
		if err := storage.Behind(need); errors.As(err, new(*holding.BehindError)) {
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

// preferredHeadStart is how long a server leaves a slot to the servers that its task prefers.
const preferredHeadStart = time.Second

// claim claims a slot for a run, in one storage. After any error but a NotOursError nobody knows
// whether the slot is claimed.
func (l *Locks) claim(storage holding.Storage, row *state.Row, slot schedule.Slot) error {
	if storage.Store != nil {
		if wait := l.waitForPreferred(slot); wait > 0 {
			clock.Wait(l.NoNewStarts, wait)
		}
		done := l.beginAsking()
		defer done()
	}
	if l.NoNewStarts.Err() != nil {
		return NotOursError{Reason: admission.WhyDone(l.NoNewStarts)}
	}
	err := storage.Mutexes().Claim(context.Background(), slot.ClaimKey(), slot.ClaimedUntil(), holding.NewHolder(*row))
	if held, ok := errors.AsType[*mutex.HeldError](err); ok {
		return NotOursError{ClaimReason(slot.Task, held.Holder, l.Server), outcome.Elsewhere}
	}
	return err
}

// ClaimReason is why server skips a slot that the holder, who may be unknown, has claimed.
func ClaimReason(task *schedule.Task, holder mutex.Holder, server string) string {
	switch {
	case holder.Run == "":
		return "another tick had this slot, some time ago"
	case holder.Host != "" && holder.Host != server:
		return "another server has this slot " + holder.Text(holding.ZoneOf(task))
	}
	return "another tick has this slot " + holder.Text(holding.ZoneOf(task))
}

// waitForPreferred returns how long this server still leaves a slot to the servers that its task
// prefers.
func (l *Locks) waitForPreferred(slot schedule.Slot) time.Duration {
	preferred := slot.Task.Prefer
	if l.Replay || len(preferred) == 0 || slices.Contains(preferred, l.Server) {
		return 0
	}
	return min(preferredHeadStart, humanize.Later(l.Began, slot.At).Add(preferredHeadStart).Sub(clock.Now()))
}

// beginAsking waits until the store may be asked for one more claim or lock. The caller calls done
// when the store has answered.
func (l *Locks) beginAsking() (done func()) {
	l.asking <- struct{}{}
	return func() { <-l.asking }
}

// WaitsAlready returns a text about the run of a task that waits for its turn; "" if no run of the
// task waits.
func WaitsAlready(db *state.DB, task *schedule.Task) string {
	waiting, ok, err := db.Runs().NewestQueued(context.Background(), task.Name)
	if !ok || err != nil {
		return ""
	}
	holder := holding.HolderOf(waiting)
	holder.Since = waiting.Wait.Since
	waited := max(0, clock.Now().Sub(holder.Since))
	return fmt.Sprintf("already waiting for %s, %s", humanize.Duration(waited), holder.Text(holding.ZoneOf(task)))
}
