// Package lease renews the leases of locks that runs hold in a store, as long as the process that
// waits for the run lives. A loss is noted, or stops the command in time. The age of a lease is
// counted by clock.Steady, in each process of the run alike.
package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// errLost is why a command is stopped if its task says on_lost_lease: stop.
var errLost = errors.New("since its lease was lost")

const (
	renewals     = 3                       // of a lease in its time, so that the lease outlives a renewal that fails
	renewTimeout = 1500 * time.Millisecond // of one renewal: shorter than the time between two

	// lookEvery is how often a lease is looked at if its command must stop before it ends. A single
	// timer would come late: timers stand still while the machine sleeps.
	lookEvery = time.Second

	// forever is the age of a lease that is lost.
	forever = time.Duration(math.MaxInt64)
)

// A Keeper keeps the leases of locks whose runs have yet to be started. The renewals end with this
// process: the lock of a run that nobody watches expires. Safe for concurrent use; nil keeps none.
type Keeper struct{ renewers sync.Map } // by lock

// Keep renews the lease of a lock until Drop, or until the run renews it itself. If the lease was
// lost meanwhile, the run finds out before it starts the command.
func (s *Keeper) Keep(lock mutex.Lock) {
	if s != nil && isLease(lock) {
		l := &Renewer{
			Terms:     Terms{Lock: lock, Note: func(string) {}, Zone: time.UTC},
			held:      lock.LeaseBegan(),
			unstarted: true,
			cancel:    func(error) {},
		}
		l.begin()
		s.renewers.Store(lock, l)
	}
}

// Drop ends what Keep began, for a lock that was released or that another process has now.
func (s *Keeper) Drop(lock mutex.Lock) {
	if s == nil {
		return
	}
	if l, found := s.renewers.LoadAndDelete(lock); found {
		l.(*Renewer).End()
	}
}

func isLease(lock mutex.Lock) bool { return lock != nil && lock.Lease() > 0 }

// Terms are a lock, and what its renewals mean for the run.
type Terms struct {
	Lock mutex.Lock     // nil if the task needs none
	Note func(string)   // adds a note to the row, at once
	Stop bool           // a loss stops the command (on_lost_lease: stop)
	Zone *time.Location // of the times in notes

	Adopted bool // the supervisor that renewed it was killed: it must be renewed at once
	Unknown bool // it must be renewed before a command is started

	// Renewed writes down when the last renewal began, for a process that takes over; nil: nobody
	// asks. Began is what a killed supervisor wrote down last. If Stop and Adopted are set, the
	// command stops in time before a lease that began then ends, or at the boot for the zero time.
	Renewed func(began time.Time)
	Began   time.Time
}

// A Renewer is the lease of a run's lock while this process waits for the run. For a lock that is
// no lease it does nothing.
type Renewer struct {
	Terms
	unstarted bool // its run has yet to be started: see Keep
	cancel    context.CancelCauseFunc
	until     context.Context // done when the run does not need its lock any more; nil: see hasLease
	end       func()

	mu     sync.Mutex
	held   time.Time // when the lease began that is held, by clock.Steady; zero: see isHeld
	killBy time.Time // when a command that stopInTime stopped is killed; else zero
	lost   []string  // the notes of the row about each loss
}

