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
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"sched/mutex"
)

const (
	timeout      = 2 * time.Second        // of an operation: connections, repetitions and all servers together
	closeTimeout = 250 * time.Millisecond // of Close, as mutex.Store promises
)

// A Store keeps locks, claims and a board on Redis. It is safe for concurrent use. Its methods keep
// the promises of mutex.Store; their comments say only how.
type Store struct {
	config   mutex.Config
	servers  []*server
	majority int // of the servers: with fewer nothing is decided

	// undos maps values to their keys: the values of attempts that failed, and that the servers may
	// have all the same.
	undos sync.Map

	clockAhead atomic.Pointer[time.Duration] // how far the clock of the store was ahead of ours at the last Now
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
	s.clockAhead.Store(&middle)
	return time.Now().Add(middle), nil
}

// clock is Now without a request when the difference of the clocks is known.
func (s *Store) clock(ctx context.Context) (time.Time, error) {
	if ahead := s.clockAhead.Load(); ahead != nil {
		return time.Now().Add(*ahead), nil
	}
	return s.Now(ctx)
}

const removeScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end`

// Close removes the values of attempts that failed without an answer, and ends the connections.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	undo := func(p goredis.Pipeliner) error {
		s.undos.Range(func(value, key any) bool {
			p.Eval(ctx, removeScript, []string{key.(string)}, value)
			return true
		})
		return nil
	}
	mutex.Concurrently(len(s.servers), func(i int) {
		server := s.servers[i]
		server.silent.Store(nil) // a server is asked even if it was silent a moment ago
		do(ctx, server, func(ctx context.Context) ([]goredis.Cmder, error) { return server.Pipelined(ctx, undo) })
		server.Close()
	})
	return nil
}

// key returns a key of the schedule. The braces keep all of them on one node of a Cluster.
func (s *Store) key(parts ...string) string {
	return "sched:{" + s.config.Namespace + "}:" + strings.Join(parts, ":")
}

// minClaim is how long a claim is kept at least, whatever the clocks say and however old its
// slot is.
const minClaim = time.Hour

// Claim takes key like a lock that is never released. until is a time of this machine's clock;
// minClaim makes up for a wrong one.
func (s *Store) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	_, err := s.take(ctx, "claim", key, holder, max(time.Until(until), minClaim))
	return err
}

func (s *Store) Claims(ctx context.Context, keys ...string) (map[string]mutex.Holder, error) {
	return s.holders(ctx, "claim", keys)
}

func (s *Store) Held(ctx context.Context, names ...string) (map[string]mutex.Holder, error) {
	return s.holders(ctx, "lock", names)
}

// holders returns the holders of keys of one kind on which a majority agrees, with one request.
func (s *Store) holders(ctx context.Context, kind string, names []string) (map[string]mutex.Holder, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var keys []string
	for _, name := range names {
		keys = append(keys, s.key(kind, name))
	}
	values, err := s.read(ctx, keys...)
	held := map[string]mutex.Holder{}
	for i, name := range names {
		if text, servers := mostCommon(values[i]); servers >= s.majority {
			held[name] = mutex.HolderOf(text)
		}
	}
	return held, err
}

// The board: tables of entries, and logs.

// An entry is a field of a table: "AT UNTIL VALUE" with times of the store's clock in microseconds.
// If the entries of several servers differ, the newest one counts, even if it is over.
type entry struct {
	at, until int64
	value     string
}

// entryOf reads a field. A field that is no entry counts as an entry that was over long ago.
func entryOf(text string) (e entry) {
	at, rest, _ := strings.Cut(text, " ")
	until, value, _ := strings.Cut(rest, " ")
	if _, err := fmt.Sscan(at+" "+until, &e.at, &e.until); err != nil {
		return entry{}
	}
	e.value = value
	return e
}

// Bounds of what a table may cost its readers, whoever wrote it.
const (
	maxEntries = 10_000         // a reader reads so many entries
	pageSize   = 1000           // fields in one request, and entries that one reader removes
	keepEnded  = 24 * time.Hour // how long an entry that is over is kept for servers that missed its end
)

func (s *Store) Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error {
	now, err := s.clock(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d %d %s", now.UnixMicro(), now.Add(keep).UnixMicro(), value)
	_, err = query(ctx, s, func(ctx context.Context, c *server) (int64, error) {
		return c.HSet(ctx, s.key("board", table), key, text).Result()
	})
	return err
}

// Delete writes a tombstone: an entry that ended keepEnded ago. It outvotes the entry of a server
// that misses this call.
func (s *Store) Delete(ctx context.Context, table, key string) error {
	return s.Put(ctx, table, key, nil, -keepEnded)
}

func (s *Store) All(ctx context.Context, table string) (map[string][]byte, error) {
	now, err := s.clock(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := query(ctx, s, func(ctx context.Context, c *server) (map[string]entry, error) {
		return readTable(ctx, c, s.key("board", table), now.Add(-keepEnded).UnixMicro())
	})
	newest, values := map[string]entry{}, map[string][]byte{}
	for _, entries := range answers {
		for key, e := range entries {
			if e.at <= newest[key].at {
				continue
			}
			newest[key], values[key] = e, []byte(e.value)
		}
	}
	maps.DeleteFunc(values, func(key string, _ []byte) bool { return newest[key].until <= now.UnixMicro() })
	return values, err
}

// readTable reads a table of one server, up to maxEntries, and removes up to pageSize of the
// entries that were over before the time cleanBefore.
func readTable(ctx context.Context, c *server, table string, cleanBefore int64) (map[string]entry, error) {
	entries := map[string]entry{}
	var old []string
	fields := c.HScan(ctx, table, 0, "", pageSize).Iterator()
	for len(entries) < maxEntries && fields.Next(ctx) {
		key := fields.Val()
		fields.Next(ctx) // its value
		e := entryOf(fields.Val())
		entries[key] = e
		if max(e.at, e.until) < cleanBefore {
			old = append(old, key)
		}
	}
	if err := fields.Err(); err != nil {
		return nil, err
	}
	if len(old) > 0 {
		c.HDel(ctx, table, old[:min(pageSize, len(old))]...) // after an error a later reader tries again
	}
	return entries, nil
}

func (s *Store) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	var elements []any
	for _, value := range values {
		elements = append(elements, value)
	}
	_, err := query(ctx, s, func(ctx context.Context, c *server) ([]goredis.Cmder, error) {
		return c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			p.LPush(ctx, s.key("log", log), elements...)
			p.LTrim(ctx, s.key("log", log), 0, int64(keep)-1)
			return nil
		})
	})
	return err
}

// Tail returns values of a log, the newest first. A single server skips the newest values itself.
// Several servers may have different values: all are read and merged, and the newest are skipped
// here.
func (s *Store) Tail(ctx context.Context, log string, skip, count int) ([][]byte, error) {
	if count <= 0 {
		return nil, nil // LRANGE 0 -1 would return the whole log
	}
	skippedThere, skippedHere := skip, 0
	if len(s.servers) > 1 {
		skippedThere, skippedHere = 0, skip
	}
	logs, err := query(ctx, s, func(ctx context.Context, c *server) ([]string, error) {
		return c.LRange(ctx, s.key("log", log), int64(skippedThere), int64(skip+count)-1).Result()
	})
	merged := mergeLogs(logs)
	merged = merged[min(skippedHere, len(merged)):]
	return merged[:min(count, len(merged))], err
}

// mergeLogs merges the logs of several servers: the newest value of each log, then the second one
// of each, and so on. So the newest values come first, or nearly so. A value that several servers
// have comes once.
func mergeLogs(logs [][]string) (merged [][]byte) {
	longest := 0
	for _, values := range logs {
		longest = max(longest, len(values))
	}
	seen := map[string]bool{}
	for i := range longest {
		for _, values := range logs {
			// Equal values of one server are two values of the log.
			if i < len(values) && (len(logs) == 1 || !seen[values[i]]) {
				seen[values[i]] = true
				merged = append(merged, []byte(values[i]))
			}
		}
	}
	return merged
}
