// Package mutex keeps the runs of a task from overlapping, and gives a slot to one server only.
//
// A mutex is a name. A lock is a held mutex, and its holder is a run. A claim is a key that one run
// takes for all servers, and that is kept: it is never released.
//
// # Goals
//
//   - No lock is stale. Files lets the kernel keep a lock for exactly as long as a process of the run
//     lives. A store keeps it as a lease, which ends soon after the last renewal. Shared keeps both.
//   - A lock belongs to a run, not to a process: the process that acquires it is seldom the one that
//     releases it. Any process that knows the run can adopt its lock, and no other run can release it.
//   - Held and unknown are different answers. HeldError means that another run is known to be the
//     holder; every other error means that it is unknown whether there is one.
//   - No call waits for a lock. What does not answer costs two seconds: another process that stopped
//     while it opened a lock, or a store.
//
// # Non-goals
//
//   - Whether a task is due, or runs all the same when the answer is unknown: that is for the caller.
//   - Waiting for a lock, or an order among those who want it.
//   - Re-entrance: a run that holds a mutex does not get it a second time.
//   - A lease that fences. A run that was stopped for longer than its lease goes on beside the next
//     one until it learns of the loss.
//   - Making up for an outage: a slot that was skipped because the store did not answer is not run later.
//   - A store that forgets: what it has lost is granted again. A run that lives notes the loss.
package mutex

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrFree says that there was nothing to break.
var ErrFree = errors.New("nobody holds it")

// Locks is where the mutexes of a schedule live. It is safe for concurrent use.
type Locks interface {
	// Acquire takes the mutex name for holder. It returns *HeldError at once when another run has it.
	// Any other error means that it is unknown who has it: callers must not read it as "held". The
	// caller keeps the Lock as long as this process has a part in the run: when the garbage collector
	// finds it unused, the lock of the kernel may go with it.
	Acquire(ctx context.Context, name string, holder Holder) (Lock, error)

	// Adopt returns the lock on name that another process acquired for holder.Run, with
	// at holder.Since: a lease counts from then until it is renewed here. The file is
	// the descriptor that the process inherited with the lock, or nil. It does not check that the run
	// still has the mutex.
	Adopt(name string, holder Holder, inherited *os.File) Lock

	// Claim takes key for holder, for every server, and keeps it until the given time at least; every
	// claim of a key must give the same time. To claim again for the same run changes nothing. It
	// returns *HeldError when another run has the key; any other error means that this is unknown.
	Claim(ctx context.Context, key string, until time.Time, holder Holder) error

	// Claimed returns who has claimed a key, without claiming it; until must be the time that claims
	// of the key give. An error means that it is unknown.
	Claimed(ctx context.Context, key string, until time.Time) (holder Holder, claimed bool, err error)

	// Break frees name whoever has it, and returns who had. The run that had it goes on.
	// The error is ErrFree when no run had it.
	Break(ctx context.Context, name string) (Holder, error)
}

// A Lock is a held mutex.
type Lock interface {
	// Inherit returns the descriptors that every process of the run must inherit, so that the
	// lock lives as long as they do; none where the lock does not depend on processes.
	Inherit() []*os.File

	// Lease returns how long the lock lasts after it was acquired or renewed; 0 for one that lasts
	// as long as the processes of its run.
	Lease() time.Duration

	// Leased returns when the lease began last, at the earliest: when the lock was acquired or renewed by this process, or the time
	// that Adopt was told. It is zero for a lock that is no lease.
	Leased() time.Time

	// Renew begins the lease anew. It returns *LostError when the mutex was not the run's all the
	// time, also where it is again because no other run took it; any other error means that this is
	// unknown.
	Renew(ctx context.Context) error

	// Describe replaces what people read about the holder: holder.Run is the run of the lock. Where
	// that fails they go on reading what was there before.
	Describe(holder Holder)

	// Release frees the mutex if the run still has it, whatever processes of it still live.
	// Releasing twice, or a lock that is gone, does nothing.
	Release(ctx context.Context) error
}
