package mutex

import (
	"fmt"
	"time"
)

// DefaultLease is how long a lock in a store outlives its last renewal.
const DefaultLease = 60 * time.Second

// A Config says which store the servers of a schedule share. Its JSON, for other processes of a run,
// has the passwords; what fmt prints of it has none.
type Config struct {
	Servers   []string      // URLs, as the driver reads them; of several independent servers a majority decides
	Dir       string        // the files of certificates in the URLs are relative to it
	Namespace string        // of every key: the schedule's name
	Lease     time.Duration // 0 means DefaultLease
}

// String tells no URL, which may have a password.
func (c Config) String() string {
	return fmt.Sprintf("a store of %d servers for %s", len(c.Servers), c.Namespace)
}

func (c Config) GoString() string { return "mutex.Config(" + c.String() + ")" }

// A StoreError says why a store cannot be used. It holds, and wraps, no password.
type StoreError struct {
	Text string
	Hint string // what to do about it; may be empty
}

func (e *StoreError) Error() string { return e.Text }
