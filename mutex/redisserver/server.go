// Package redisserver asks one Redis: it keeps the connections, sends scripts with a deadline, and knows when the server is down or
// may have forgotten what it granted.
//
// What several servers mean together, a majority, is not its matter, and what the scripts do is not: see package mutex.
//
// # Goals
//
//   - An answer comes in time, or an *Error that says in one line what is wrong: a Request ends at its End, and a server that does not
//     answer costs a process two seconds (Timeout) once, however much it is asked.
//   - What nobody waits for any more is not done: a script that reaches the server after its end does nothing there, by the
//     server's own clock.
//   - Few round trips: requests that come while one is under way go together, on one connection.
//   - A server that was restarted, or replaced by a replica, grants nothing as long as it may have forgotten what a run still has.
//     This shows as far as the machine was told what the server granted; see Instances.
//
// # Non-goals
//
//   - Whether a request without an answer was done. Who sends it again must send what may be done twice.
//   - Waiting until a server is up: while it is down requests fail at once, and a probe each second finds out.
//   - Restarts and clocks where the user of the URL may not see INFO and TIME: they go unnoticed, and scripts have no deadline.
package redisserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"sched/mutex/redisurl"
)

// Timeout is how long an operation on servers may take in all: its connections, its repetitions, and all servers at once. A server
// that takes as long to connect, or to answer, is down. The End of a Request and the context of Do should be no later.
const Timeout = 2 * time.Second

// connections bounds those of one process to one server: a tick with a hundred tasks needs no more.
const connections = 8

// A Server is one Redis, or whichever is the primary behind Sentinels, or has the keys in a Cluster. It is up until it cannot be reached
// or does not answer in time; then every request to it fails at once, those under way too, until a probe in the
// background is answered. So a process waits for a silent server once, however many requests it has. It is safe for concurrent use.
type Server struct {
	name      string // for people: the host, host:port, the path of the socket, or who is asked for it
	target    *redisurl.Target
	finder    *redisurl.Finder
	options   *redis.Options
	lease     time.Duration
	granted   string // the key of the hash that counts what each instance granted
	instances *Instances
	restore   func() []Request // what it is sent when it may have forgotten claims; nil: nothing
	closed    context.Context  // done by close
	close     context.CancelFunc

	mu      sync.Mutex // guards what follows
	client  *redis.Client
	up      context.Context // done when the server goes down
	goDown  context.CancelCauseFunc
	whyDown *Error // why it is down; nil while it is up
	refused *Error // why a request is tried again that waits for its turn or its answer; nil where none is

	queue   []*queued // requests that wait for their turn
	sending bool      // sendQueue is at work

	roundTrip time.Duration // of the newest connection, at its begin; 0 before there was one

	clockKnown bool          // ahead is set
	ahead      time.Duration // how far its clock is ahead of ours, at least
	instance   string        // the run_id of the instance of Redis that answers
	started    time.Time     // when that instance started, if it may have forgotten locks; zero otherwise
	forgot     string        // how it may have
}

// disableLogging keeps go-redis from printing: it returns the same as errors.
var disableLogging = sync.OnceFunc(logging.Disable)

// New returns a server that is taken for up. It connects when it is first asked something. What it grants lasts for the lease unless it
// is renewed, and is counted in the hash with the key granted; in a Cluster all keys must be in the slot of that key. Known has the
// instances that this machine has met; the servers of one store share it.
func New(target *redisurl.Target, lease time.Duration, granted string, known *Instances) *Server {
	disableLogging()
	o, finder := target.Options(granted, Timeout)
	s := &Server{name: target.Name(), target: target, finder: finder, options: o, lease: lease, granted: granted, instances: known}
	s.closed, s.close = context.WithCancel(context.Background())
	// go-redis neither repeats requests nor waits by its own rules: the deadline of a request is all that bounds it.
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = Timeout, Timeout, Timeout, Timeout
	o.ContextTimeoutEnabled = true
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = connections, 0, 0
	o.ReadBufferSize, o.WriteBufferSize = 4096, 4096 // a waiting run has one connection, and should be small
	o.Protocol, o.DisableIdentity = 2, true          // without the extra requests of a new connection
	o.OnConnect = s.onConnect
	s.newClient()
	return s
}

// Name names the server for people: the host, host:port, the path of the socket, or who is asked for it.
func (s *Server) Name() string { return s.name }

// Moves reports whether another server may take the place of this one: behind Sentinels, or in a Cluster.
func (s *Server) Moves() bool { return s.target.Moves() }

// RestoreWith has the server be sent requests when it may have forgotten claims: on each new connection until it is trusted again,
// before anything is claimed on it. They must be EvenLate. Call it before the first request.
func (s *Server) RestoreWith(requests func() []Request) { s.restore = requests }

// Close ends the connections and the probing.
func (s *Server) Close() {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client.Close()
}

// newClient replaces the client; the new one connects when it is used.
func (s *Server) newClient() {
	s.client = redis.NewClient(s.options)
	s.up, s.goDown = context.WithCancelCause(context.Background())
}

// Do calls f with a client of the server, unless that is down, and judges by the error whether it is; redis.Nil is no error. While it
// takes no connections f is called again, until ctx is done. The error is an *Error, or the cause of a ctx that was cancelled.
func (s *Server) Do(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	return s.do(ctx, ifUp, false, f)
}

// do calls f with the client of the server, if the rule allows it, and judges by the error whether
// the server is up. While the server takes no connections f is called again, until ctx is done: it may be starting. If repeat is
// set, f is also called again after a connection broke.
func (s *Server) do(ctx context.Context, rule sendRule, repeat bool, f func(context.Context, *redis.Client) error) error {
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
	case !timedOut(err) && !passes(err, repeat) && !s.moved(err) || time.Since(begun) > Timeout/2: // a request with a short deadline proves no outage
		s.markDown(client, explained)
	}
	return explained
}

// waitRefused waits before a request is sent again, and notes why. It reports false when the request is over.
func (s *Server) waitRefused(request context.Context, err error, pause time.Duration) bool {
	explained, _ := s.explain(err)
	s.noteRefused(explained)
	return waitUnlessOver(request, pause)
}

func (s *Server) noteRefused(why *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = why
}

// whyNoAnswer says why a request got no answer in its time.
func (s *Server) whyNoAnswer() *Error {
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
func (s *Server) clientFor(rule sendRule) (*redis.Client, context.Context, error) {
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
