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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"sched/mutex"
	"sched/schedule/clock"
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

// Acquire takes name with a lease. A run that has it gets it again: its answer may have been lost.
func (s *Store) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	begun := clock.Steady()
	text, err := s.take(ctx, "lock", name, holder, s.config.Lease)
	if err != nil {
		return nil, err
	}
	l := &lease{store: s, name: name, holder: holder, value: text}
	l.began.Store(&begun)
	return l, nil
}

// Adopt returns the lock of a run.
func (s *Store) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	l, now := &lease{store: s, name: name, holder: holder}, clock.Steady()
	l.began.Store(&now)
	return l
}

// Break frees name on all servers. A mark with the value tells the run that had it when it renews.
// Break removes only values that it has read: another run may have the key by then.
func (s *Store) Break(ctx context.Context, name string) (mutex.Holder, error) {
	key := s.key("lock", name)
	found, err := s.read(ctx, key)
	if err != nil {
		return mutex.Holder{}, err
	}
	values := found[0]
	text, servers := mostCommon(values)
	isFree := len(values)-servers >= s.majority // a value on a minority is no lock; it is removed, too
	var seen []any
	for _, value := range values {
		seen = append(seen, value)
	}
	_, err = query(ctx, s, func(ctx context.Context, c *server) ([]goredis.Cmder, error) {
		return c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			if !isFree {
				p.Set(ctx, s.key("broken", name), text, s.config.Lease+brokenFor)
			}
			p.Eval(ctx, breakScript, []string{key}, seen...)
			return nil
		})
	})
	if err == nil && isFree {
		err = mutex.ErrFree
	}
	return mutex.HolderOf(text), err
}

// outage says why no majority has answered; nil if a majority has.
func (s *Store) outage(failed []error) error {
	if len(s.servers)-len(failed) >= s.majority {
		return nil
	}
	return join(failed, len(s.servers))
}

// Risks returns what may go wrong with the settings of the servers, as far as the servers tell.
func (s *Store) Risks(ctx context.Context) ([]mutex.Risk, error) {
	found, err := query(ctx, s, func(ctx context.Context, c *server) ([]mutex.Risk, error) {
		node := c.UniversalClient
		if cluster, ok := node.(*goredis.ClusterClient); ok {
			primary, err := cluster.MasterForKey(ctx, s.key("clock"))
			if err != nil {
				return nil, err
			}
			node = primary
		}
		info, err := node.Info(ctx).Result()
		if goredis.HasErrorPrefix(err, "NOPERM") {
			return nil, nil
		}
		saves, refused := node.ConfigGet(ctx, "save").Result() // a hosted Redis may refuse
		return c.risks(info, refused != nil || saves["save"] != ""), err
	})
	return slices.Concat(found...), err
}

// take sets a key for a holder, and returns its value. It makes attempts until one of these is
// true:
//
//   - A majority of the servers has a value of our run, which is returned.
//   - Another run has a majority: *HeldError.
//   - No run has a majority, and there is no time for another attempt: ErrSplit.
//
// Any other error means that this is unknown.
func (s *Store) take(ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration) (string, error) {
	ctx, cancel := begin(ctx)
	defer cancel()
	deadline, _ := ctx.Deadline()
	for n := 0; ; n++ {
		askOrder := inTurn
		if n >= attemptsInTurn {
			askOrder = atOnce // a dead run may have the first server
		}
		begun := time.Now()
		value, err := s.attempt(ctx, kind, name, holder, keep, askOrder)
		spare := time.Until(deadline) - minAttemptTime
		if !errors.Is(err, mutex.ErrSplit) || spare < 0 {
			return value, err
		}
		maxPause := max(firstPause<<n, time.Since(begun)/2)
		time.Sleep(min(rand.N(maxPause), spare))
	}
}

