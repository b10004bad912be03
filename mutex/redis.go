package mutex

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex/redisserver"
)

// Redis keeps mutexes for many machines: on one Redis, or on a majority of several independent ones
// (Redlock). It is safe for concurrent use.
//
// A lock is a key with the id of its run that Redis removes when the lease ends; a process that knows
// the id renews and releases it. A run that was stopped for longer than its
// lease may go on beside the next one, until it learns of the loss.
//
// Every operation ends within two seconds, and at once when a server was found to be down before.
// No answer is never read as free or as held: the error is then a *StoreError.
type Redis struct {
	config    Config
	servers   []*redisserver.Server
	instances redisserver.Instances
	inFlight  sync.WaitGroup // requests, also those whose answers are not waited for
}

var _ Locks = (*Redis)(nil)

// Dial prepares the store of a config. It does not connect: the first request does.
func Dial(c Config) (*Redis, error) {
	r := &Redis{config: c}
	for i := range c.Servers {
		target, err := c.target(i)
		if err != nil {
			return nil, err
		}
		r.servers = append(r.servers, redisserver.New(target, c.lease(), r.Key("granted"), &r.instances))
	}
	if len(r.servers) == 0 {
		return nil, c.Check()
	}
	return r, nil
}

// Close ends the connections. What a majority has answered already may still be on its way to the
// other servers: that gets a quarter of a second.
func (r *Redis) Close() error {
	done := make(chan struct{})
	go func() { r.inFlight.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(redisserver.Timeout / 8):
	}
	for _, s := range r.servers {
		s.Close()
	}
	r.instances.Save()
	return nil
}

// RememberInstances keeps in a file which instances of Redis this machine has met, so that the next
// process notices a restart; after one, a Redis grants no locks and claims for one lease. Call it
// before the first request, in processes that take locks. A file that cannot be read or written is
// as none.
func (r *Redis) RememberInstances(path string) {
	r.instances.Load(path, r.config.lease())
}

// Config returns what the store was dialed with.
func (r *Redis) Config() Config { return r.config }

// Name names a server for people, by its number in the config.
func (r *Redis) Name(server int) string { return r.servers[server].Name() }

// Moves reports whether another server may take the place of the one with this number in the config: behind Sentinels, or in a Cluster.
func (r *Redis) Moves(server int) bool { return r.servers[server].Moves() }

// Key returns a key in the namespace of the schedule.
func (r *Redis) Key(parts ...string) string {
	return "sched:{" + r.config.Namespace + "}:" + strings.Join(parts, ":")
}

// Do calls f for every server at the same time, by its number in the config, and returns within two seconds, if f heeds the
// context. It returns nil when a majority answered without an error (redis.Nil is none), and does not wait for servers that are much
// slower than that: f may go on for them. While a server is down f is not called for it.
func (r *Redis) Do(ctx context.Context, f func(ctx context.Context, server int, c *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, redisserver.Timeout)
	errs := make(chan error, len(r.servers))
	var all sync.WaitGroup
	for i, s := range r.servers {
		all.Add(1)
		r.inFlight.Go(func() {
			defer all.Done()
			errs <- s.Do(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, i, c) })
		})
	}
	go func() { all.Wait(); cancel() }()
	begun, late := time.Now(), (<-chan time.Time)(nil)
	var failed []error
	for answers := range r.servers {
		select {
		case err := <-errs:
			if err != nil {
				failed = append(failed, err)
			}
		case <-late:
			return nil
		}
		if answers+1-len(failed) == r.quorum() && late == nil {
			late = time.After(max(lateAtLeast, lateAfter*time.Since(begun)))
		}
	}
	return r.outage(failed)
}

// Down returns why the store is of no use: a majority of the servers is down. Nil says that this was
// not so when the servers were last asked. It sends nothing.
func (r *Redis) Down() error {
	var failed []error
	for _, s := range r.servers {
		if err := s.Down(); err != nil {
			failed = append(failed, err)
		}
	}
	return r.outage(failed)
}

// quorum is the number of servers without which nothing is decided: a majority.
func (r *Redis) quorum() int { return len(r.servers)/2 + 1 }

// outage returns nil while the servers that did not fail are a majority, and otherwise one error for
// all of them.
func (r *Redis) outage(failed []error) error {
	if len(r.servers)-len(failed) >= r.quorum() {
		return nil
	}
	return joinErrors(len(r.servers), failed)
}

// deadline returns when an operation that begins now ends.
func deadline(ctx context.Context) time.Time {
	end := time.Now().Add(redisserver.Timeout)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(end) {
		return sooner
	}
	return end
}
