// Package mutex holds the locks that keep runs from overlapping, and the claims that give a slot
// to one server.
//
// A lock belongs to a run, not to a process: the process that acquires it is seldom the one that
// releases it. On one machine (Files) the kernel keeps it for exactly as long as a process of the
// run lives; a driver for many machines keeps it as a lease under the id of the run. Nothing here
// decides whether a task is due or runs: held, free and "nobody knows" is all it tells.
package mutex

import (
	"context"
	"fmt"
	"os"
	"time"
)

// An Owner says which run has a mutex, for people to read. Only Run decides anything: a lock is
// released for the run that has it and for no other.
type Owner struct {
	Run   string    `json:"run"`
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	Fence int64     `json:"fence,omitempty"` // of its lock
}

// String names the owner so that a person can find it.
func (o Owner) String() string {
	if o.Run == "" {
		return "by a run that left no name"
	}
	run := o.Run[max(0, len(o.Run)-12):] // the end of a UUID tells runs apart, its beginning does not
	since := o.Since.Local().Format("2006-01-02 15:04:05")
	if o.PID == 0 {
		return fmt.Sprintf("since %s (run %s on %s)", since, run, o.Host)
	}
	return fmt.Sprintf("since %s (run %s, pid %d on %s)", since, run, o.PID, o.Host)
}

// A HeldError says that another run has the mutex, or has claimed the slot.
type HeldError struct {
	Name  string
	Owner Owner
}

func (e *HeldError) Error() string { return fmt.Sprintf("%s is held %s", e.Name, e.Owner) }

// A LostError says that a run no longer has its mutex, or did not have it all the time.
type LostError struct {
	Name   string
	Owner  Owner // who has it now; without a Run when nobody has, or the run has it again
	Broken bool  // by Break, before the lease ended
}

func (e *LostError) Error() string {
	how := "the lease of %s ran out"
	if e.Broken {
		how = "the lock on %s was broken"
	}
	if e.Owner.Run == "" {
		return fmt.Sprintf(how, e.Name)
	}
	return fmt.Sprintf(how+", and it is held %s", e.Name, e.Owner)
}

// A Store is where the mutexes of a schedule live.
type Store interface {
	// Acquire takes name for owner. It returns *HeldError at once when another run has it.
	// Any other error means that nobody knows: callers must not read it as "held". The caller
	// keeps the Lock as long as this process has a part in the run: with a forgotten one the
	// garbage collector may close what it holds.
	Acquire(ctx context.Context, name string, owner Owner) (Lock, error)

	// Adopt returns the lock on name that another process acquired for owner.Run, with
	// owner.Fence, at owner.Since: a lease counts from then until it is renewed here. The file is
	// the descriptor that the process inherited with the lock, or nil. It asks nobody: the lock may
	// long be gone.
	Adopt(name string, owner Owner, inherited *os.File) Lock

	// Claim takes key for owner, for every server, and keeps it until the given time at least; a
	// claim is never released, and every claim of a key must name the same time. To claim again for
	// the same run does nothing. It returns *HeldError when another run has the key, and any other
	// error when nobody knows.
	Claim(ctx context.Context, key string, until time.Time, owner Owner) error

	// Claimed returns who has claimed a key, without claiming it. With an error nobody knows.
	Claimed(ctx context.Context, key string, until time.Time) (owner Owner, claimed bool, err error)

	// Break frees name whoever has it, and returns who had. The run that had it goes on.
	// The error is ErrFree when nobody had it.
	Break(ctx context.Context, name string) (Owner, error)
}

// A Lock is a held mutex.
type Lock interface {
	// Inherit returns the descriptor that every process of the run must inherit, so that the
	// lock lives as long as they do; nil where the lock does not depend on processes.
	Inherit() *os.File

	// Fence returns a number that is larger for every later owner of the mutex, so that what the
	// lock protects can refuse those who come late.
	Fence() int64

	// Lease returns how long the lock lasts after it was acquired or renewed; 0 for one that lasts
	// as long as the processes of its run.
	Lease() time.Duration

	// Renew begins the lease anew. It returns *LostError when the mutex was not the run's all the
	// time, also where it is again since nobody else had it; any other error means that nobody knows.
	Renew(ctx context.Context) error

	// Describe replaces what people are told of the owner.
	Describe(owner Owner)

	// Release frees the mutex if the run still has it, whatever processes of it still live.
	// Releasing twice, or a lock that is gone, does nothing.
	Release(ctx context.Context) error
}
