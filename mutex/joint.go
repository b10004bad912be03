package mutex

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"
)

// A jointLock is several locks of one run. The run loses all of them when it loses one.
type jointLock []Lock

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
