package mutex

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// An election asks a majority of the servers for a key. redsync counts the votes, keeps the time,
// and gives back what was won in vain. What redsync cannot know is ours: a server that may have
// forgotten its locks has no vote; of three runs that got one server each none has the mutex, so
// they try again; and where our run had the key before, nothing is given back.
type election struct {
	redis *Redis
	key   string
	value string        // of the key
	run   string        // whose it shall be
	keep  time.Duration // for how long
	end   time.Time     // of our patience
	queue *queue        // of the requests about a lock; nil for a claim
}

// rounds bounds how often an election without a winner is repeated.
const rounds = 6

// hold repeats the election until somebody has the key.
func (e election) hold(q request) (count, error) {
	for round := range rounds {
		if round > 0 {
			time.Sleep(rand.N(10 * time.Millisecond << round))
		}
		booths := e.booths(func(b *booth) { own := q; b.ballot, b.again = &own, round > 0 })
		e.redis.busy.Add(len(booths)) // for what was won in vain
		if e.mutex(booths).TryLockContext(context.Background()) == nil {
			e.redis.busy.Add(-len(booths))
			return result(booths), nil
		}
		if err := e.lost(result(booths)); err != nil {
			return count{}, err
		}
		for _, b := range booths {
			<-b.freed // what comes late would decide, or give back what the next round wins
		}
		if err := e.lost(result(booths)); err != nil {
			return count{}, err
		}
		if time.Now().After(e.end) {
			break
		}
	}
	return count{}, e.undecided()
}

// lost says why nothing was won, if that is known: another run has it, or too many are silent.
func (e election) lost(c count) error {
	if holder, votes := c.holder(); votes >= e.redis.quorum() {
		return &HeldError{Holder: holder}
	}
	return e.redis.enough(c.failed)
}

func (e election) undecided() error {
	return &StoreError{"the servers of the store do not agree on who has the mutex", "one of them may have been without it for a while; the next run will see"}
}

// release frees the key where it has our value.
func (e election) release() error {
	booths := e.booths(func(*booth) {})
	e.mutex(booths).UnlockContext(context.Background()) //nolint: the booths know more
	c := result(booths)
	return e.redis.enough(c.failed)
}

// mutex is the key as redsync sees it. The timeouts of redsync, which are parts of the expiry, are
// not used: our requests have their own deadline.
func (e election) mutex(booths []*booth) *redsync.Mutex {
	var pools []redsyncredis.Pool
	for _, b := range booths {
		pools = append(pools, pool{b})
	}
	return redsync.New(pools...).NewMutex(e.key,
		redsync.WithExpiry(e.keep), redsync.WithTries(1), redsync.WithFailFast(true), redsync.WithTimeoutFactor(1),
		redsync.WithValue(e.value), redsync.WithGenValueFunc(func() (string, error) { return e.value, nil }))
}

// A booth is the connection of redsync to one server for one round.
type booth struct {
	redsyncredis.Conn // nil: redsync does not call the rest
	election
	server *server
	ballot *request // what asks for the key
	again  bool     // there were rounds before, which may have left our key there

	before <-chan struct{} // closed when it is our turn
	done   chan struct{}   // closed when the server has answered
	freed  chan struct{}   // closed when it has given back what was won in vain
	vote   answer
}

func (e election) booths(prepare func(*booth)) (booths []*booth) {
	for i, s := range e.redis.servers {
		b := &booth{election: e, server: s, done: make(chan struct{}), freed: make(chan struct{})}
		b.before = e.queue.join(i, b.done)
		e.redis.busy.Add(1) // here, since redsync lets its goroutines begin when we may be closing already
		prepare(b)
		booths = append(booths, b)
	}
	return booths
}

// A queue keeps the requests about one lock in order on each server: what a majority has answered
// may still be on its way to the others, and must not come after what is asked next.
type queue []<-chan struct{}

// join returns what to wait for; done is closed when it is the turn of the next.
func (q *queue) join(server int, done <-chan struct{}) (before <-chan struct{}) {
	if q == nil {
		return nobody
	}
	before, (*q)[server] = (*q)[server], done
	return before
}

// nobody is before us.
var nobody = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// result counts the votes that are in. redsync does not wait for the others when it has enough.
func result(booths []*booth) (c count) {
	for _, b := range booths {
		select {
		case <-b.done:
			c.add(b.vote)
		default:
		}
	}
	return c
}

type pool struct{ *booth }

func (p pool) Get(context.Context) (redsyncredis.Conn, error) { return p.booth, nil }

// SetNX asks for the key. A server that says that our run has it, when it was asked before and the
// answer was lost, has given it to us.
func (b *booth) SetNX(string, string, time.Duration) (bool, error) {
	defer b.redis.busy.Done()
	defer close(b.done)
	<-b.before
	b.vote.words, b.vote.err = b.server.run(b.end, b.ballot)
	if b.vote.word(0) == "held" && b.vote.word(1) == b.run && (b.again || b.ballot.sent > 1) {
		b.vote.words = []string{"ours", b.vote.word(3)}
	}
	return b.vote.word(0) == "ours", b.vote.err
}

// Eval gives the key back, with the script of redsync that compares its value: in the end, or when
// the election was lost. Then a server that gave us nothing keeps what it has, which may be a key
// that our run got in another way.
func (b *booth) Eval(script *redsyncredis.Script, keyAndValue ...any) (freed any, err error) {
	defer b.redis.busy.Done()
	if b.ballot != nil {
		defer close(b.freed)
		<-b.done
		if b.vote.err == nil && b.vote.word(0) != "ours" {
			return int64(0), nil
		}
	} else {
		defer close(b.done)
		<-b.before
	}
	ctx, cancel := context.WithDeadline(context.Background(), b.end)
	defer cancel()
	err = b.server.reach(ctx, ask, true, func(ctx context.Context, c *redis.Client) error {
		conn, err := goredis.NewPool(c).Get(ctx)
		if err == nil {
			freed, err = conn.Eval(script, keyAndValue...)
		}
		return err
	})
	if b.ballot == nil {
		b.vote = answer{words: []string{"free"}, err: err}
	}
	return freed, err
}

// Close is for connections that are not kept.
func (b *booth) Close() error { return nil }
