package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	goredis "github.com/redis/go-redis/v9"
)

// A round asks all servers at once. After a majority has answered, it waits for the others twice as
// long as the majority took, at least for grace.
type round struct {
	store *Store
	ctx   context.Context // of the caller
	end   time.Time       // of each request
	begun time.Time
	takes bool // it takes a key: what redsync evaluates then undoes that
	queue bool // the first server is asked before the others
	calls []*call

	mu      sync.Mutex
	missing int           // answers until a majority has answered
	enough  chan struct{} // closed when slower servers are not waited for
}

const grace = 25 * time.Millisecond

// patience is how long the first server of a queue is waited for.
const patience = 10 * grace

// A call is the request of a round to one server, and the pool of redsync with its one connection.
// redsync calls SetNX or Eval once, and Eval once more after a failed attempt.
type call struct {
	redsyncredis.Conn // nil: redsync calls no other methods
	*round
	server *server

	done  chan struct{} // closed when what follows is set
	reply any
	err   error // why there is no answer
}

// errLate is for redsync: the round goes on without the answer of this server.
var errLate = errors.New("is slower than the others")

// newRound prepares a round, all of whose calls must be made.
func (s *Store) newRound(ctx context.Context) *round {
	end, _ := ctx.Deadline()
	r := &round{store: s, ctx: ctx, end: end, begun: time.Now(), missing: s.majority(), enough: make(chan struct{})}
	for _, server := range s.servers {
		r.calls = append(r.calls, &call{round: r, server: server, done: make(chan struct{})})
	}
	s.working.Add(len(r.calls)) // here, because Close may be called before the goroutines of redsync begin
	return r
}

// query asks every server, and returns the answers: those of a majority, and of servers that are
// hardly slower. An error of request is an answer only when it is goredis.Nil.
func query[T any](ctx context.Context, s *Store, request func(context.Context, goredis.UniversalClient) (T, error)) ([]T, error) {
	if err := cancelled(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := s.newRound(ctx)
	var all sync.WaitGroup
	for _, c := range r.calls {
		all.Go(func() {
			c.ask(func(ctx context.Context) (any, error) { return request(ctx, c.server.client) })
		})
	}
	all.Wait()
	var answers []T
	for _, c := range r.calls {
		if reply, err := c.answer(); err == nil {
			answers = append(answers, reply.(T))
		}
	}
	return answers, r.outage()
}

// mutexOf is a key with a value for redsync. Its timeout is not used: our requests have a deadline.
func (r *round) mutexOf(key, value string, keep time.Duration, options ...redsync.Option) *redsync.Mutex {
	var pools []redsyncredis.Pool
	for _, c := range r.calls {
		pools = append(pools, pool{c})
	}
	return redsync.New(pools...).NewMutex(key, append([]redsync.Option{
		redsync.WithExpiry(keep), redsync.WithTries(1), redsync.WithTimeoutFactor(1),
		redsync.WithValue(value), redsync.WithGenValueFunc(func() (string, error) { return value, nil }),
	}, options...)...)
}

type pool struct{ *call }

func (p pool) Get(context.Context) (redsyncredis.Conn, error) { return p.call, nil }

func (c *call) Close() error { return nil }

// SetNX sets a key that is not there, and reports whether it did. Of many runs that want the same
// key at the same time, the one that comes first to the first server goes on to the others, and the
// rest leave them alone: otherwise the votes split.
func (c *call) SetNX(key, value string, keep time.Duration) (bool, error) {
	if first := c.calls[0]; c.queue && c != first {
		select {
		case <-first.done:
		case <-time.After(patience):
		}
		if reply, err := first.answer(); err == nil && reply == false {
			c.reply = false
			close(c.done)
			c.store.working.Done()
			return false, nil
		}
	}
	reply, err := c.askRedsync(func(conn redsyncredis.Conn) (any, error) { return conn.SetNX(key, value, keep) })
	set, _ := reply.(bool)
	return set, err
}

// Eval renews or releases a key. After a failed attempt it undoes what this server has done for it.
func (c *call) Eval(script *redsyncredis.Script, keyAndArgs ...any) (any, error) {
	if c.takes {
		return c.undo(script, keyAndArgs)
	}
	return c.askRedsync(func(conn redsyncredis.Conn) (any, error) { return conn.Eval(script, keyAndArgs...) })
}

func (c *call) askRedsync(request func(redsyncredis.Conn) (any, error)) (any, error) {
	return c.ask(func(ctx context.Context) (any, error) { return c.server.redsync(ctx, request) })
}

// redsync calls request with a connection of redsync's own pool.
func (s *server) redsync(ctx context.Context, request func(redsyncredis.Conn) (any, error)) (any, error) {
	conn, err := s.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	return request(conn)
}

// ask makes the request, and returns the answer, or errLate when it is not waited for any more.
func (c *call) ask(request func(context.Context) (any, error)) (any, error) {
	go func() {
		defer c.store.working.Done()
		defer close(c.done)
		c.reply, c.err = c.server.do(c.end, request)
		if c.err == nil {
			c.answered()
		}
	}()
	select {
	case <-c.done:
	case <-c.enough:
	case <-c.ctx.Done():
	}
	return c.answer()
}

func (c *call) answer() (any, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	default:
		return nil, errLate
	}
}

func (r *round) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing--; r.missing == 0 {
		time.AfterFunc(max(grace, 2*time.Since(r.begun)), func() { close(r.enough) })
	}
}

// undo removes the key where the failed attempt has set it: now, or as soon as the server has
// answered. When there is no answer, Close tries. Redsync needs no result.
func (c *call) undo(script *redsyncredis.Script, keyAndValue []any) (any, error) {
	value, undone := keyAndValue[1].(string), make(chan struct{})
	c.server.undos.Store(value, undo{script, keyAndValue[0].(string)})
	c.store.working.Go(func() {
		defer close(undone)
		<-c.done
		err := c.err
		if c.reply == true {
			_, err = c.server.do(time.Now().Add(timeout), func(ctx context.Context) (any, error) {
				return c.server.redsync(ctx, func(conn redsyncredis.Conn) (any, error) { return conn.Eval(script, keyAndValue...) })
			})
		}
		if err == nil {
			c.server.undos.Delete(value)
		}
	})
	select {
	case <-undone:
	case <-c.enough:
	case <-c.ctx.Done():
	}
	return nil, errLate
}

func (r *round) count(yes bool) (n int) {
	for _, c := range r.calls {
		if reply, err := c.answer(); err == nil && (reply == true || reply == int64(1)) == yes {
			n++
		}
	}
	return n
}

func (r *round) failures() (failed []error) {
	for _, c := range r.calls {
		_, err := c.answer()
		if err == errLate {
			err, _ = c.server.target.explain(context.DeadlineExceeded)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// outage returns nil when a majority has answered.
func (r *round) outage() error {
	failed := r.failures()
	switch {
	case len(r.calls)-len(failed) >= r.store.majority():
		return nil
	case cancelled(r.ctx) != nil:
		return cancelled(r.ctx)
	}
	return joinErrors(len(r.calls), failed)
}

// cancelled returns why the caller wants no answer any more. A deadline is none: requests end by it.
func cancelled(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	return nil
}
