package redis

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"sched/mutex"
)

const (
	firstPause     = 10 * time.Millisecond  // the longest pause after the first attempt; then it doubles
	attemptTime    = 300 * time.Millisecond // no further attempt begins with less time left
	attemptsInTurn = 3                      // the first attempts ask the servers in turn
)

// An order says in which order an attempt asks the servers.
type order int

const (
	atOnce order = iota // all servers at the same time
	inTurn              // each server when the answers of the servers before it allow it: see call.SetNX
)

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
		asked := inTurn
		if n >= attemptsInTurn {
			asked = atOnce // a dead run may have the first server
		}
		begun := time.Now()
		value, err := s.attempt(ctx, kind, name, holder, keep, asked)
		spare := time.Until(deadline) - attemptTime
		if !errors.Is(err, mutex.ErrSplit) || spare < 0 {
			return value, err
		}
		longest := max(firstPause<<n, time.Since(begun)/2)
		time.Sleep(min(rand.N(longest), spare))
	}
}

// attempt tries once to set a key, and returns its value. If redsync cannot set it on a majority of
// the servers, our run may have the key all the same: an answer was lost, or the run took it
// before. Then that value counts, and is kept from now on. The errors are as in take; ErrSplit
// comes without a wait.
func (s *Store) attempt(
	ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration, asked order,
) (string, error) {
	key, value := s.key(kind, name), mutex.NewValue(holder)
	lock, calls := redsyncMutex(ctx, s.servers, key, value, keep, asked)
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
	values, err := s.read(ctx, key)
	if err != nil {
		return "", err
	}
	found := values[0]
	text, servers := mostCommon(found)
	_, undone := s.undos.Load(text)
	switch holder := mutex.HolderOf(text); {
	case servers >= s.majority && holder.Run != run:
		return "", &mutex.HeldError{Name: name, Holder: holder}
	case servers >= s.majority && !undone:
		return text, nil
	}
	for _, value := range found {
		if value != "" && mutex.HolderOf(value).Run == run {
			err = cmp.Or(err, s.release(ctx, key, value))
		}
	}
	return "", cmp.Or(err, mutex.ErrSplit)
}

const confirmScript = `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3]) return 1`

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

// emptyText stands for an empty value that another program has set, because "" stands for no value.
const emptyText = "garbage"

// read returns, for each key, the values that the servers have, "" for a server that has no value.
func (s *Store) read(ctx context.Context, keys ...string) ([][]string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) ([]any, error) {
		return c.MGet(ctx, keys...).Result()
	})
	found := make([][]string, len(keys))
	for i := range keys {
		for _, values := range answers {
			text, isSet := values[i].(string)
			if isSet && text == "" {
				text = emptyText
			}
			found[i] = append(found[i], text)
		}
	}
	return found, err
}

// count returns how many of the answers of the servers match.
func count[T any](answers []T, matches func(T) bool) (servers int) {
	for _, answer := range answers {
		if matches(answer) {
			servers++
		}
	}
	return servers
}

// mostCommon returns the value that most servers have, and how many have it.
func mostCommon(found []string) (text string, servers int) {
	counts := map[string]int{}
	for _, value := range found {
		counts[value]++
		if value != "" && counts[value] > servers {
			text, servers = value, counts[value]
		}
	}
	return text, servers
}

// release removes a key from the servers on which it has the value. After an error this is unknown.
func (s *Store) release(ctx context.Context, key, text string) error {
	lock, calls := redsyncMutex(ctx, s.servers, key, text, s.config.Lease, atOnce)
	_, _ = lock.UnlockContext(ctx) // the calls have the errors
	return s.outage(failures(calls))
}

// A call is the connection of redsync to one server, during one operation: our limits of time and
// our errors hold for the requests of redsync, too. redsync calls SetNX or Eval once, and Eval once
// more after a failed attempt.
type call struct {
	redsyncredis.Conn // nil: redsync calls no other methods
	ctx               context.Context
	server            *server
	previous          []*call       // SetNX waits until these calls have settled
	settled           chan struct{} // closed at the end of SetNX
	tried             bool          // SetNX was called
	wasSet            bool          // SetNX set the key
	err               error         // there was no answer: the server may have done it or not
}

// A connector is a call where redsync wants a pool of connections.
type connector struct{ *call }

func (c connector) Get(context.Context) (redsyncredis.Conn, error) { return c.call, nil }

func (c *call) Close() error { return nil }

// redsyncMutex returns a key with a value for redsync, and the calls of one operation with it, one
// for each server. The timeout of redsync is not used: our requests have a deadline.
func redsyncMutex(
	ctx context.Context, servers []*server, key, value string, keep time.Duration, asked order,
) (*redsync.Mutex, []*call) {
	var connectors []redsyncredis.Pool
	var calls []*call
	for _, server := range servers {
		c := &call{ctx: ctx, server: server, settled: make(chan struct{})}
		if asked == inTurn {
			c.previous = calls
		}
		calls, connectors = append(calls, c), append(connectors, connector{c})
	}
	lock := redsync.New(connectors...).NewMutex(key,
		redsync.WithExpiry(keep),
		redsync.WithTries(1),
		redsync.WithTimeoutFactor(1),
		redsync.WithSetNXOnExtend(),
		redsync.WithValue(value),
		redsync.WithGenValueFunc(func() (string, error) { return value, nil }))
	return lock, calls
}

// SetNX sets a key that is not there, and reports whether it did. If many runs want one key, only
// the run that comes first at the first server that answers goes on from there. Otherwise the votes
// split.
func (c *call) SetNX(key, value string, keep time.Duration) (bool, error) {
	defer close(c.settled)
	c.tried = true
	for _, previous := range c.previous {
		<-previous.settled
		if previous.wasSet {
			break
		}
		if previous.err == nil { // this server refused: another run came first
			return false, nil
		}
	}
	c.wasSet, c.err = do(c.ctx, c.server, func(ctx context.Context) (bool, error) {
		return c.conn(ctx).SetNX(key, value, keep)
	})
	return c.wasSet, c.err
}

// Eval renews or releases a key. It also removes what a failed attempt has set.
func (c *call) Eval(script *redsyncredis.Script, keyAndArgs ...any) (any, error) {
	if c.tried && c.err == nil && !c.wasSet { // the server refused SetNX: it has nothing to remove
		return int64(0), nil
	}
	reply, err := do(c.ctx, c.server, func(ctx context.Context) (any, error) {
		return c.conn(ctx).Eval(script, keyAndArgs...)
	})
	c.err = cmp.Or(c.err, err)
	return reply, err
}

func (c *call) conn(ctx context.Context) redsyncredis.Conn {
	conn, _ := redsyncgo.NewPool(c.server).Get(ctx) // the error is always nil
	return conn
}

// failures returns the errors of the servers that did not answer.
func failures(calls []*call) (errs []error) {
	for _, c := range calls {
		if c.err != nil {
			errs = append(errs, c.err)
		}
	}
	return errs
}
