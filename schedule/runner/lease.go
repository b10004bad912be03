package runner

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

// renewals is how often a lease is renewed in its life, so that it outlives a few that fail.
const renewals = 3

// renewTimeout bounds one renewal. It is shorter than the time between two.
const renewTimeout = 1500 * time.Millisecond

// A keeper renews the lease of a run's lock while this process waits for the run. It ends with the process:
// nobody renews the lease of a run that nobody watches. A nil keeper keeps a lock that is no lease.
type keeper struct {
	lock  mutex.Lock
	note  func(string) // writes it down at once
	alone func()       // stops the command when the lease is lost; nil to go on without it

	over context.Context // the run needs its lock no more
	stop func()
	done sync.WaitGroup
	held time.Time // when the lease began; zero while it is lost

	mu   sync.Mutex
	lost []string // what the record says of it
}

// keepLease renews the lease of the run's lock until end is called. The context ends with a lost lease if
// the task says so.
func (r *Run) keepLease(ctx context.Context) (context.Context, *keeper) {
	if r.lock == nil || r.lock.Lease() == 0 {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over, stop := context.WithCancel(context.Background())
	k := &keeper{lock: r.lock, note: r.note, over: over, held: clock.Now().Round(0)}
	k.stop = func() { stop(); cancel(nil) }
	if r.task.StopOnLostLease {
		k.alone = func() { cancel(errLostLease) }
	}
	k.done.Go(k.keep)
	return ctx, k
}

// end ends the renewals, and returns what there is to note.
func (k *keeper) end() []string {
	if k == nil {
		return nil
	}
	k.stop()
	k.done.Wait()
	return k.noted()
}

// noted returns what there is to note so far.
func (k *keeper) noted() []string {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.lost)
}

func (k *keeper) keep() {
	every := time.NewTicker(k.lock.Lease() / renewals)
	defer every.Stop()
	for {
		select {
		case <-k.over.Done():
			return
		case <-every.C:
			k.renew()
		}
	}
}

// renew renews the lease once. Where that fails for a whole lease it is lost: others may have it.
func (k *keeper) renew() {
	ctx, cancel := context.WithTimeout(k.over, renewTimeout)
	defer cancel()
	begun := clock.Now().Round(0) // the wall clock goes on while the machine sleeps
	err := k.lock.Renew(ctx)
	var lost *mutex.LostError
	switch {
	case err == nil:
		k.held = begun
	case errors.As(err, &lost):
		k.lose(err)
	case begun.Sub(k.held) > k.lock.Lease():
		k.lose(fmt.Errorf("the lease could not be renewed for %s: %w", k.lock.Lease(), err))
	}
}

// lose notes the loss, once for each time that the lease was held.
func (k *keeper) lose(err error) {
	if k.held.IsZero() {
		return
	}
	k.held = time.Time{}
	lost := fmt.Sprintf("lost its lock at %s: %v", clock.Now().Format("15:04:05"), err)
	k.note(lost)
	k.mu.Lock()
	k.lost = append(k.lost, lost)
	k.mu.Unlock()
	if k.alone != nil {
		k.alone()
	}
}
