package mutex

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Store is what several servers share: leases, claims, and a board of small values. It is safe
// for concurrent use.
//
// Each call ends within two seconds. *HeldError means that another run is the holder. ErrSplit
// means that the store is up, and no run is. After any other error the holder is unknown.
type Store interface {
	Locks
	Board

	// Held returns the holders of the mutexes that are held, with one request.
	Held(ctx context.Context, names ...string) (map[string]Holder, error)

	// Claims returns the holders of the claims that are taken, with one request.
	Claims(ctx context.Context, keys ...string) (map[string]Holder, error)

	// Now returns the time by the clock of the store.
	Now(ctx context.Context) (time.Time, error)

	// Risks returns what may go wrong with the servers that answer. The error says why the store is
	// of no use.
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
}

// ErrSplit says that several runs wanted the same at the same time, and that none got a majority.
var ErrSplit = errors.New("the servers of the store do not agree: several runs wanted it at the same time")

// SideBySide is how many requests of one process a store gets at the same time.
const SideBySide = 32

// Each calls do for 0 to n-1, SideBySide of them at the same time, and returns when all are done.
func Each(n int, do func(i int)) {
	var all sync.WaitGroup
	room := make(chan struct{}, SideBySide)
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			do(i)
			<-room
		})
	}
	all.Wait()
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

// A StoreError says why a store cannot be used. It holds, and wraps, no password.
type StoreError struct {
	Text string
	Hint string // what to do about it; may be empty
}

func (e *StoreError) Error() string { return e.Text }
