package mutex

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
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
	// Servers are the URLs of one Redis, or of an odd number of independent ones (Redlock):
	// redis://[user:password@]host[:port][/db], rediss://… for TLS, or
	// unix://[user:password@]/path[?db=1].
	Servers   []string
	Namespace string        // of every key: the schedule's name
	Lease     time.Duration // 0 means DefaultLease
}

// Check says what is wrong, without connecting. The error is a *StoreError and quotes nothing of a
// URL that it could not read: any part may be a password.
func (c Config) Check() error {
	switch {
	case len(c.Servers) == 0:
		return &StoreError{"the store has no server", urlHint}
	case len(c.Servers)%2 == 0:
		return &StoreError{
			fmt.Sprintf("the store has %d servers, and needs one or an odd number", len(c.Servers)),
			fmt.Sprintf("a majority of %d is %d: it survives no more failures than %d would; take one away, or add one",
				len(c.Servers), len(c.Servers)/2+1, len(c.Servers)-1),
		}
	case c.Namespace == "":
		return &StoreError{"the store needs a name for its keys", "give the schedule a name: it must be the same on every server"}
	case c.Lease != 0 && (c.Lease < shortestLease || c.Lease > longestLease):
		return &StoreError{fmt.Sprintf("a lease of %s is not between %s and %s", c.Lease, shortestLease, longestLease), ""}
	}
	first := map[string]int{}
	for i := range c.Servers {
		options, err := c.options(i)
		if err != nil {
			return err
		}
		host := strings.ToLower(options.Addr)
		if j, found := first[host]; found {
			return &StoreError{
				fmt.Sprintf("URLs %d and %d of the store are of the same server, %s", j+1, i+1, options.Addr),
				"each must be a server of its own, which fails alone; another database of the same one is not",
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
		if options, err := c.options(i); err == nil {
			name = nameOf(options)
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

const urlHint = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, or unix:///path/to/socket[?db=1]; " +
	"in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %"

// options reads one URL. What go-redis would not like is found before, since its errors quote the URL.
func (c Config) options(i int) (*redis.Options, error) {
	wrong := func(format string, args ...any) error {
		which := "the URL of the store"
		if len(c.Servers) > 1 {
			which = fmt.Sprintf("URL %d of the store", i+1)
		}
		return &StoreError{which + " " + fmt.Sprintf(format, args...), urlHint}
	}
	u, err := url.Parse(c.Servers[i])
	if err != nil || u.Opaque != "" {
		return nil, wrong("is not a URL")
	}
	if problem := problemOf(u); problem != "" {
		return nil, wrong("%s", problem)
	}
	options, err := redis.ParseURL(c.Servers[i])
	if err != nil {
		return nil, wrong("is not one that can be used")
	}
	return options, nil
}

// problemOf says what is wrong with a URL, and quotes nothing of it.
func problemOf(u *url.URL) string {
	_, password := u.User.Password()
	port, _ := strconv.Atoi(u.Port())
	database := strings.Trim(u.Path, "/")
	if u.Scheme == "unix" {
		database = ""
	}
	if db := u.Query().Get("db"); db != "" {
		database = db
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return "begins with none of redis://, rediss:// and unix://"
	case u.Fragment != "":
		return `has a "#" in it`
	case u.Scheme == "unix" && (u.Host != "" || u.Path == ""):
		return "names no socket"
	case u.Scheme != "unix" && u.Hostname() == "":
		return "names no host"
	case u.Port() != "" && (port < 1 || port > 65535):
		return "has a port that is not in 1-65535"
	case u.User != nil && !password:
		return "has a user without a password; with a password alone it is redis://:password@host"
	case database != "" && strings.Trim(database, "0123456789") != "":
		return "has a database that is not a number"
	case unknownParameter(u.Query(), u.Scheme):
		return "has a parameter other than db, and skip_verify=true with rediss"
	}
	return ""
}

func unknownParameter(query url.Values, scheme string) bool {
	query.Del("db")
	if scheme == "rediss" && query.Get("skip_verify") == "true" {
		query.Del("skip_verify")
	}
	return len(query) > 0
}

// nameOf names a server for people: its host, host:port, or the path of its socket.
func nameOf(options *redis.Options) string {
	if host, port, err := net.SplitHostPort(options.Addr); err == nil && port == "6379" && !strings.Contains(host, ":") {
		return host
	}
	return options.Addr
}
