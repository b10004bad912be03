package mutex

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"

	"sched/mutex/redisserver"
)

// A redlock is one key as one run wants it from a majority of the servers, for a lock or a claim.
//
// A redsync.Mutex runs each attempt and each release. It sends to all servers at the same time, and
// decides: the key is ours when a majority says so before it would expire, clock drift included, and
// otherwise it is released. But its connections are ours (conn), and send our scripts, since with those
// that redsync brings a Mutex cannot keep the contract of Locks:
//
//   - It reports that a key is taken, but not by whom. So HeldError would have no Holder, and three runs
//     that got one server each would all be "held", though none of them is.
//   - It sends SET NX, which a paused server does when it goes on: long after the run has given up, a
//     lock is then held for a lease, and a slot is claimed that no server runs. It has no place for
//     the holder either, which must be written in the same step.
//   - It releases what a failed attempt got by the value of the key, which for us names the run. A run
//     that claims a key a second time would so delete its own claim.
//   - It counts every server that answers, also one that was restarted and may have forgotten its locks.
//
// TestAPlainRedsyncMutexDoesNotKeepTheContract pins the first three. Should it fail with a newer
// redsync, see whether conn can go.
type redlock struct {
	redis    *Redis
	key      string
	value    string        // of the key
	run      string        // of the holder
	keep     time.Duration // for how long
	end      time.Time     // of the operation
	sequence *sequence     // of a lock; nil for a claim
}

// loserPause is how much longer a run waits that got no server at all.
const loserPause = 150 * time.Millisecond

// acquire takes the key with a request, whose script answers "ours" or "held". It attempts it again
// after a short random time as long as no run has a majority. The error is a *HeldError without a
// name, or a *StoreError.
func (l redlock) acquire(q redisserver.Request) (tally, error) {
	var conns []*conn
	var pause time.Duration
	for attempt := 0; attempt == 0 || time.Now().Before(l.end); attempt++ {
		if attempt > 0 {
			time.Sleep(pause + rand.N(10*time.Millisecond<<min(attempt, 5)))
		}
		conns = l.conns(&q, conns)
		l.redis.inFlight.Add(len(conns)) // for the releases, if the attempt fails
		if l.mutex(conns).TryLockContext(context.Background()) == nil {
			l.redis.inFlight.Add(-len(conns))
			return answered(conns), nil
		}
		t := answered(conns)
		if err := l.failure(t); err != nil {
			return tally{}, err
		}
		if pause = 0; t.ours == 0 { // leave it to those who came closer: of many that try again at once none has a majority
			pause = loserPause
		}
		for _, c := range conns {
			c.awaitRelease() // no release may hit the next attempt
		}
	}
	return tally{}, &StoreError{Text: "the servers of the store do not agree on who has the mutex", Hint: "one of them may have been without it for a while; the next run will see"}
}

// failure says why an attempt failed: another run has the majority, or too few servers answered. Nil
// says that the next attempt may succeed.
func (l redlock) failure(t tally) error {
	if holder, servers := t.holder(); servers >= l.redis.quorum() {
		return &HeldError{Holder: holder}
	}
	return l.redis.outage(t.failed)
}

// release removes the key where it has our value. The error says that this is unknown.
func (l redlock) release() error {
	conns := l.conns(nil, nil)
	l.mutex(conns).UnlockContext(context.Background()) //nolint: the conns have the errors of each server
	return l.redis.outage(answered(conns).failed)
}

// mutex is the key for redsync, for one attempt or release. Its timeout, a part of the expiry, is not
// used: our requests have a deadline.
func (l redlock) mutex(conns []*conn) *redsync.Mutex {
	var pools []redsyncredis.Pool
	for _, c := range conns {
		pools = append(pools, pool{c})
	}
	return redsync.New(pools...).NewMutex(l.key,
		redsync.WithExpiry(l.keep), redsync.WithTries(1), redsync.WithFailFast(true), redsync.WithTimeoutFactor(1),
		redsync.WithValue(l.value), redsync.WithGenValueFunc(func() (string, error) { return l.value, nil }))
}

// A conn is the connection of redsync to one server, for one attempt or one release.
type conn struct {
	redsyncredis.Conn // nil: redsync calls SetNX, Eval and Close alone
	redlock
	server *redisserver.Server
	round  *round
	busy   *conn // of an earlier attempt, which the server is still busy with: this one does nothing

	request *redisserver.Request // of an attempt; nil for a release
	again   bool                 // an earlier attempt may have left our key there

	before   <-chan struct{} // closed when the server may be sent something
	done     chan struct{}   // closed when answer is set
	released chan struct{}   // closed when a failed attempt is released
	answer   redisserver.Answer
}

// A round is one attempt on all servers. It does not wait for a server that is much slower than a majority: whose answer comes
// late is released then, and asked again only when that is done.
type round struct {
	begun  time.Time
	enough chan struct{} // closed when the slower ones are not waited for any more

	mu      sync.Mutex
	missing int // answers, until a majority has answered
}

// lateAfter is how much longer than a majority took a server may take, as a factor, and at least.
const (
	lateAfter   = 2
	lateAtLeast = 25 * time.Millisecond
)

