// Package mutex keeps the runs of a task from overlapping, and gives a slot to one server only.
//
// A mutex is a name. A lock is a held mutex, and its holder is a run. A claim is a key that one run
// takes for all servers. A claim is never released. A pool is a number of mutexes, its seats, of
// which a run needs any one.
//
// # Goals
//
//   - No lock is stale. The kernel keeps a lock of Files as long as a process of the run lives. A
//     store keeps a lease, which ends soon after the last renewal. Shared keeps both.
//   - A lock belongs to a run, not to a process. Any process that knows the run can adopt its lock,
//     and no other run can release it.
//   - Held and unknown are different answers: after any error but HeldError the holder is unknown.
//   - No call waits for a lock. A store, or a process that stopped in a call, costs two seconds.
//
// # Non-goals
//
//   - Whether a task is due, or runs when the answer is unknown: the caller decides that.
//   - Waiting for a lock, an order among runs that want it, and re-entrance.
//   - A lease that fences: a run that was stopped for longer than its lease goes on beside the next
//     one until it learns of the loss.
//   - Making up for an outage, or for a store that forgets: it grants lost locks again.
package mutex

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrFree says that there was nothing to break.
var ErrFree = errors.New("nobody holds it")

// Locks keeps the mutexes of a schedule. It is safe for concurrent use.
type Locks interface {
	// Acquire takes the mutex name for holder. It returns *HeldError at once when another run has
	// it. After any other error the holder is unknown: callers must not report "held". The caller
	// keeps the Lock while its process is part of the run: a Lock that the garbage collector frees
	// may unlock the file.
	Acquire(ctx context.Context, name string, holder Holder) (Lock, error)

	// Adopt returns the lock on name that another process acquired for holder.Run, with a lease
	// from holder.Since on. The file is the inherited descriptor of the lock, or nil. Adopt does
	// not check that the run still has the mutex.
	Adopt(name string, holder Holder, inherited *os.File) Lock

	// Claim takes key for holder, for every server, and keeps it until the given time at least;
	// every claim of a key must give the same time. To claim again for the same run changes
	// nothing. It returns *HeldError if another run has the key. After any other error it is
	// unknown who has it.
	Claim(ctx context.Context, key string, until time.Time, holder Holder) error

	// Break frees name whoever has it, and returns who had. The run that had it goes on.
	// The error is ErrFree when no run had it.
	Break(ctx context.Context, name string) (Holder, error)
}

// A Lock is a held mutex.
type Lock interface {
	// Inherit returns the descriptors that every process of the run must inherit, so that the lock
	// lives as long as they do; none if the lock does not depend on processes.
	Inherit() []*os.File

	// Lease returns how long the lock lasts after it was acquired or renewed; 0 for a lock that
	// lasts as long as the processes of its run.
	Lease() time.Duration

	// Leased returns when the lease began last, at the earliest; zero for a lock that is no lease.
	Leased() time.Time

	// Renew begins the lease anew. It returns *LostError if the run did not have the mutex all the
	// time, even if it has it again. After any other error it is unknown whether the run has the
	// mutex.
	Renew(ctx context.Context) error

	// Describe replaces what people read about the holder, but not its Run. A failure is silent.
	Describe(holder Holder)

	// Release frees the mutex if the run still has it, whatever processes of it still live.
	// Releasing twice, or a lock that is gone, does nothing.
	Release(ctx context.Context) error
}