// Renew renews the lease of a lock until End is called. The context that it returns ends when the
// lease is lost, if that stops the command.
func (s *Keeper) Renew(ctx context.Context, terms Terms) (context.Context, *Renewer) {
	if !isLease(terms.Lock) {
		return ctx, &Renewer{cancel: func(error) {}}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &Renewer{Terms: terms, cancel: cancel}
	switch {
	case terms.Unknown:
	case terms.Stop && terms.Adopted:
		l.held = terms.Began
		if l.held.IsZero() {
			l.held = time.Unix(0, 0) // the boot, by clock.Steady
		}
	default:
		l.held = terms.Lock.LeaseBegan()
	}
	s.Drop(terms.Lock)
	l.begin()
	return ctx, l
}

// hasLease reports whether the lock is a lease. Else there is nothing to renew, and nothing to
// lose.
func (l *Renewer) hasLease() bool { return l.until != nil }

// isHeld reports whether the lease is known to be held: it was not lost, and a renewal has found it
// if it was Unknown. The caller has mu.
func (l *Renewer) isHeld() bool { return !l.held.IsZero() }

func (l *Renewer) begin() {
	l.until, l.end = context.WithCancel(context.Background())
	if l.Adopted {
		go l.renew()
	}
	go l.run()
}

// run renews the lease until End. A renewal that hangs delays no look.
func (l *Renewer) run() {
	renew, look := time.NewTicker(l.Lock.Lease()/renewals), time.NewTicker(min(lookEvery, l.margin()/5))
	defer renew.Stop()
	defer look.Stop()
	if !l.Stop {
		look.Stop()
	}
	for {
		select {
		case <-l.until.Done():
			return
		case <-renew.C:
			go l.renew()
		case <-look.C:
			l.stopInTime()
		}
	}
}

// renew renews the lease once. An unstarted lease that is over is not renewed: that would take it
// again, and the run would not find out.
func (l *Renewer) renew() error {
	if l.unstarted && l.age() >= l.Lock.Lease() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	begun := clock.Steady()
	err := l.Lock.Renew(ctx)
	l.judge(begun, err)
	if err == nil && l.Renewed != nil && l.until.Err() == nil {
		l.Renewed(begun)
	}
	return err
}

// End ends the renewals, and returns the notes for the row.
func (l *Renewer) End() []string {
	l.cancel(nil)
	if l.hasLease() {
		l.end()
	}
	return l.Noted()
}

// Noted returns the notes for the row so far.
func (l *Renewer) Noted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lost)
}

// judge takes the answer to a renewal that was begun at the given time. A lease that could not be
// renewed for its whole time is lost: another run may have it.
func (l *Renewer) judge(begun time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.until.Err() != nil:
	case err == nil:
		l.held = begun
	case errors.As(err, new(*mutex.LostError)):
		l.lose(err)
	case begun.Sub(l.held) > l.Lock.Lease():
		l.lose(fmt.Errorf("the lease could not be renewed for %s: %w", l.Lock.Lease(), err))
	}
}

// lose notes the loss, once until the lease is held again
// (docs/internals/decisions.md#a-lost-lease-may-be-no-loss).
func (l *Renewer) lose(err error) {
	if !l.isHeld() {
		return
	}
	l.held = time.Time{}
	text, zone := err.Error(), cmp.Or(l.Zone, time.UTC)
	if other, ok := errors.AsType[*mutex.LostError](err); ok {
		text = other.Text(zone)
	}
	lost := fmt.Sprintf("lost its lock at %s: %s", clock.Now().In(zone).Format("15:04:05"), text)
	l.Note(lost)
	l.lost = append(l.lost, lost)
	if l.Stop {
		l.cancel(errLost)
	}
}

// margin returns how long before the end of a lease its command is stopped, or not started any
// more.
func (l *Renewer) margin() time.Duration { return l.Lock.Lease() / 4 }

// stopInTime stops the command when the lease is nearly over: then another run may begin.
func (l *Renewer) stopInTime() {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.Lock.Lease() - clock.Steady().Sub(l.held)
	if l.until.Err() != nil || !l.isHeld() || left > l.margin() {
		return
	}
	l.killBy = time.Now().Add(left - l.margin()/5)
	ends := fmt.Sprintf("its lease ends in %s", left.Round(100*time.Millisecond))
	if left <= 0 {
		ends = "its lease may have ended"
	}
	l.lose(fmt.Errorf("%s, and could not be renewed", ends))
}

// KillAfter returns how long a command may take to end by itself: as long as its task says, but no
// longer than its lease lasts.
func (l *Renewer) KillAfter(ofTask time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killBy.IsZero() {
		return ofTask
	}
	return min(ofTask, max(0, time.Until(l.killBy)))
}

// HeldToStart returns why a command must not be started now, because its lock may be lost; "" if it
// may. It renews a lease that was not renewed in time: this process may have stood still.
func (l *Renewer) HeldToStart() (lost string) {
	if !l.hasLease() || l.age() <= l.Lock.Lease()/renewals {
		return ""
	}
	err := l.renew()
	switch age := l.age(); {
	case age == forever:
		return fmt.Sprintf("its lock cannot be told to be held: %v", err)
	case age > l.Lock.Lease()-l.margin():
		return "its lease is nearly over, and the store does not renew it"
	}
	return ""
}

// age returns how long ago the lease began that is held.
func (l *Renewer) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isHeld() {
		return forever
	}
	return clock.Steady().Sub(l.held)
}

// Began returns when the lease began that is held, if a loss stops the command; else zero.
func (l *Renewer) Began() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.Stop {
		return time.Time{}
	}
	return l.held
}
