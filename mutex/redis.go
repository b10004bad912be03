package mutex

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Redis keeps mutexes for many machines: on one Redis, or on a majority of several that know nothing
// of each other (Redlock, through redsync).
//
// A lock is a key with the id of its run that Redis removes when the lease ends; whoever knows the id
// renews and releases it. A lease is not a fence: a run that was stopped for longer than its lease
// may go on beside the next one, until it learns of the loss. Fence is for what must refuse it.
//
// Every operation ends within two seconds, and once a server was found not to answer, at once.
// No answer is never read as free or as held: the error is then a *StoreError.
type Redis struct {
	config  Config
	servers []*server
	memory  memory
	busy    sync.WaitGroup // requests under way
	close   context.CancelFunc
}

var _ Store = (*Redis)(nil)

// silence keeps go-redis from printing: what it has to say comes back as an error, too.
var silence = sync.OnceFunc(logging.Disable)

// Dial prepares the store of a config. It does not connect before something is asked.
func Dial(c Config) (*Redis, error) {
	silence()
	closed, stop := context.WithCancel(context.Background())
	r := &Redis{config: c, close: stop}
	for i := range c.Servers {
		options, err := c.options(i)
		if err != nil {
			stop()
			return nil, err
		}
		s := &server{place: placeOf(options), options: options, lease: c.lease(), memory: &r.memory, closed: closed}
		s.tune()
		s.connect()
		r.servers = append(r.servers, s)
	}
	if len(r.servers) == 0 {
		stop()
		return nil, c.Check()
	}
	return r, nil
}

// tune makes go-redis keep to our deadline: it neither repeats nor waits by itself.
func (s *server) tune() {
	o := s.options
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	o.ContextTimeoutEnabled = true
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = connections, 0, 0
	o.ReadBufferSize, o.WriteBufferSize = 4096, 4096 // a waiting run has one connection, and should be small
	o.Protocol, o.DisableIdentity = 2, true          // without the extra questions of a new connection
	o.OnConnect = s.meet
}

// Close ends the connections. What a majority has answered already may still be on its way to the
// other servers: that gets a moment.
func (r *Redis) Close() error {
	done := make(chan struct{})
	go func() { r.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience / 8):
	}
	r.close()
	for _, s := range r.servers {
		s.close()
	}
	return nil
}

// Remember keeps in a file which Redis this machine has seen, so that the next process knows one
// that was started again; such a Redis gives no locks and claims away for one lease from its start.
// It is called before anything is asked, by processes that take locks.
func (r *Redis) Remember(path string) { r.memory.open(path) }

// Key returns a key of the schedule.
func (r *Redis) Key(parts ...string) string {
	return "sched:{" + r.config.Namespace + "}:" + strings.Join(parts, ":")
}

// Do calls f for every server at the same time, by its number in the config, and returns when all
// have ended: after two seconds at the latest, if f heeds the context. It returns nil when a majority
// answered without an error (redis.Nil is none). While a server is down f is not called for it.
func (r *Redis) Do(ctx context.Context, f func(ctx context.Context, server int, c *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	errs := make(chan error, len(r.servers))
	for i, s := range r.servers {
		r.busy.Go(func() {
			errs <- s.reach(ctx, ask, false, func(ctx context.Context, c *redis.Client) error { return f(ctx, i, c) })
		})
	}
	var failed []error
	for range r.servers {
		if err := <-errs; err != nil {
			failed = append(failed, err)
		}
	}
	return r.enough(failed)
}

// Down returns the outage in effect: a majority of the servers is down. Nil says that there was none
// when the store was asked last.
func (r *Redis) Down() error {
	var failed []error
	for _, s := range r.servers {
		if err := s.outage(); err != nil {
			failed = append(failed, err)
		}
	}
	return r.enough(failed)
}

// quorum is the number of servers without which nothing is decided.
func (r *Redis) quorum() int { return len(r.servers)/2 + 1 }

// enough returns an error when those that did not fail are no majority.
func (r *Redis) enough(failed []error) error {
	if len(r.servers)-len(failed) >= r.quorum() {
		return nil
	}
	return outage(len(r.servers), failed)
}

// deadline is when an operation that begins now ends.
func deadline(ctx context.Context) time.Time {
	end := time.Now().Add(patience)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(end) {
		return sooner
	}
	return end
}
