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

var _ Locks = Shared{}

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
	remote, err := s.Remote.Acquire(ctx, name, holder)
	if err != nil {
		local.Release(context.WithoutCancel(ctx))
		return nil, err
	}
	return Join(local, remote), nil
}

func (s Shared) Adopt(name string, holder Holder, inherited *os.File) Lock {
	return Join(s.Local.Adopt(name, holder, inherited), s.Remote.Adopt(name, holder, nil))
}

// Claim claims in the store first: a claim that the other servers do not see must not stay on this
// machine. The one on this machine is for runs that go on without the store, and such a run may have it.
func (s Shared) Claim(ctx context.Context, key string, until time.Time, holder Holder) error {
	if err := s.Remote.Claim(ctx, key, until, holder); err != nil {
		return err
	}
	return s.Local.Claim(ctx, key, until, holder)
}

// Break frees both. The run on another machine keeps its lock of the kernel there.
func (s Shared) Break(ctx context.Context, name string) (Holder, error) {
	holder, err := s.Remote.Break(ctx, name)
	if err != nil && !errors.Is(err, ErrFree) {
		return Holder{}, err
	}
	local, lerr := s.Local.Break(ctx, name)
	if err == nil && (lerr == nil || errors.Is(lerr, ErrFree)) {
		return holder, nil
	}
	return local, lerr
}
