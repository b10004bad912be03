package redis

import (
	"cmp"
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// A vote is one operation of redsync: what it asks each server.
type vote []*call

// A call is a server as a pool and a connection of redsync. redsync calls SetNX or Eval once, and
// Eval once more after a failed attempt.
type call struct {
	redsyncredis.Conn // nil: redsync calls no other methods
	ctx               context.Context
	server            *server
	before            vote          // calls for whose SetNX its own one waits
	asked             chan struct{} // closed after SetNX
	takes             bool          // SetNX was called
	yes               bool          // it was set, renewed or released
	err               error         // why this is unknown
}

type pool struct{ *call }

func (p pool) Get(context.Context) (redsyncredis.Conn, error) { return p.call, nil }

func (c *call) Close() error { return nil }

// mutexOf is a key with a value for redsync, and what one operation with it asks: all servers at
// once, or each in turn. Its timeout is not used: our requests have a deadline.
func (s *Store) mutexOf(ctx context.Context, key, value string, keep time.Duration, inTurn bool, options ...redsync.Option) (*redsync.Mutex, vote) {
	var pools []redsyncredis.Pool
	var v vote
	for _, server := range s.servers {
		c := &call{ctx: ctx, server: server, asked: make(chan struct{})}
		if inTurn {
			c.before = v
		}
		v, pools = append(v, c), append(pools, pool{c})
	}
	return redsync.New(pools...).NewMutex(key, append(options, redsync.WithExpiry(keep), redsync.WithTries(1), redsync.WithTimeoutFactor(1),
		redsync.WithValue(value), redsync.WithGenValueFunc(func() (string, error) { return value, nil }))...), v
}

// SetNX sets a key that is not there, and reports whether it did. Of many runs that want one key,
// only the first at the first server that answers goes on from there: otherwise the votes split.
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

// Eval renews or releases a key. It also removes what an attempt has set that failed.
func (c *call) Eval(script *redsyncredis.Script, keyAndArgs ...any) (any, error) {
	if c.takes && c.err == nil && !c.yes {
		return int64(0), nil
	}
	reply, err := do(c.ctx, c.server, func(ctx context.Context) (any, error) { return c.conn(ctx).Eval(script, keyAndArgs...) })
	if c.err = cmp.Or(c.err, err); !c.takes {
		c.yes = reply == int64(1)
	}
	return reply, err
}

func (c *call) conn(ctx context.Context) redsyncredis.Conn {
	conn, _ := redsyncgo.NewPool(c.server.client).Get(ctx) // it has no error
	return conn
}

// count counts the answers. The error says why there are not all of them.
func (v vote) count() (yes, no int, missing error) {
	var failed []error
	for _, c := range v {
		switch {
		case c.err != nil:
			failed = append(failed, c.err)
		case c.yes:
			yes++
		default:
			no++
		}
	}
	return yes, no, joinErrors(len(v), failed)
}

// outage returns nil when a majority has answered.
func (v vote) outage() error {
	if yes, no, missing := v.count(); yes+no <= len(v)/2 {
		return missing
	}
	return nil
}