// attempt tries once to set a key, and returns its value. If redsync gets no majority of the
// servers, it finds out which run has the key:
//
//   - our run, because an answer was lost or it took the key before: that value counts, and is kept
//     from now on;
//   - otherwise the errors are as in take. It does not wait before ErrSplit.
func (s *Store) attempt(
	ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration, askOrder order,
) (string, error) {
	key, value := s.key(kind, name), mutex.NewValue(holder)
	lock, calls := redsyncMutex(ctx, s.servers, key, value, keep, askOrder)
	if lock.TryLockContext(ctx) == nil {
		return value, nil
	}
	unanswered := failures(calls)
	if len(unanswered) > 0 {
		s.undos.Store(value, key) // the servers may still set it
	}
	if err := s.outage(unanswered); err != nil {
		return "", err
	}
	earlier, err := s.ownValue(ctx, key, name, holder.Run)
	if err != nil {
		return "", err
	}
	if kind == "lock" {
		value = earlier // other processes of the run know this value
	}
	return s.confirm(ctx, key, earlier, value, keep)
}

// ownValue returns the value of the run if a majority has it, and *HeldError if a majority has a
// value of another run. Otherwise it removes what the run has on a minority: ErrSplit. A value of
// an attempt that is to be undone does not count, and is removed, too.
func (s *Store) ownValue(ctx context.Context, key, name, run string) (string, error) {
	byKey, err := s.read(ctx, key)
	if err != nil {
		return "", err
	}
	values := byKey[0]
	value, servers := mostCommon(values)
	_, undone := s.undos.Load(value)
	switch holder := mutex.HolderOf(value); {
	case servers >= s.majority && holder.Run != run:
		return "", &mutex.HeldError{Name: name, Holder: holder}
	case servers >= s.majority && !undone:
		return value, nil
	}
	for _, value := range values {
		if value != "" && mutex.HolderOf(value).Run == run {
			err = cmp.Or(err, s.release(ctx, key, value))
		}
	}
	return "", cmp.Or(err, mutex.ErrSplit)
}

// confirm keeps a key of our run from now on, and returns its value; ErrSplit if no majority had
// the earlier value any more. The process that set the earlier value may have asked the store to
// remove it, and the store may do so at any time from now on. So a claim gets a new value.
func (s *Store) confirm(ctx context.Context, key, earlier, value string, keep time.Duration) (string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) (bool, error) {
		return c.Eval(ctx, confirmScript, []string{key}, earlier, value, keep.Milliseconds()).Bool()
	})
	confirmed := count(answers, func(kept bool) bool { return kept })
	if err == nil && confirmed < s.majority {
		err = mutex.ErrSplit
	}
	return value, err
}

// read returns, for each key, the values that the servers have, "" for a server that has no value.
func (s *Store) read(ctx context.Context, keys ...string) ([][]string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) ([]any, error) {
		return c.MGet(ctx, keys...).Result()
	})
	byKey := make([][]string, len(keys))
	for i := range keys {
		for _, values := range answers {
			value, isSet := values[i].(string)
			if isSet && value == "" {
				value = emptyValue
			}
			byKey[i] = append(byKey[i], value)
		}
	}
	return byKey, err
}

// release removes a key from the servers on which it has the value. After an error this is unknown.
func (s *Store) release(ctx context.Context, key, value string) error {
	lock, calls := redsyncMutex(ctx, s.servers, key, value, s.config.Lease, atOnce)
	_, _ = lock.UnlockContext(ctx) // the calls have the errors
	return s.outage(failures(calls))
}

// A lease is a lock: a key that ends unless it is renewed. It is safe for concurrent use.
type lease struct {
	store  *Store
	name   string
	holder mutex.Holder
	began  atomic.Pointer[time.Time] // when the request was sent after which the lease began: see LeaseBegan

	mu       sync.Mutex // one renewal or release at a time
	value    string     // of the key; "" until learnValue has set it, for an adopted lock
	released bool
}

func (l *lease) Inherit() []*os.File { return nil } // a lease does not depend on processes

func (l *lease) Describe(mutex.Holder) {} // the holder in the value does not change

func (l *lease) Lease() time.Duration { return l.store.config.Lease }

func (l *lease) LeaseBegan() time.Time { return *l.began.Load() }

