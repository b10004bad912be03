package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// errLostLease is why a command is stopped whose task says on_lost_lease: stop.
var errLostLease = errors.New("since its lease was lost")

// renewals is how often a lease is renewed in its time, so that it outlives a renewal that fails.
const renewals = 3

// renewTimeout bounds one renewal. It is shorter than the time between two.
const renewTimeout = 1500 * time.Millisecond

// Leases are the leases of the locks of all runs that this process waits for. They are renewed together, with one round trip. They
// end with this process, so that the lock of a run that nobody watches expires. Safe for concurrent use.
type Leases struct {
	mu       sync.Mutex
	all      map[*leaseRenewer]bool
	renewing bool // run is at work
}

// add begins to renew a lease.
func (s *Leases) add(l *leaseRenewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*leaseRenewer]bool{}
	}
	s.all[l] = true
	if !s.renewing {
		s.renewing = true
		go s.run(l.lock.Lease() / renewals) // which is the same for all: they are in one store
	}
}

func (s *Leases) remove(l *leaseRenewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
}

// run renews the leases as long as there are any.
func (s *Leases) run(every time.Duration) {
	for {
		time.Sleep(every)
		s.mu.Lock()
		all := slices.Collect(maps.Keys(s.all))
		s.renewing = len(all) > 0
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		renew(all)
	}
}

// renew renews leases once.
func renew(all []*leaseRenewer) {
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	var locks []mutex.Lock
	for _, l := range all {
		locks = append(locks, l.lock)
	}
	begun := clock.Now().Round(0) // the wall clock goes on while the machine sleeps
	for i, err := range mutex.RenewAll(ctx, locks) {
		all[i].judge(begun, err)
	}
}

// A leaseRenewer is the lease of a run's lock while this process waits for the run. A nil one stands for a lock that is no lease.
type leaseRenewer struct {
	leases      *Leases
	lock        mutex.Lock
	note        func(string) // of the run: written down at once
	stopCommand func()       // when the lease is lost; nil to go on without it
	release     func()

	mu    sync.Mutex
	ended bool      // the run does not need its lock any more
	held  time.Time // when the lease began that is held; zero while it is lost
	lost  []string  // the notes of the record about each loss
}

// renewLease renews the lease of the run's lock until end is called. The context that it returns ends when the lease is
// lost, if the task has on_lost_lease: stop.
func (r *Run) renewLease(ctx context.Context) (context.Context, *leaseRenewer) {
	if r.lock == nil || r.lock.Lease() == 0 {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &leaseRenewer{leases: r.Leases, lock: r.lock, note: r.note, held: clock.Now().Round(0), release: func() { cancel(nil) }}
	if l.leases == nil {
		l.leases = &Leases{}
	}
	if r.task.StopOnLostLease {
		l.stopCommand = func() { cancel(errLostLease) }
	}
	if r.left != nil {
		go renew([]*leaseRenewer{l}) // nobody did since its supervisor was killed, or before
	}
	l.leases.add(l)
	return ctx, l
}

// end ends the renewals, and returns the notes for the record.
func (l *leaseRenewer) end() []string {
	if l == nil {
		return nil
	}
	l.leases.remove(l)
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.release()
	return l.noted()
}

// noted returns the notes for the record so far.
func (l *leaseRenewer) noted() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lost)
}

// judge takes the answer to a renewal that was begun at the given time. When renewals have failed for the time of a whole lease, it
// is lost: another run may have it.
func (l *leaseRenewer) judge(begun time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lost *mutex.LostError
	switch {
	case l.ended:
	case err == nil:
		l.held = begun
	case errors.As(err, &lost):
		l.lose(err)
	case begun.Sub(l.held) > l.lock.Lease():
		l.lose(fmt.Errorf("the lease could not be renewed for %s: %w", l.lock.Lease(), err))
	}
}

// lose notes the loss, once until the lease is held again (docs/decisions.md#a-lost-lease-may-be-no-loss).
func (l *leaseRenewer) lose(err error) {
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
