package mutex

import (
	"context"
	"errors"
	"os"
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
