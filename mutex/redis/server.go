package redis

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
)

// rest is how long a silent server is not asked again: a tick with many slots waits for it once.
const rest = time.Second

// A server is one Redis, or the primary behind Sentinels, or a Cluster: one vote of the store.
type server struct {
	goredis.UniversalClient
	kind    string // "" for one server, "sentinel" or "cluster"
	name    string // for people, without passwords
	options *goredis.UniversalOptions
	limit   time.Duration           // of a request: one of several leaves time for the others
	silent  atomic.Pointer[silence] // the last one
}

type silence struct {
	err   error
	rests time.Time // until then the server is not asked
}

// do calls request with a bounded context, unless the server rests. The error is a *StoreError;
// goredis.Nil counts as no error.
func do[T any](ctx context.Context, s *server, request func(context.Context) (T, error)) (reply T, err error) {
	if last := s.silent.Load(); last != nil && time.Now().Before(last.rests) {
		return reply, last.err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	reply, err = request(ctx)
	if err == nil || err == goredis.Nil { // not errors.Is: Sentinels that do not know the primary answer with a wrapped one
		return reply, nil
	}
	explained, answered := s.explain(err)
	if !answered && (!timedOut(err) || time.Since(begun) > s.limit/2) { // a caller without time proves nothing
		s.silent.Store(&silence{explained, time.Now().Add(rest)})
	}
	return reply, explained
}

// begin bounds an operation. A caller that is cancelled does not end it: nobody would know what it
// did.
func begin(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if latest := time.Now().Add(timeout); !limited || end.After(latest) {
		end = latest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// query asks all servers at once, and returns the answers. It returns an error if fewer than a
// majority answered. An error of request counts as an answer only if it is goredis.Nil.
func query[T any](ctx context.Context, s *Store, request func(context.Context, *server) (T, error)) (answers []T, err error) {
	ctx, cancel := begin(ctx)
	defer cancel()
	replies, errs := make([]T, len(s.servers)), make([]error, len(s.servers))
	mutex.Each(len(s.servers), func(i int) {
		replies[i], errs[i] = do(ctx, s.servers[i], func(ctx context.Context) (T, error) { return request(ctx, s.servers[i]) })
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

// risks reads the answer to INFO. A Redis may save to disk besides its log. If INFO does not
// mention a setting, risks takes it to be well.
func (s *server) risks(info string, saves bool) (risks []mutex.Risk) {
	says := func(field string) bool { return strings.Contains(info, "\n"+field) }
	for _, known := range []struct {
		is         bool
		text, hint string
		evicts     bool
	}{
		{says("maxmemory_policy:") && !says("maxmemory_policy:noeviction") && !says("maxmemory:0"),
			"may throw locks away when its memory is full", "set maxmemory-policy noeviction, or use a Redis of its own", true},
		{says("aof_enabled:0") && !saves,
			"keeps nothing on disk: after its restart a slot may run again on another server", "set appendonly yes", false},
		{says("connected_slaves:") && s.kind != "" && !says("min_slaves_good_slaves:"), // which is there if min-replicas-to-write is set
			"takes writes while no replica gets them: a failover forgets what was granted meanwhile",
			"set min-replicas-to-write 1 and min-replicas-max-lag 10", false},
	} {
		if known.is {
			risks = append(risks, mutex.Risk{Text: "Redis " + s.name + " " + known.text, Hint: known.hint, Evicts: known.evicts})
		}
	}
	return risks
}
