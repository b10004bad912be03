package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
)

// rest is how long a silent server is not asked again: a tick with many slots waits for it once.
const rest = time.Second

// never is how long a server rests whose certificates cannot be read.
const never = 100 * 365 * 24 * time.Hour

// A server is one Redis, or the primary behind Sentinels, or a Cluster: one vote of the store.
type server struct {
	target *target
	client goredis.UniversalClient
	pool   redsyncredis.Pool // redsync's, on the same client

	undos  sync.Map                // undo by value: what may be there though its attempt has failed
	failed atomic.Pointer[failure] // of the last request; nil when it was answered
}

// A failure is why the last request got no good answer.
type failure struct {
	err   error
	rests time.Time // until then the server is not asked
}

// An undo removes a key where it has the value that a failed attempt gave it.
type undo struct {
	script *redsyncredis.Script
	key    string
}

func newServer(t *target) *server {
	s := &server{target: t, client: t.connect()}
	s.pool = redsyncgo.NewPool(s.client)
	if t.broken != nil {
		s.failed.Store(&failure{t.broken, time.Now().Add(never)})
	}
	return s
}

// do calls request with a context that ends at the given time, unless the server rests. The error
// is a *StoreError; goredis.Nil is none.
func (s *server) do(end time.Time, request func(context.Context) (any, error)) (reply any, err error) {
	if last := s.failed.Load(); last != nil && time.Now().Before(last.rests) {
		return nil, last.err
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	begun := time.Now()
	reply, err = request(ctx)
	if err == nil || err == goredis.Nil { // not errors.Is: Sentinels that do not know the primary answer with a wrapped one
		s.failed.Store(nil)
		return reply, nil
	}
	explained, answered := s.target.explain(err)
	switch {
	case answered:
		s.failed.Store(&failure{err: explained})
	case !timedOut(err) || time.Since(begun) > timeout/2: // a caller without time proves nothing
		s.failed.Store(&failure{explained, time.Now().Add(rest)})
	}
	return nil, explained
}

// undoAll removes the values of failed attempts, as far as the server answers by the end.
func (s *server) undoAll(end time.Time) {
	var all []func(goredis.Pipeliner)
	s.undos.Range(func(value, u any) bool {
		all = append(all, func(p goredis.Pipeliner) {
			p.Eval(context.Background(), u.(undo).script.Src, []string{u.(undo).key}, value)
		})
		return true
	})
	if len(all) == 0 {
		return
	}
	s.failed.Store(nil) // it is asked also when it rests
	s.do(end, func(ctx context.Context) (any, error) {
		return s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, add := range all {
				add(p)
			}
			return nil
		})
	})
}
