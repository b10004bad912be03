// Package lease keeps the leases of locks that runs hold in a store: they are renewed as long as the process that waits for the run
// lives, and what is lost is noted, or stops the command in time.
package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// errLost is why a command is stopped whose task says on_lost_lease: stop.
var errLost = errors.New("since its lease was lost")

// renewals is how often a lease is renewed in its time, so that it outlives a renewal that fails.
const renewals = 3

// renewTimeout bounds one renewal. It is shorter than the time between two.
const renewTimeout = 1500 * time.Millisecond

// Leases are the leases of the locks of all runs that this process waits for. They are renewed together, with one round trip. They
// end with this process, so that the lock of a run that nobody watches expires. Safe for concurrent use.
type Leases struct {
	mu       sync.Mutex
	all      map[mutex.Lock]*Renewer
	renewing bool // run is at work
}

// Keep renews the lease of a lock whose run has yet to be started, until Drop, or until the run renews it itself. A lock that is no
// lease, and none (nil), are left alone. What is lost meanwhile is found out before the command is started.
func (s *Leases) Keep(lock mutex.Lock) {
	if s != nil && lock != nil && lock.Lease() > 0 {
		s.add(&Renewer{leases: s, lock: lock, held: lock.Leased(), kept: true, note: func(string) {}})
	}
}

// Drop ends what Keep began, for a lock that was released or that another process has now.
func (s *Leases) Drop(lock mutex.Lock) {
	if s != nil && lock != nil {
		s.remove(lock)
	}
}

// add begins to renew a lease.
func (s *Leases) add(l *Renewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[mutex.Lock]*Renewer{}
	}
	s.all[l.lock] = l
	if !s.renewing {
		s.renewing = true
		go s.run(l.lock.Lease() / renewals) // which is the same for all: they are in one store
	}
}

func (s *Leases) remove(lock mutex.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, lock)
}

// run renews the leases as long as there are any.
func (s *Leases) run(every time.Duration) {
	for wait := every; ; {
		time.Sleep(wait)
		begun := time.Now()
		s.mu.Lock()
		all := slices.Collect(maps.Values(s.all))
		s.renewing = len(all) > 0
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		renew(all)
		wait = max(0, every-time.Since(begun))
	}
}

// renew renews leases once.
func renew(all []*Renewer) {
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	// A lock whose run has not begun is not taken again once its lease is over: whoever starts the command must find out.
	all = slices.DeleteFunc(all, func(l *Renewer) bool { return l.kept && l.age() >= l.lock.Lease() })
	var locks []mutex.Lock
	for _, l := range all {
		locks = append(locks, l.lock)
	}
	begun := time.Now()
	for i, err := range mutex.RenewAll(ctx, locks) {
		all[i].judge(begun, err)
	}
}

// A Renewer is the lease of a run's lock while this process waits for the run. A nil one stands for a lock that is no lease.
type Renewer struct {
	leases      *Leases
	lock        mutex.Lock
	note        func(string) // of the run: written down at once
	stopCommand func()       // when the lease is lost; nil to go on without it
	release     func()
	kept        bool // its run has yet to be started: see Keep

	mu     sync.Mutex
	ended  bool        // the run does not need its lock any more
	held   time.Time   // when the lease began that is held; zero while it is lost
	over   *time.Timer // calls stopInTime; nil where the command is not to be stopped
	killBy time.Time   // when a command that stopInTime stopped is killed; else zero
	answer error       // to the last renewal
	lost   []string    // the notes of the record about each loss
}

// Of is a lock, and what its renewals mean for the run.
type Of struct {
	Lock mutex.Lock   // nil where the task needs none
	Note func(string) // writes a note of the record down, at once
	Stop bool         // whether a loss is to stop the command (on_lost_lease: stop)

	Adopted bool // nobody has renewed it since the supervisor of the run was killed, or before
	Unknown bool // whether it is held must be known anew before a command is started
}

