package redis

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"sched/mutex"
)

const (
	shortPause = 10 * time.Millisecond  // between two attempts at most; doubled with each one
	shortest   = 150 * time.Millisecond // time for an attempt
)

// take sets a key for a holder, and returns its value. An attempt ends in one of four ways:
//
//   - redsync set the key on a majority of the servers.
//   - Another run has a majority: *HeldError.
//   - Our run has a majority: an answer was lost, or the run took the key before. That value
//     counts. The key is kept from now on, and a claim gets the value of this attempt (confirm).
//   - No run has a majority. Then the next attempt follows, until the deadline: ErrSplit.
//
// Any other error means that this is unknown.
func (s *Store) take(ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration) (string, error) {
	ctx, cancel := begin(ctx)
	defer cancel()
	end, _ := ctx.Deadline()
	key, answered := s.key(kind, name), false
	for attempt := 0; ; attempt++ {
		begun, text, ownValue := time.Now(), "", mutex.NewValue(holder)
		lock, calls := s.mutexOf(ctx, key, ownValue, keep, attempt < 3) // later: a dead run may have the first server
		if lock.TryLockContext(ctx) == nil {
			return ownValue, nil
		}
		failed := failures(calls)
		if len(failed) > 0 {
			s.undos.Store(ownValue, key) // it may still be executed
		}
		err := s.outage(failed)
		if err == nil {
			answered = true
			text, err = s.look(ctx, key, name, holder.Run)
			if text != "" && kind == "claim" {
				text, err = s.confirm(ctx, key, text, ownValue, keep)
			} else if text != "" { // other processes of the run know the value of its lock
				text, err = s.confirm(ctx, key, text, text, keep)
			}
		}
		switch left := time.Until(end); {
		case text != "", errors.As(err, new(*mutex.HeldError)), err != nil && (!answered || left > 0):
			return text, err
		case err != nil, left < shortest: // the time is over
			return "", mutex.ErrSplit
		}
		time.Sleep(min(rand.N(max(shortPause<<attempt, time.Since(begun)/2)), time.Until(end)-shortest))
	}
}

// look returns the value of the run if a majority has it, and *HeldError if a majority has a value
// of another run. Otherwise it removes what the run has on a minority, and returns "".
func (s *Store) look(ctx context.Context, key, name, run string) (string, error) {
	all, err := s.read(ctx, key)
	if err != nil {
		return "", err
	}
	found := all[0]
	text, servers := most(found)
	_, undone := s.undos.Load(text)
	switch holder := mutex.HolderOf(text); {
	case servers >= s.majority && holder.Run != run:
		return "", &mutex.HeldError{Name: name, Holder: holder}
	case servers >= s.majority && !undone:
		return text, nil
	}
	for _, text := range found {
		if text != "" && mutex.HolderOf(text).Run == run {
			err = cmp.Or(err, s.release(ctx, key, text))
		}
	}
	return "", err
}

const confirmScript = `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3]) return 1`

// confirm keeps a key of our run from now on, and returns its value; "" if no majority had the
// earlier value any more. The process that set the earlier value may have asked the store to remove
// it, and the store may do so at any time from now on. So a claim gets a new value.
func (s *Store) confirm(ctx context.Context, key, earlier, value string, keep time.Duration) (string, error) {
	done, err := query(ctx, s, func(ctx context.Context, c *server) (bool, error) {
		return c.Eval(ctx, confirmScript, []string{key}, earlier, value, keep.Milliseconds()).Bool()
	})
	confirmed := len(slices.DeleteFunc(done, func(yes bool) bool { return !yes }))
	if err != nil || confirmed < s.majority {
		return "", err
	}
	return value, nil
}

// read returns, for each key, the values that the servers have, "" for a server that has no value.
func (s *Store) read(ctx context.Context, keys ...string) ([][]string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) ([]any, error) {
		return c.MGet(ctx, keys...).Result()
	})
	found := make([][]string, len(keys))
	for i := range keys {
		for _, values := range answers {
			text, there := values[i].(string)
			if there && text == "" {
				text = "garbage"
			}
			found[i] = append(found[i], text)
		}
	}
	return found, err
}

