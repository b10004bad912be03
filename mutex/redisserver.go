package mutex

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex/redisurl"
)

const (
	// probeEvery is the time between two probes of a server that is down.
	probeEvery = time.Second

	// connections bounds those of one process to one server: a tick with a hundred tasks needs no more.
	connections = 8
)

// A server is one Redis of the store. It is up until it cannot be reached or does not answer in
// time; then every request to it fails at once, those under way too, until a probe in the
// background is answered. So a process waits for a silent server once, however many requests it has.
type server struct {
	name      string // for people: the host, host:port, the path of the socket, or who is asked for it
	target    *redisurl.Target
	finder    *redisurl.Finder
	options   *redis.Options
	lease     time.Duration
	granted   string // the key of the hash that counts what each instance granted
	instances *instances
	tellings  func() []telling // what it is told when it may have forgotten claims; nil: nothing
	closed    context.Context  // done when the store is closed

	mu      sync.Mutex // guards what follows
	client  *redis.Client
	up      context.Context // done when the server goes down
	goDown  context.CancelCauseFunc
	whyDown *StoreError // why it is down; nil while it is up
	refused *StoreError // why a request is tried again that waits for its turn or its answer; nil where none is

	queue   []*queued // requests that wait for their turn
	sending bool      // sendQueue is at work

	roundTrip time.Duration // of the newest connection, at its begin; 0 before there was one

	clockKnown bool          // ahead is set
	ahead      time.Duration // how far its clock is ahead of ours, at least
	instance   string        // the run_id of the instance of Redis that answers
	started    time.Time     // when that instance started, if it may have forgotten locks; zero otherwise
	forgot     string        // how it may have
}

// newServer returns a server that is taken for up. go-redis neither repeats requests nor waits by its
// own rules: the deadline of a request is all that bounds it.
func newServer(target *redisurl.Target, lease time.Duration, granted string, known *instances, closed context.Context) *server {
	o, finder := target.Options(granted, timeout)
	s := &server{name: target.Name(), target: target, finder: finder, options: o, lease: lease, granted: granted, instances: known, closed: closed}
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.ContextTimeoutEnabled = true
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = connections, 0, 0
	o.ReadBufferSize, o.WriteBufferSize = 4096, 4096 // a waiting run has one connection, and should be small
	o.Protocol, o.DisableIdentity = 2, true          // without the extra requests of a new connection
	o.OnConnect = s.onConnect
	s.newClient()
	return s
}

// newClient replaces the client; the new one connects when it is used.
func (s *server) newClient() {
	s.client = redis.NewClient(s.options)
	s.up, s.goDown = context.WithCancelCause(context.Background())
}

// A sendRule says in which state of a server a request is sent; otherwise it fails at once.
type sendRule int

const (
	ifUp       sendRule = iota // while the server is up
	evenIfDown                 // always
	ifTrusted                  // while it is up and cannot have forgotten locks by a restart
)

// do calls f with the client of the server, if the rule allows it, and judges by the error whether
// the server is up. While the server takes no connections f is called again, until ctx is done: it may be starting. If repeat is
// set, f is also called again after a connection broke.
func (s *server) do(ctx context.Context, rule sendRule, repeat bool, f func(context.Context, *redis.Client) error) error {
	client, up, err := s.clientFor(rule)
	if err != nil {
		return err
	}
	begun := time.Now()
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(up, cancel)()

	err = f(request, client)
	for pause := shortestPause; (passes(err, repeat) || s.moved(err)) && s.waitRefused(request, err, pause); pause = min(2*pause, longestPause) {
		if s.moved(err) {
			client = s.reconnect(client)
		}
		again := f(request, client)
		if timedOut(again) {
			break // what was said before says more
		}
		err = again
	}
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		s.noteRefused(nil)
		s.markUp(client)
		return nil
	case up.Err() != nil:
		return context.Cause(up)
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	}
	explained, unreachable := s.explain(err)
	switch {
	case !unreachable:
		s.markUp(client)
	case !timedOut(err) && !passes(err, repeat) && !s.moved(err) || time.Since(begun) > timeout/2: // a request with a short deadline proves no outage
		s.markDown(client, explained)
	}
	return explained
}

// waitRefused waits before a request is sent again, and notes why. It reports false when the request is over.
func (s *server) waitRefused(request context.Context, err error, pause time.Duration) bool {
	explained, _ := s.explain(err)
	s.noteRefused(explained)
	return waitUnlessOver(request, pause)
}

func (s *server) noteRefused(why *StoreError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = why
}

// whyNoAnswer says why a request got no answer in its time.
func (s *server) whyNoAnswer() *StoreError {
	s.mu.Lock()
	refused := s.refused
	s.mu.Unlock()
	if refused != nil {
		return refused
	}
	return s.explainNoAnswer(context.DeadlineExceeded)
}

// clientFor returns the client and the context that ends when the server goes down, or the error that
// keeps a request with this rule from being sent.
func (s *server) clientFor(rule sendRule) (*redis.Client, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whyDown != nil && rule != evenIfDown {
		return nil, nil, s.whyDown
	}
	if err := s.mayHaveForgotten(time.Time{}); err != nil && rule == ifTrusted {
		return nil, nil, err
	}
	return s.client, s.up, nil
}

// shortestPause and longestPause bound the time between two connections that a server refuses.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// passes reports whether an error may be over in a moment, since the server is being started or has too many connections. Nothing
// was done then, except where a connection broke (broken).
func passes(err error, broken bool) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) || broken && connectionBroke(err) ||
		redis.HasErrorPrefix(err, "LOADING") || redis.HasErrorPrefix(err, "max number of clients")
}

// waitUnlessOver waits, unless the context ends before that.
func waitUnlessOver(ctx context.Context, d time.Duration) bool {
	end, bounded := ctx.Deadline()
	if bounded && time.Until(end) <= d {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// connectionBroke says that a connection ended on which the server, or a proxy on the way, had been
// up: another one may work.
func connectionBroke(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// markDown takes the server for down, ends the requests under way with their connections, and begins
// to probe it.
func (s *server) markDown(client *redis.Client, why *StoreError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client != s.client || s.closed.Err() != nil {
		return // another request has marked it before
	}
	probing := s.whyDown != nil
	s.whyDown = why
	s.goDown(why)
	s.client.Close() // its requests fail now, wherever they are
	s.newClient()
	if !probing {
		go s.probe()
	}
}

// markUp takes the server for up again, if client is still the one in use.
func (s *server) markUp(client *redis.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client == s.client {
		s.whyDown = nil
	}
}

// probe sends a PING every second until the server is up or the store is closed.
func (s *server) probe() {
	for s.down() != nil {
		select {
		case <-s.closed.Done():
			return
		case <-time.After(probeEvery):
		}
		ctx, cancel := context.WithTimeout(s.closed, timeout)
		s.do(ctx, evenIfDown, true, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
		cancel()
	}
}

// down returns why the server is down, nil while it is up.
func (s *server) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whyDown == nil {
		return nil
	}
	return s.whyDown
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client.Close()
}
