package redis

import (
	"context"
	"sync"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
)

// rest is how long a server is not asked after it was silent or refused a connection. A tick with
// hundreds of slots so waits for it once.
const rest = time.Second

// A server is one Redis, or the primary behind Sentinels, or a Cluster: one vote of the store.
type server struct {
	target *target
	client goredis.UniversalClient
	pool   redsyncredis.Pool // redsync's, on the same client

	mu      sync.Mutex
	failure *mutex.StoreError // of the last request; nil when it was answered
	again   time.Time         // until then the server is not asked
	undos   map[string]undo   // by value: what may be there though its attempt has failed
}

// An undo removes a key where it has the value that a failed attempt gave it.
type undo struct {
	script *redsyncredis.Script
	key    string
}

func newServer(t *target) *server {
	s := &server{target: t, client: t.connect(), undos: map[string]undo{}}
	s.pool = redsyncgo.NewPool(s.client)
	return s
}

// do calls request with a context that ends at the given time, unless the server rests. The error
// is a *StoreError; goredis.Nil is none. sent says whether the request was made.
func (s *server) do(end time.Time, request func(context.Context) (any, error)) (reply any, sent bool, err error) {
	if err := s.resting(); err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	begun := time.Now()
	reply, err = request(ctx)
	if err == nil || err == goredis.Nil { // not errors.Is: Sentinels that do not know the primary answer with a wrapped one
		s.note(nil, false)
		return reply, true, nil
	}
	explained, answered := s.target.explain(err)
	soon := timedOut(err) && time.Since(begun) < timeout/2 // the caller had no time: that proves nothing
	if !soon {
		s.note(explained, !answered)
	}
	return nil, true, explained
}

// note keeps how the last request ended.
func (s *server) note(failure *mutex.StoreError, rests bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = failure
	if s.again = (time.Time{}); rests {
		s.again = time.Now().Add(rest)
	}
}

// resting returns why the server is not asked now; nil when it is.
func (s *server) resting() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.target.broken != nil:
		return s.target.broken
	case time.Now().Before(s.again):
		return s.failure
	}
	return nil
}

// lastFailure returns why the last request failed; nil when it was answered.
func (s *server) lastFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		return nil
	}
	return s.failure
}

// mayHave notes that the server may set the key to the value though its attempt has failed.
func (s *server) mayHave(value string, u undo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undos[value] = u
}

// hasNot notes that the value is not there, or not any more.
func (s *server) hasNot(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.undos, value)
}

// isUndone reports whether the value is of a failed attempt.
func (s *server) isUndone(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.undos[value]
	return found
}

// undoAll removes the values of failed attempts, as far as the server answers by the end.
func (s *server) undoAll(end time.Time) {
	s.mu.Lock()
	undos := s.undos
	s.undos = map[string]undo{}
	s.again = time.Time{}
	s.mu.Unlock()
	if len(undos) == 0 {
		return
	}
	s.do(end, func(ctx context.Context) (any, error) {
		_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for value, u := range undos {
				p.Eval(ctx, u.script.Src, []string{u.key}, value)
			}
			return nil
		})
		return nil, err
	})
}