// answers notes that a server has answered.
func (r *round) answers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing--; r.missing == 0 {
		time.AfterFunc(max(lateAtLeast, lateAfter*time.Since(r.begun)), func() { close(r.enough) })
	}
}

// conns returns the connections for an attempt with a request, or for a release without. Those of the attempt before (nil: none)
// say which servers are still busy with that: they are left out.
func (l redlock) conns(q *redisserver.Request, last []*conn) (conns []*conn) {
	round := &round{begun: time.Now(), enough: make(chan struct{}), missing: l.redis.quorum()}
	for i, s := range l.redis.servers {
		c := &conn{redlock: l, server: s, round: round, again: last != nil, done: make(chan struct{}), released: make(chan struct{})}
		l.redis.inFlight.Add(1) // here, since Close may be called before the goroutines of redsync begin
		conns = append(conns, c)
		if last != nil {
			if c.busy = last[i].unreleased(); c.busy != nil {
				continue
			}
		}
		if q != nil {
			own := *q
			own.End = l.end
			c.request = &own
		}
		c.before = l.sequence.add(i, c.done)
	}
	return conns
}

// answered counts the answers that are there. redsync does not wait for the others when it has enough.
func answered(conns []*conn) (t tally) {
	for _, c := range conns {
		select {
		case <-c.done:
			t.add(c.answer)
		default:
		}
	}
	return t
}

// A pool has one connection.
type pool struct{ *conn }

func (p pool) Get(context.Context) (redsyncredis.Conn, error) { return p.conn, nil }

// errLate is for redsync: the round goes on without the answer of this server.
var errLate = errors.New("does not answer as fast as the others")

// SetNX sends the request of the attempt, and returns whether the key is ours.
func (c *conn) SetNX(string, string, time.Duration) (bool, error) {
	defer c.redis.inFlight.Done()
	if c.busy != nil {
		return false, errLate
	}
	if len(c.redis.servers) == 1 { // there is none to go on without
		c.ask()
		return c.answer.Word(0) == "ours", c.answer.Err
	}
	c.redis.inFlight.Go(c.ask)
	select {
	case <-c.done:
		return c.answer.Word(0) == "ours", c.answer.Err
	case <-c.round.enough:
		return false, errLate
	}
}

// ask sends the request and sets the answer. A server that says that our run has the key, after an attempt whose answer was lost,
// has given it to us then.
func (c *conn) ask() {
	defer close(c.done)
	<-c.before
	c.answer = c.server.Run(*c.request)
	if c.answer.Err == nil && len(c.redis.servers) > 1 { // one that is of no use is no part of a majority
		c.round.answers()
	}
	if c.answer.Word(0) == "held" && c.answer.Word(1) == c.run && (c.again || c.answer.Sent > 1) {
		c.answer.Words = []string{"ours", c.answer.Word(3)}
	}
}

// Eval removes the key where it has our value, for a release or after a failed attempt: redsync calls it with a script for that. That of a
// server that has not answered the attempt comes when it has, and is not waited for.
func (c *conn) Eval(_ *redsyncredis.Script, keyAndValue ...any) (reply any, err error) {
	defer c.redis.inFlight.Done()
	if c.request == nil && c.busy == nil {
		defer close(c.done)
		<-c.before
		reply, err = c.remove(keyAndValue)
		c.answer = redisserver.Answer{Words: []string{"free"}, Err: err}
		return reply, err
	}
	if c.busy != nil {
		return int64(0), nil
	}
	undo := func() {
		defer close(c.released)
		<-c.done
		// A server that answered and gave us nothing is left alone: our run may have the key there from before.
		if c.answer.Err != nil || c.answer.Word(0) == "ours" {
			c.remove(keyAndValue)
		}
	}
	select {
	case <-c.done:
		undo()
	default:
		c.redis.inFlight.Go(undo)
	}
	return int64(0), nil
}

// remove removes the key where it has our value, as the script of redsync does, and goes with what else is sent to this server: tasks that
// end together take no connection each. It has no deadline there, since nobody is harmed by one that comes late.
func (c *conn) remove(keyAndValue []any) (reply any, err error) {
	a := c.server.Run(redisserver.Request{EvenLate: true, End: c.end, Script: &releaseScript, Keys: []string{keyAndValue[0].(string)}, Args: keyAndValue[1:]})
	if a.Err == nil && a.Words[0] == "ours" {
		return int64(1), nil
	}
	return int64(0), a.Err
}

// unreleased returns the conn of a failed attempt whose release is not done yet: this one, or an earlier one that it waited for.
func (c *conn) unreleased() *conn {
	if c.busy != nil {
		c = c.busy
	}
	select {
	case <-c.released:
		return nil
	default:
		return c
	}
}

// awaitRelease waits for the release on a server that has answered, unless it takes long.
func (c *conn) awaitRelease() {
	if c.busy != nil {
		return
	}
	select {
	case <-c.done:
	default:
		return
	}
	select {
	case <-c.released:
	case <-time.After(lateAtLeast):
	}
}

// Close does nothing: a conn is not kept.
func (c *conn) Close() error { return nil }