// most returns the value that most servers have, and how many have it.
func most(found []string) (text string, servers int) {
	count := map[string]int{}
	for _, v := range found {
		if count[v]++; v != "" && count[v] > servers {
			text, servers = v, count[v]
		}
	}
	return text, servers
}

// release removes a key from the servers on which it has the value. After an error this is unknown.
func (s *Store) release(ctx context.Context, key, text string) error {
	lock, calls := s.mutexOf(ctx, key, text, s.config.Lease, false)
	lock.UnlockContext(ctx) //nolint: the calls have the errors
	return s.outage(failures(calls))
}

// claimAtLeast is how long a claim is kept whatever the clocks say, even if its slot is long gone.
const claimAtLeast = time.Hour

// Claim takes key for the run of the holder: a lock that is never released.
func (s *Store) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	_, err := s.take(ctx, "claim", key, holder, max(time.Until(until), claimAtLeast))
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
		if text, servers := most(values[i]); servers >= s.majority {
			held[name] = mutex.HolderOf(text)
		}
	}
	return held, err
}

// A call presents a server to redsync, as a pool and a connection, for one operation. redsync calls
// SetNX or Eval once, and Eval once more after a failed attempt.
type call struct {
	redsyncredis.Conn // nil: redsync calls no other methods
	ctx               context.Context
	server            *server
	before            []*call       // calls for whose SetNX its own one waits
	asked             chan struct{} // closed after SetNX
	takes             bool          // SetNX was called
	yes               bool          // it was set
	err               error         // why this is unknown
}

type pool struct{ *call }

func (p pool) Get(context.Context) (redsyncredis.Conn, error) { return p.call, nil }

func (c *call) Close() error { return nil }

// mutexOf returns a key with a value for redsync, and the calls of one operation with it, to all
// servers at once or to each in turn. The timeout of redsync is not used: our requests have a
// deadline.
func (s *Store) mutexOf(ctx context.Context, key, value string, keep time.Duration, inTurn bool) (*redsync.Mutex, []*call) {
	var pools []redsyncredis.Pool
	var calls []*call
	for _, server := range s.servers {
		c := &call{ctx: ctx, server: server, asked: make(chan struct{})}
		if inTurn {
			c.before = calls
		}
		calls, pools = append(calls, c), append(pools, pool{c})
	}
	return redsync.New(pools...).NewMutex(key, redsync.WithExpiry(keep), redsync.WithTries(1), redsync.WithTimeoutFactor(1),
		redsync.WithSetNXOnExtend(), redsync.WithValue(value),
		redsync.WithGenValueFunc(func() (string, error) { return value, nil })), calls
}

// SetNX sets a key that is not there, and reports whether it did. If many runs want one key, only
// the run that comes first at the first server that answers goes on from there. Otherwise the votes
// split.
func (c *call) SetNX(key, value string, keep time.Duration) (bool, error) {
	defer close(c.asked)
	c.takes = true
	for _, before := range c.before {
		if <-before.asked; before.yes {
			break
		} else if before.err == nil {
			return false, nil
		}
	}
	c.yes, c.err = do(c.ctx, c.server, func(ctx context.Context) (bool, error) { return c.conn(ctx).SetNX(key, value, keep) })
	return c.yes, c.err
}

// Eval renews or releases a key. It also removes what a failed attempt has set.
func (c *call) Eval(script *redsyncredis.Script, keyAndArgs ...any) (any, error) {
	if c.takes && c.err == nil && !c.yes {
		return int64(0), nil
	}
	reply, err := do(c.ctx, c.server, func(ctx context.Context) (any, error) { return c.conn(ctx).Eval(script, keyAndArgs...) })
	c.err = cmp.Or(c.err, err)
	return reply, err
}

func (c *call) conn(ctx context.Context) redsyncredis.Conn {
	conn, _ := redsyncgo.NewPool(c.server).Get(ctx) // it has no error
	return conn
}

func failures(calls []*call) (errs []error) {
	for _, c := range calls {
		if c.err != nil {
			errs = append(errs, c.err)
		}
	}
	return errs
}
