package mutex

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// patience is how long an operation on the store may take in all: its connections, its
	// repetitions, and all servers at once.
	patience = 2 * time.Second

	// probeEvery is how often a server that did not answer is asked whether it does again.
	probeEvery = time.Second

	// connections bounds those of one process to one server: a tick with a hundred tasks needs no more.
	connections = 8
)

// A server is one Redis of the store. It is up until it cannot be reached or does not answer in
// time; then every request to it fails at once, those under way too, until a probe in the
// background is answered. So a process waits for a server once, however much it asks.
type server struct {
	place   string // as people know it
	options *redis.Options
	lease   time.Duration
	memory  *memory
	closed  context.Context

	mu     sync.Mutex
	client *redis.Client
	up     context.Context // done when the server is found to be down
	fall   context.CancelCauseFunc
	down   *StoreError // why it is down; nil when it is up

	clock bool          // whether we know its clock
	ahead time.Duration // by how much that is ahead of ours, at least
	life  string        // the id of the life that it is in
	begun time.Time     // when that life began, if the rule of restarts looks at it
}

// A way says how a request is put.
type way int

const (
	ask    way = iota // fails at once while the server is down
	insist            // asks a server that is down, too
	take              // as ask, but nothing of a server that may have forgotten what it gave away
)

// reach calls f with the client of the server, if that is up, and judges what comes of it. A
// connection that breaks is replaced once when again says that f may be called twice.
func (s *server) reach(ctx context.Context, how way, again bool, f func(context.Context, *redis.Client) error) error {
	client, up, err := s.enter(how)
	if err != nil {
		return err
	}
	begun := time.Now()
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(up, cancel)()

	err = f(request, client)
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		s.rise(client)
		return nil
	case up.Err() != nil:
		return context.Cause(up)
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	case again && broken(err):
		return s.reach(ctx, how, false, f)
	}
	explained, deaf := s.explain(err)
	switch {
	case !deaf:
		s.rise(client)
	case !timedOut(err) || time.Since(begun) > patience/2: // who had little time left learns little
		s.drop(client, explained)
	}
	return explained
}

// enter returns the client, unless the server should not be asked.
func (s *server) enter(how way) (*redis.Client, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil && how != insist {
		return nil, nil, s.down
	}
	if err := s.forgetful(); err != nil && how == take {
		return nil, nil, err
	}
	return s.client, s.up, nil
}

// broken says that a connection ended on which the server, or a box on the way, had been up:
// another one may work.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// drop takes the server for down, ends the requests under way with their connections, and begins
// to probe it.
func (s *server) drop(client *redis.Client, why *StoreError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client != s.client || s.closed.Err() != nil {
		return // somebody else found out before
	}
	probing := s.down != nil
	s.down = why
	s.fall(why)
	s.client.Close() // its requests fail now, wherever they are
	s.connect()
	if !probing {
		go s.probe()
	}
}

// connect makes a new client; it connects when it is used.
func (s *server) connect() {
	s.client = redis.NewClient(s.options)
	s.up, s.fall = context.WithCancelCause(context.Background())
}

// rise takes the server for up again.
func (s *server) rise(client *redis.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client == s.client {
		s.down = nil
	}
}

// probe asks a server that is down every second whether it is up.
func (s *server) probe() {
	for s.outage() != nil {
		select {
		case <-s.closed.Done():
			return
		case <-time.After(probeEvery):
		}
		ctx, cancel := context.WithTimeout(s.closed, patience)
		s.reach(ctx, insist, true, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
		cancel()
	}
}

func (s *server) outage() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		return nil
	}
	return s.down
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client.Close()
}
