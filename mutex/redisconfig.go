package mutex

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sched/mutex/redisurl"
)

// DefaultLease is how long a lock on Redis outlives its last renewal.
const DefaultLease = 60 * time.Second

// A lease must leave time for a renewal that fails, and another one; and the lock of a machine that
// died must not last for days.
const (
	shortestLease = 3 * time.Second
	longestLease  = 24 * time.Hour
)

// A Config says on which servers the mutexes of a schedule are. Its JSON, for other processes, has the
// passwords; its String and GoString have none.
type Config struct {
	// Servers are the URLs of one Redis, or of an odd number of independent ones (Redlock), as package redisurl reads them. One
	// URL may also be that of Sentinels, or of a Redis Cluster.
	Servers   []string
	Dir       string        // the files of certificates in the URLs are relative to it
	Namespace string        // of every key: the schedule's name
	Lease     time.Duration // 0 means DefaultLease
}

// Check says what is wrong, without connecting. The error is a *StoreError and quotes nothing of a
// URL that it could not read: any part may be a password.
func (c Config) Check() error {
	switch {
	case len(c.Servers) == 0:
		return &StoreError{Text: "the store has no server", Hint: redisurl.Hint}
	case len(c.Servers)%2 == 0:
		return &StoreError{
			Text: fmt.Sprintf("the store has %d servers, and needs one or an odd number", len(c.Servers)),
			Hint: fmt.Sprintf("a majority of %d is %d: it survives no more failures than %d would; take one away, or add one",
				len(c.Servers), len(c.Servers)/2+1, len(c.Servers)-1),
		}
	case c.Namespace == "":
		return &StoreError{Text: "the store needs a name for its keys", Hint: "give the schedule a name: it must be the same on every server"}
	case c.Lease != 0 && (c.Lease < shortestLease || c.Lease > longestLease):
		return &StoreError{Text: fmt.Sprintf("a lease of %s is not between %s and %s", c.Lease, shortestLease, longestLease)}
	}
	first := map[string]int{}
	for i := range c.Servers {
		target, err := c.target(i)
		if err != nil {
			return err
		}
		if target.Moves() && len(c.Servers) > 1 {
			return &StoreError{
				Text: fmt.Sprintf("URL %d of the store is of Sentinels or of a Cluster, in a list of servers", i+1),
				Hint: "a list is of servers that stand alone, of which a majority decides; write one URL: redis+sentinel://host,host,host/PRIMARY or redis+cluster://host,host,host",
			}
		}
		host := strings.ToLower(target.Address())
		if j, found := first[host]; found {
			return &StoreError{
				Text: fmt.Sprintf("URLs %d and %d of the store are of the same server, %s", j+1, i+1, target.Address()),
				Hint: "each must be a server of its own, which fails alone; another database of the same one is not",
			}
		}
		first[host] = i
	}
	return nil
}

// String names the servers, without users and passwords.
func (c Config) String() string {
	var names []string
	for i := range c.Servers {
		name := "?"
		if target, err := c.target(i); err == nil {
			name = target.Name()
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// GoString is for %#v, which must not print the passwords either.
func (c Config) GoString() string { return "mutex.Config(" + c.String() + ")" }

func (c Config) lease() time.Duration {
	if c.Lease == 0 {
		return DefaultLease
	}
	return c.Lease
}

// target reads one URL.
func (c Config) target(i int) (*redisurl.Target, error) {
	target, err := redisurl.Parse(c.Servers[i], c.Dir)
	var wrong *redisurl.Error
	if errors.As(err, &wrong) {
		which := "the URL of the store"
		if len(c.Servers) > 1 {
			which = fmt.Sprintf("URL %d of the store", i+1)
		}
		return nil, &StoreError{Text: which + " " + wrong.Text, Hint: wrong.Hint}
	}
	return target, err
}