// Renew renews the lease of a lock until End is called; nil is a set of its own. The context that it returns ends when the lease is
// lost, if that is to stop the command. The renewer is nil for a lock that is no lease, and for none.
func (s *Leases) Renew(ctx context.Context, of Of) (context.Context, *Renewer) {
	if of.Lock == nil || of.Lock.Lease() == 0 {
		return ctx, nil
	}
	if s == nil {
		s = &Leases{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &Renewer{leases: s, lock: of.Lock, note: of.Note, held: of.Lock.Leased(), release: func() { cancel(nil) }}
	if of.Unknown {
		l.held = time.Time{}
	}
	if of.Stop {
		l.stopCommand = func() { cancel(errLost) }
		l.mu.Lock()
		l.over = time.AfterFunc(lookEvery, l.stopInTime)
		l.mu.Unlock()
	}
	if of.Adopted {
		go renew([]*Renewer{l})
	}
	s.add(l)
	return ctx, l
}

// End ends the renewals, and returns the notes for the record.
func (l *Renewer) End() []string {
	if l == nil {
		return nil
	}
	l.leases.remove(l.lock)
	l.mu.Lock()
	l.ended = true
	if l.over != nil {
		l.over.Stop()
	}
	l.mu.Unlock()
	l.release()
	return l.Noted()
}

// Noted returns the notes for the record so far.
func (l *Renewer) Noted() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lost)
}

// judge takes the answer to a renewal that was begun at the given time. When renewals have failed for the time of a whole lease, it
// is lost: another run may have it.
func (l *Renewer) judge(begun time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lost *mutex.LostError
	l.answer = err
	switch {
	case l.ended:
	case err == nil:
		l.held = begun
	case errors.As(err, &lost):
		l.lose(err)
	case mutex.Elapsed(l.held, begun) > l.lock.Lease():
		l.lose(fmt.Errorf("the lease could not be renewed for %s: %w", l.lock.Lease(), err))
	}
}

// lose notes the loss, once until the lease is held again (docs/internals/decisions.md#a-lost-lease-may-be-no-loss).
func (l *Renewer) lose(err error) {
	if l.held.IsZero() {
		return
	}
	l.held = time.Time{}
	lost := fmt.Sprintf("lost its lock at %s: %v", clock.Now().Format("15:04:05"), err)
	l.note(lost)
	l.lost = append(l.lost, lost)
	if l.stopCommand != nil {
		l.stopCommand()
	}
}

// lookEvery is how often a lease is looked at whose command is to be stopped before it ends. Timers stand still while the machine
// sleeps, so a single one would come late.
const lookEvery = time.Second

// margin is how long before the end of a lease its command is stopped, or not started any more.
func (l *Renewer) margin() time.Duration { return l.lock.Lease() / 4 }

// stopInTime stops the command when the lease is nearly over: when it has ended another run may begin.
func (l *Renewer) stopInTime() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.held.IsZero() {
		return
	}
	left := l.lock.Lease() - mutex.Elapsed(l.held, time.Now())
	if left > l.margin() {
		l.over.Reset(min(left-l.margin(), lookEvery))
		return
	}
	l.killBy = time.Now().Add(left - l.margin()/5)
	l.lose(fmt.Errorf("its lease ends in %s, and could not be renewed", left.Round(100*time.Millisecond)))
}

// KillAfter is how long a command may take to end by itself that was told to: as long as its task says, but no longer than its
// lease lasts.
func (l *Renewer) KillAfter(atMost time.Duration) time.Duration {
	if l == nil {
		return atMost
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killBy.IsZero() {
		return atMost
	}
	return min(atMost, max(0, time.Until(l.killBy)))
}

// HeldToStart returns "" when the lock is held long enough for a command to be started now, and otherwise why not. What is older
// than the time between two renewals is renewed first: this process may have stood still, or others have taken long to bring the run
// to it.
func (l *Renewer) HeldToStart() (lost string) {
	if l == nil || l.age() <= l.lock.Lease()/renewals {
		return ""
	}
	renew([]*Renewer{l})
	switch age := l.age(); {
	case age == forever:
		return "its lock cannot be told to be held: " + l.newest().Error()
	case age > l.lock.Lease()-l.margin():
		return "its lease is nearly over, and the store does not renew it"
	}
	return ""
}

// forever is the age of a lease that is lost, or that began in the future: the clock was set back, and nobody knows how old it is.
const forever = time.Duration(math.MaxInt64)

// age is how long ago the lease began that is held.
func (l *Renewer) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	age := mutex.Elapsed(l.held, time.Now())
	if l.held.IsZero() || age < 0 {
		return forever
	}
	return age
}

// newest returns what the last renewal said.
func (l *Renewer) newest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answer
}
