// Package redis is the store of mutexes on Redis: one server, the primary that Sentinels name, a
// Redis Cluster, or several independent servers of which a majority decides (Redlock).
//
// redsync takes, renews and releases locks and claims; go-redis speaks to the servers. This package
// adds what they leave open:
//
//   - The value of a key is JSON with the holder and a nonce of the attempt. So a skip can name the
//     holder, and a failed attempt removes nothing but what it set itself.
//   - After a failed attempt the key is read. Our own run in it means that an answer was lost.
//   - An attempt without a majority for any run is repeated until the deadline.
//   - An operation ends within two seconds, and asks one of several servers for a second at most. A
//     silent server is not asked again for a second.
//   - A request without an answer may still be executed. Close undoes such attempts.
//
// A lock is a lease, and a lease is no fence. A Redis that loses its data loses locks and claims:
// then a slot may run twice, and a run may overlap with the next one until its next renewal.
package redis

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"sched/mutex"
)

// timeout bounds an operation: connections, repetitions and all servers together.
const timeout = 2 * time.Second

// A Store keeps locks, claims and a board on Redis. It is safe for concurrent use.
type Store struct {
	config   mutex.Config
	servers  []*server
	majority int                           // of the servers: with fewer nothing is decided
	undos    sync.Map                      // key by value: values that may be there though their attempts have failed
	ahead    atomic.Pointer[time.Duration] // how far the clock of the store was ahead of ours; see Now
}

var disableLogging = sync.OnceFunc(logging.Disable) // go-redis returns as errors what it would print

// Open prepares the store of a config, whose lease is not 0. It does not connect: the first request
// does.
func Open(c mutex.Config) (mutex.Store, error) {
	servers, err := serversOf(c)
	if err != nil {
		return nil, err
	}
	disableLogging()
	for _, s := range servers {
		s.UniversalClient = s.connect()
	}
	return &Store{config: c, servers: servers, majority: len(servers)/2 + 1}, nil
}

func (s *Store) Config() mutex.Config { return s.config }

// Now returns the time by the clock of the store; of several clocks, the middle one.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	// A script with a key, because a Cluster would ask any of its nodes for a plain TIME.
	ahead, err := query(ctx, s, func(ctx context.Context, c *server) (time.Duration, error) {
		begun := time.Now()
		reply, err := c.Eval(ctx, "return redis.call('TIME')", []string{s.key("clock")}).Int64Slice()
		if err != nil || len(reply) != 2 {
			return 0, err
		}
		return time.Unix(reply[0], reply[1]*1000).Sub(begun.Add(time.Since(begun) / 2)), nil
	})
	if err != nil {
		return time.Time{}, err
	}
	slices.Sort(ahead)
	middle := ahead[len(ahead)/2]
	s.ahead.Store(&middle)
	return time.Now().Add(middle), nil
}

// clock is Now without a request when the difference of the clocks is known.
func (s *Store) clock(ctx context.Context) (time.Time, error) {
	if ahead := s.ahead.Load(); ahead != nil {
		return time.Now().Add(*ahead), nil
	}
	return s.Now(ctx)
}

const removeScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end`

// Close removes the values of attempts that failed without an answer, and ends the connections.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout/8)
	defer cancel()
	undo := func(p goredis.Pipeliner) error {
		s.undos.Range(func(value, key any) bool {
			p.Eval(ctx, removeScript, []string{key.(string)}, value)
			return true
		})
		return nil
	}
	mutex.Each(len(s.servers), func(i int) {
		s.servers[i].silent.Store(nil) // it is asked also when it rests
		do(ctx, s.servers[i], func(ctx context.Context) ([]goredis.Cmder, error) { return s.servers[i].Pipelined(ctx, undo) })
		s.servers[i].Close()
	})
	return nil
}

// key returns a key of the schedule. The braces keep all of them on one node of a Cluster.
func (s *Store) key(parts ...string) string {
	return "sched:{" + s.config.Namespace + "}:" + strings.Join(parts, ":")
}
