// Package mutex keeps the runs of a task from overlapping, and gives a slot to one server only.
//
// A mutex is a name. A lock is a held mutex, and its holder is a run. A claim is a key that one run
// takes for all servers. A claim is never released. A pool is a number of mutexes, its seats. A run
// needs one of them, whichever.
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
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// Locks keeps the mutexes of a schedule. It is safe for concurrent use.
type Locks interface {
	// Acquire takes the mutex name for holder. It returns *HeldError at once when another run has
	// it. After any other error the holder is unknown: callers must not report "held". The caller
	// keeps the Lock while its process is part of the run: a Lock that the garbage collector frees
	// may unlock the file.
	Acquire(ctx context.Context, name string, holder Holder) (Lock, error)

	// Adopt returns the lock on name that another process acquired for holder.Run. Nobody knows
	// when its lease began: LeaseBegan says now, until the lease is renewed. The file is the
	// inherited descriptor of the lock, or nil. Adopt does not check that the run still has the
	// mutex.
	Adopt(name string, holder Holder, inherited *os.File) Lock

	// Claim takes key for holder, for every server, and keeps it until the given time at least;
	// every claim of a key must give the same time. To claim again for the same run changes
	// nothing. It returns *HeldError if another run has the key. After any other error it is
	// unknown who has it.
	Claim(ctx context.Context, key string, until time.Time, holder Holder) error

	// Break frees name whoever has it, and returns who had. That run goes on. Another run that
	// takes name while Break works keeps it. The error is ErrFree when no run had it.
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

	// LeaseBegan returns the earliest time at which the lease, or its last renewal, may have begun,
	// by clock.Steady; zero for a lock that is no lease.
	LeaseBegan() time.Time

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

// A Store is what several servers share: leases, claims, and a board of small values. It is safe
// for concurrent use.
//
// Each call ends within two seconds. *HeldError means that another run is the holder. ErrSplit
// means that the store has answered, and that no run is the holder. After any other error the
// holder is unknown.
type Store interface {
	Locks
	Board

	// Held returns the holders of the mutexes that are held, with one request.
	Held(ctx context.Context, names ...string) (map[string]Holder, error)

	// Claims returns the holders of the claims that are taken, with one request.
	Claims(ctx context.Context, keys ...string) (map[string]Holder, error)

	// Now returns the time by the clock of the store.
	Now(ctx context.Context) (time.Time, error)

	// Risks returns what may go wrong with the servers that answer. The error says why no store
	// can be used.
	Risks(ctx context.Context) ([]Risk, error)

	// Config returns what the store was opened with, for other processes of the run.
	Config() Config

	// Close undoes the effects of calls without an answer, as far as the store answers within a
	// quarter of a second, and ends the connections.
	Close() error
}

// A Board keeps small values that servers tell each other, and logs of bounded length. Any program
// with access to the store can write there, so a reader checks what it reads.
type Board interface {
	// Put sets the value of a key in a table until keep is over. The newer of two calls counts.
	Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error

	// All returns the values of a table that are still kept, by their keys.
	All(ctx context.Context, table string) (map[string][]byte, error)

	// Delete removes a key of a table, if it is there.
	Delete(ctx context.Context, table, key string) error

	// Append adds values to a log, at least one and the newest last, and removes the oldest ones
	// beyond keep values.
	Append(ctx context.Context, log string, keep int, values ...[]byte) error

	// Tail returns up to count values of a log, the newest first, after skipping the newest skip
	// values. A value may come twice when others append at the same time.
	Tail(ctx context.Context, log string, skip, count int) ([][]byte, error)
}

// A Risk is what may go wrong with a server of a store.
type Risk struct {
	Text, Hint string
	Evicts     bool // locks may be thrown away while all is well; other risks need a failure first
	Refuses    bool // the server answers, and takes no writes: no lock can be had now
}

// MaxConcurrent is how many requests of one process a store gets at the same time.
const MaxConcurrent = 32

// Concurrently calls do for 0 to n-1, MaxConcurrent of them at the same time, and returns when all
// are done.
func Concurrently(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(MaxConcurrent)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	group.Wait()
}

// DefaultLease is how long a lock in a store outlives its last renewal.
const DefaultLease = 60 * time.Second

// A Config says which store the servers of a schedule share. Its JSON, for other processes of a
// run, has the passwords; fmt prints none of them.
type Config struct {
	Servers   []string      // URLs, as the driver reads them; of several independent servers a majority decides
	Dir       string        // the files of certificates in the URLs are relative to it
	Namespace string        // of every key: the schedule's name
	Lease     time.Duration // 0 means DefaultLease
}

// Format prints no URL, which may have a password.
func (c Config) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "a store of %d servers for %s", len(c.Servers), c.Namespace)
}

// ErrFree says that there was nothing to break.
var ErrFree = errors.New("nobody holds it")

// ErrSplit says that several runs wanted the same at the same time, and that none got a majority.
var ErrSplit = errors.New("the servers of the store do not agree: several runs wanted it at the same time")

// A HeldError says that another run has the mutex or the key.
type HeldError struct {
	Name   string // of the mutex, or the key of the claim
	Holder Holder // without a Run if its value cannot be read
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held %s", e.Name, e.Holder.Text(time.Local))
}

// A LostError says that a run no longer has its mutex, or did not have it all the time.
type LostError struct {
	Name   string
	Holder Holder // who has it now; without a Run when no run has it, or the same one has it again
	Broken bool   // by Break, before the lease ended
}

func (e *LostError) Error() string { return e.Text(time.Local) }

// Text is Error with the time in the zone.
func (e *LostError) Text(zone *time.Location) string {
	how := "the lease of %s ran out"
	if e.Broken {
		how = "the lock on %s was broken"
	}
	if e.Holder.Run == "" {
		return fmt.Sprintf(how, e.Name)
	}
	return fmt.Sprintf(how+", and it is held %s", e.Name, e.Holder.Text(zone))
}

// A StoreError says why a store cannot be used. It holds, and wraps, no password.
type StoreError struct {
	Text   string
	Hint   string // what to do about it; may be empty
	Silent bool   // the store does not answer; else it answers, and cannot be used
}

func (e *StoreError) Error() string { return e.Text }