func (l *lease) key() string { return l.store.key("lock", l.name) }

// Renew begins the lease anew. If a majority of the servers does not have the key, one of these is
// true:
//
//   - Break took it: *LostError with Broken. It is not taken again.
//   - It is free: it is taken again for the same run, and *LostError without a holder says so.
//   - Another run has it: *LostError with that holder.
//
// Any other error means that this is unknown. After Release it does nothing.
func (l *lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	ctx, cancel := begin(ctx)
	defer cancel()
	begun := clock.Steady()
	found, err := l.store.read(ctx, l.key(), l.store.key("broken", l.name))
	if err != nil {
		return err
	}
	values, marks := found[0], found[1]
	l.learnValue(values)
	lost := &mutex.LostError{Name: l.name, Broken: l.wasBroken(values, marks)}
	if text, servers := mostCommon(values); servers >= l.store.majority && !l.isOurs(text) {
		lost.Holder = mutex.HolderOf(text)
	}
	if lost.Broken {
		return lost
	}
	renewed, err := l.extend(ctx)
	if err != nil {
		return err
	}
	if renewed {
		l.began.Store(&begun)
	}
	missing := count(values, func(text string) bool { return text != l.value })
	if renewed && missing < l.store.majority {
		return nil // also a server that lost its data has the key now
	}
	return lost
}

// wasBroken reports whether a majority does not have the key, and a mark of Break says why.
func (l *lease) wasBroken(values, marks []string) bool {
	having := count(values, func(text string) bool { return text == l.value })
	return having < l.store.majority && slices.ContainsFunc(marks, l.isOurs)
}

// extend begins the lease anew on all servers, and sets the key where it is free. It returns false
// if another run has the key on a majority. After an error this is unknown.
func (l *lease) extend(ctx context.Context) (renewed bool, err error) {
	lock, calls := redsyncMutex(ctx, l.store.servers, l.key(), l.value, l.store.config.Lease, atOnce)
	renewed, err = lock.ExtendContext(ctx)
	switch {
	case renewed:
		return true, nil
	case !errors.As(err, new(*redsync.ErrTaken)): // servers that did not answer may have the value
		return false, cmp.Or(join(failures(calls), len(l.store.servers)), err)
	}
	// Our value on a minority would be in the way of the next holder, until its lease ends.
	_ = l.store.release(ctx, l.key(), l.value)
	return false, nil
}

// learnValue sets the value of an adopted lock to the value of the run that most servers have. If
// no server has one, the run does not have the mutex, and the lock gets a new value.
func (l *lease) learnValue(found []string) {
	if l.value != "" {
		return
	}
	ofRun := slices.DeleteFunc(slices.Clone(found), func(text string) bool { return !l.isOurs(text) })
	text, _ := mostCommon(ofRun)
	l.value = cmp.Or(text, mutex.NewValue(l.holder))
}

func (l *lease) isOurs(text string) bool { return mutex.HolderOf(text).Run == l.holder.Run }

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	ctx, cancel := begin(ctx)
	defer cancel()
	if l.value == "" {
		found, err := l.store.read(ctx, l.key())
		if err != nil {
			return err
		}
		l.learnValue(found[0])
	}
	return l.store.release(ctx, l.key(), l.value)
}

// query asks all servers at once, and returns the answers. It returns an error if fewer than a
// majority answered. An error of request counts as an answer only if it is goredis.Nil.
func query[T any](
	ctx context.Context, s *Store, request func(context.Context, *server) (T, error),
) (answers []T, err error) {
	ctx, cancel := begin(ctx)
	defer cancel()
	replies, errs := make([]T, len(s.servers)), make([]error, len(s.servers))
	mutex.Concurrently(len(s.servers), func(i int) {
		server := s.servers[i]
		replies[i], errs[i] = do(ctx, server, func(ctx context.Context) (T, error) { return request(ctx, server) })
	})
	var failed []error
	for i, err := range errs {
		if err != nil {
			failed = append(failed, err)
		} else {
			answers = append(answers, replies[i])
		}
	}
	return answers, s.outage(failed)
}
