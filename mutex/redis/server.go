package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
)

// rest is how long a silent server is not asked again: a tick with many slots waits for it once.
const rest = time.Second

// A server is one Redis, or the primary behind Sentinels, or a Cluster: one vote of the store.
type server struct {
	target *target
	client goredis.UniversalClient
	undos  sync.Map                // key by value: what may be there though its attempt has failed
	failed atomic.Pointer[failure] // of the last request; nil when it was answered
}

// A failure is why the last request got no good answer.
type failure struct {
	err   error
	rests time.Time // until then the server is not asked
}

// do calls request with a bounded context, unless the server rests. The error is a *StoreError;
// goredis.Nil is none.
func do[T any](ctx context.Context, s *server, request func(context.Context) (T, error)) (reply T, err error) {
	if last := s.failed.Load(); last != nil && time.Now().Before(last.rests) {
		return reply, last.err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.target.limit)
	defer cancel()
	reply, err = request(ctx)
	if err == nil || err == goredis.Nil { // not errors.Is: Sentinels that do not know the primary answer with a wrapped one
		s.failed.Store(nil)
		return reply, nil
	}
	explained, answered := s.target.explain(err)
	switch {
	case answered:
		s.failed.Store(&failure{err: explained})
	case !timedOut(err) || time.Since(begun) > s.target.limit/2: // a caller without time proves nothing
		s.failed.Store(&failure{explained, time.Now().Add(rest)})
	}
	return reply, explained
}

// begin bounds an operation. It goes on when the caller gives up: nobody would know what it did.
func begin(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if latest := time.Now().Add(timeout); !limited || end.After(latest) {
		end = latest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// query asks all servers at once, and returns the answers if they are those of a majority. An error
// of request is an answer only when it is goredis.Nil.
func query[T any](ctx context.Context, s *Store, request func(context.Context, goredis.UniversalClient) (T, error)) (answers []T, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := begin(ctx)
	defer cancel()
	replies, errs := make([]T, len(s.servers)), make([]error, len(s.servers))
	mutex.Each(len(s.servers), func(i int) {
		replies[i], errs[i] = do(ctx, s.servers[i], func(ctx context.Context) (T, error) { return request(ctx, s.servers[i].client) })
	})
	var failed []error
	for i, err := range errs {
		if err != nil {
			failed = append(failed, err)
		} else {
			answers = append(answers, replies[i])
		}
	}
	if len(answers) < s.majority() {
		return nil, joinErrors(len(errs), failed)
	}
	return answers, nil
}

const removeScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end`

// undo removes the values of attempts that failed without an answer.
func (s *server) undo(ctx context.Context) {
	p := s.client.Pipeline()
	s.undos.Range(func(value, key any) bool {
		p.Eval(ctx, removeScript, []string{key.(string)}, value)
		return true
	})
	if p.Len() > 0 {
		s.failed.Store(nil) // it is asked also when it rests
		do(ctx, s, p.Exec)
	}
}

// Risks returns what may go wrong with the servers as they are set up, as far as they tell.
func (s *Store) Risks(ctx context.Context) (risks []mutex.Risk) {
	for _, server := range s.servers {
		do(ctx, server, func(ctx context.Context) (any, error) {
			client := server.client
			if cluster, ok := client.(*goredis.ClusterClient); ok {
				node, err := cluster.MasterForKey(ctx, s.key("clock"))
				if err != nil {
					return nil, err
				}
				client = node
			}
			info, err := client.Info(ctx).Result()
			if err == nil {
				saves, refused := client.ConfigGet(ctx, "save").Result() // a hosted Redis may refuse
				risks = append(risks, server.target.risks(info, refused != nil || saves["save"] != "")...)
			} else if goredis.HasErrorPrefix(err, "NOPERM") {
				err = nil
			}
			return nil, err
		})
	}
	return risks
}

// risks reads what INFO says. A Redis may save to disk besides its log. What INFO does not mention
// is taken to be well.
func (t *target) risks(info string, saves bool) (risks []mutex.Risk) {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[field] = value
	}
	add := func(evicts bool, hint, text string, args ...any) {
		risks = append(risks, mutex.Risk{Text: fmt.Sprintf("Redis "+t.name+" "+text, args...), Hint: hint, Evicts: evicts})
	}
	if policy := fields["maxmemory_policy"]; policy != "noeviction" && policy != "" && fields["maxmemory"] != "0" {
		add(true, "set maxmemory-policy noeviction, or use a Redis of its own",
			"may throw locks away when its memory is full (maxmemory-policy %s)", mutex.Clean(policy))
	}
	if fields["aof_enabled"] == "0" && !saves {
		add(false, "set appendonly yes", "keeps nothing on disk: after its restart a slot may run again on another server")
	}
	switch replicas := fields["connected_slaves"]; {
	case t.kind == "" || replicas == "":
	case replicas == "0":
		add(false, "`redis-cli info replication` shows who copies from it", "has no replica: nothing takes over when it goes down")
	case fields["min_slaves_good_slaves"] == "": // said where min-replicas-to-write is set
		add(false, "set min-replicas-to-write 1 and min-replicas-max-lag 10",
			"takes writes while no replica gets them: a failover forgets what was granted meanwhile")
	}
	return risks
}
