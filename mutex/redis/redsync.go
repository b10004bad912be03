package redis

import (
	"cmp"
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// This file lends our servers to redsync for one operation.

// An order says in which order an attempt asks the servers.
type order int

const (
	atOnce order = iota // all servers at the same time
	inTurn              // each server when the answers of the servers before it allow it: see call.SetNX
)

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
	ctx context.Context, servers []*server, key, value string, keep time.Duration, askOrder order,
) (*redsync.Mutex, []*call) {
	var connectors []redsyncredis.Pool
	var calls []*call
	for _, server := range servers {
		c := &call{ctx: ctx, server: server, settled: make(chan struct{})}
		if askOrder == inTurn {
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
