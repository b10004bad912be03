package mutex

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"
)

// Shared keeps mutexes in a store and with the kernel: a task never overlaps on its own machine.
type Shared struct {
	Local  Files
	Remote Store
}

// NewLocks returns the locks of the files, shared through a store if remote is not nil.
func NewLocks(local Files, remote Store) Locks {
	if remote == nil {
		return local
	}
	return Shared{local, remote}
}

// Acquire takes both locks or none. Release frees the store first: the next run here finds both
// free.
func (s Shared) Acquire(ctx context.Context, name string, holder Holder) (Lock, error) {
	local, err := s.Local.Acquire(ctx, name, holder)
	if err != nil {
		return nil, err
	}
	remote, err := s.acquireRemote(ctx, name, holder)
	if err != nil {
		local.Release(context.WithoutCancel(ctx))
		return nil, err
	}
	return Join(local, remote), nil
}

// acquireRemote takes the lock in the store, also from a run of this machine that is over. This
// process has the lock of the machine, so no process of that run takes its lock anew meanwhile.
func (s Shared) acquireRemote(ctx context.Context, name string, holder Holder) (Lock, error) {
	lock, err := s.Remote.Acquire(ctx, name, holder)
	held, isHeld := errors.AsType[*HeldError](err)
	if !isHeld || s.Local.Over == nil || !s.Local.Over(held.Holder.Run) {
		return lock, err
	}
	if s.Remote.Adopt(name, held.Holder, nil).Release(ctx) != nil {
		return nil, err
	}
	return s.Remote.Acquire(ctx, name, holder)
}

func (s Shared) Adopt(name string, holder Holder, inherited *os.File) Lock {
	return Join(s.Local.Adopt(name, holder, inherited), s.Remote.Adopt(name, holder, nil))
}

// Claim claims in the store first: a claim that the other servers do not see must not stay on this
// machine. The claim on this machine is for runs that go on without the store. Such a run may have
// it already.
func (s Shared) Claim(ctx context.Context, key string, until time.Time, holder Holder) error {
	if err := s.Remote.Claim(ctx, key, until, holder); err != nil {
		return err
	}
	return s.Local.Claim(ctx, key, until, holder)
}

// Break frees both locks, the one in the store first. A run on another machine keeps the lock of
// the kernel there. The result depends on both:
//
//	in the store    on this machine    result
//	broken          broken, or free    the holder in the store
//	broken          error              the error
//	free            broken             the holder on this machine
//	free            free, or error     that error
//	error           not tried          the error
func (s Shared) Break(ctx context.Context, name string) (Holder, error) {
	holder, err := s.Remote.Break(ctx, name)
	if err != nil && !errors.Is(err, ErrFree) {
		return Holder{}, err
	}
	localHolder, localErr := s.Local.Break(ctx, name)
	if err == nil && (localErr == nil || errors.Is(localErr, ErrFree)) {
		return holder, nil
	}
	return localHolder, localErr
}

// A jointLock is several locks of one run. The run loses all of them when it loses one.
type jointLock []Lock

// Join returns one lock that stands for several locks of one run; nil for no locks. A single lock
// is returned as it is.
func Join(locks ...Lock) Lock {
	switch len(locks) {
	case 0:
		return nil
	case 1:
		return locks[0]
	}
	joint := jointLock(locks)
	return &joint
}

func (l *jointLock) Inherit() (files []*os.File) {
	for _, lock := range *l {
		files = append(files, lock.Inherit()...)
	}
	return files
}

// Lease returns the lease of the locks that have one: locks of one store have the same.
func (l *jointLock) Lease() (lease time.Duration) {
	for _, lock := range *l {
		lease = max(lease, lock.Lease())
	}
	return lease
}

// LeaseBegan returns when the oldest of the leases began; zero if no lock is a lease.
func (l *jointLock) LeaseBegan() (first time.Time) {
	for _, lock := range *l {
		if leased := lock.LeaseBegan(); first.IsZero() || !leased.IsZero() && leased.Before(first) {
			first = leased
		}
	}
	return first
}

func (l *jointLock) Renew(ctx context.Context) error {
	errs := make([]error, len(*l))
	Concurrently(len(*l), func(i int) { errs[i] = (*l)[i].Renew(ctx) })
	return worst(errs)
}

func (l *jointLock) Describe(holder Holder) {
	for _, lock := range *l {
		lock.Describe(holder)
	}
}

func (l *jointLock) Release(ctx context.Context) error {
	var errs []error
	for _, lock := range slices.Backward(*l) {
		errs = append(errs, lock.Release(ctx))
	}
	return worst(errs)
}

// worst returns the error that decides: a *LostError, or else the first error.
func worst(errs []error) (first error) {
	for _, err := range errs {
		if errors.As(err, new(*LostError)) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
