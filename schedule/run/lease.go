package run

import (
	"context"
	"errors"
	"fmt"
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

// A leaseRenewer renews the lease of a run's lock while this process waits for the run. It ends with this process, so that
// the lock of a run without a supervisor expires. A nil one stands for a lock that is no lease.
type leaseRenewer struct {
	lock        mutex.Lock
	note        func(string) // of the run: written down at once
	stopCommand func()       // when the lease is lost; nil to go on without it

	over context.Context // done when the run does not need its lock any more
	stop func()
	done sync.WaitGroup
	held time.Time // when the lease began that is held; zero while it is lost

	mu   sync.Mutex
	lost []string // the notes of the record about each loss
}

// renewLease renews the lease of the run's lock until end is called. The context that it returns ends when the lease is
// lost, if the task has on_lost_lease: stop.
func (r *Run) renewLease(ctx context.Context) (context.Context, *leaseRenewer) {
	if r.lock == nil || r.lock.Lease() == 0 {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over, stop := context.WithCancel(context.Background())
	l := &leaseRenewer{lock: r.lock, note: r.note, over: over, held: clock.Now().Round(0)}
	l.stop = func() { stop(); cancel(nil) }
	if r.task.StopOnLostLease {
		l.stopCommand = func() { cancel(errLostLease) }
	}
	l.done.Go(l.run)
	return ctx, l
}

// end ends the renewals, and returns the notes for the record.
func (l *leaseRenewer) end() []string {
	if l == nil {
		return nil
	}
	l.stop()
	l.done.Wait()
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

func (l *leaseRenewer) run() {
	every := time.NewTicker(l.lock.Lease() / renewals)
	defer every.Stop()
	for {
		select {
		case <-l.over.Done():
			return
		case <-every.C:
			l.renew()
		}
	}
}

// renew renews the lease once. When that has failed for the time of a whole lease, it is lost: another run may have it.
func (l *leaseRenewer) renew() {
	ctx, cancel := context.WithTimeout(l.over, renewTimeout)
	defer cancel()
	begun := clock.Now().Round(0) // the wall clock goes on while the machine sleeps
	err := l.lock.Renew(ctx)
	var lost *mutex.LostError
	switch {
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
	l.mu.Lock()
	l.lost = append(l.lost, lost)
	l.mu.Unlock()
	if l.stopCommand != nil {
		l.stopCommand()
	}
}
