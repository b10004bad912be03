package simulation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/testing/storetest"
)

// A node is the server of a store: it has values that end, and does one request at a time.
type node struct {
	mu     sync.Mutex
	values map[string]stored
	board  *storetest.Memory
}

type stored struct {
	text  string
	until time.Time
}

func newNode() *node { return &node{values: map[string]stored{}, board: storetest.New()} }

// do runs one request alone.
func (n *node) do(request func(get func(key string) string, set func(key, text string, keep time.Duration))) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	request(func(key string) string {
		if v := n.values[key]; v.until.After(now) {
			return v.text
		}
		return ""
	}, func(key, text string, keep time.Duration) { n.values[key] = stored{text, now.Add(keep)} })
}

func (n *node) loseData() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.values)
}

// A line carries a request to the node. It reports whether an answer came back: without one the
// request may be done, may be done later, or never.
type line func(about string, request func()) (answered bool)

func direct(_ string, request func()) bool { request(); return true }

// A client is a mutex.Store of one process, as package mutex/redis is one with a single server:
// the same steps, but its requests go through a line. Its board is the one of storetest.Memory.
type client struct {
	*storetest.Memory
	node    *node
	line    line
	now     func() time.Time // the clock of the machine
	defects defects

	mu    sync.Mutex
	undos map[string]string // values that a request without an answer may yet set, and their keys
}

var _ mutex.Store = (*client)(nil)

func newClient(n *node, l line, now func() time.Time, d defects) *client {
	return &client{Memory: n.board, node: n, line: l, now: now, defects: d, undos: map[string]string{}}
}

var errSilent = errors.New("the store does not answer within 2 s")

// take sets a key for a holder, and returns its value: see take of package mutex/redis.
func (c *client) take(ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration) (string, error) {
	if ctx.Err() != nil {
		return "", errors.Join(errSilent, ctx.Err())
	}
	key, mine, has := kind+" "+name, mutex.NewValue(holder), ""
	set := func() {
		c.node.do(func(get func(string) string, set func(string, string, time.Duration)) {
			if has = get(key); has == "" {
				set(key, mine, keep)
				has = mine
			}
		})
	}
	switch {
	case !c.line("set "+key, set):
		c.mu.Lock()
		c.undos[mine] = key
		c.mu.Unlock()
		c.withdraw(key, mine)
		return "", errSilent
	case has == mine:
		return mine, nil
	case mutex.HolderOf(has).Run != holder.Run:
		if c.defects["delete"] {
			c.withdraw(key, has)
		}
		return "", &mutex.HeldError{Name: name, Holder: mutex.HolderOf(has)}
	case c.isUndone(has):
		c.withdraw(key, has)
		return "", errSilent
	}
	return has, c.confirm(kind, key, has, mine, keep)
}

// confirm keeps a key of our run from now on, and gives a claim the value of this attempt: see
// confirm of package mutex/redis.
func (c *client) confirm(kind, key, has, mine string, keep time.Duration) error {
	switch {
	case kind == "claim" && c.defects["withdrawal"], kind == "lock" && c.defects["extend"]:
		return nil
	case kind == "lock":
		mine = has
	}
	done := false
	answered := c.line("confirm "+key, func() {
		c.node.do(func(get func(string) string, set func(string, string, time.Duration)) {
			if done = get(key) == has; done {
				set(key, mine, keep)
			}
		})
	})
	if !answered || !done {
		return errSilent
	}
	return nil
}

func (c *client) isUndone(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, undone := c.undos[text]
	return undone
}

// withdraw removes a value, if the key still has it.
func (c *client) withdraw(key, text string) bool {
	return c.line("del "+key, func() {
		c.node.do(func(get func(string) string, set func(string, string, time.Duration)) {
			has := get(key)
			if has == text || c.defects["nonce"] && mutex.HolderOf(has).Run == mutex.HolderOf(text).Run {
				set(key, "", 0)
			}
		})
	})
}

// Close withdraws what requests without an answer may have set.
func (c *client) Close() error {
	c.mu.Lock()
	undos := c.undos
	c.undos = map[string]string{}
	c.mu.Unlock()
	for text, key := range undos {
		c.withdraw(key, text)
	}
	return nil
}

func (c *client) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	keep := max(until.Sub(c.now()), time.Hour)
	if c.defects["expiry"] {
		keep = mutex.DefaultLease
	}
	_, err := c.take(ctx, "claim", key, holder, keep)
	return err
}

func (c *client) Acquire(ctx context.Context, name string, holder mutex.Holder) (mutex.Lock, error) {
	begun := clock.Steady()
	_, err := c.take(ctx, "lock", name, holder, mutex.DefaultLease)
	if err != nil {
		return nil, err
	}
	l := &lease{client: c, name: name, holder: holder, leased: begun}
	if c.defects["answer"] {
		l.leased = clock.Steady()
	}
	return l, nil
}

func (c *client) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	return &lease{client: c, name: name, holder: holder, leased: clock.Steady()}
}

func (c *client) Break(_ context.Context, name string) (holder mutex.Holder, err error) {
	err = mutex.ErrFree
	answered := c.line("break lock "+name, func() {
		c.node.do(func(get func(string) string, set func(string, string, time.Duration)) {
			if has := get("lock " + name); has != "" {
				holder, err = mutex.HolderOf(has), nil
				set("broken "+name, has, 24*time.Hour)
				set("lock "+name, "", 0)
			}
		})
	})
	if !answered {
		return mutex.Holder{}, errSilent
	}
	return holder, err
}

func (c *client) Held(_ context.Context, names ...string) (map[string]mutex.Holder, error) {
	return c.read("lock", names)
}

func (c *client) Claims(_ context.Context, keys ...string) (map[string]mutex.Holder, error) {
	return c.read("claim", keys)
}

func (c *client) read(kind string, names []string) (map[string]mutex.Holder, error) {
	found := map[string]mutex.Holder{}
	answered := c.line("read "+fmt.Sprint(kind, names), func() {
		c.node.do(func(get func(string) string, _ func(string, string, time.Duration)) {
			for _, name := range names {
				if has := get(kind + " " + name); has != "" {
					found[name] = mutex.HolderOf(has)
				}
			}
		})
	})
	if !answered {
		return nil, errSilent
	}
	return found, nil
}

// A lease is a lock of a client.
type lease struct {
	client *client
	name   string
	holder mutex.Holder

	mu       sync.Mutex
	leased   time.Time
	released bool
}

func (l *lease) Inherit() []*os.File   { return nil }
func (l *lease) Describe(mutex.Holder) {}
func (l *lease) Lease() time.Duration  { return mutex.DefaultLease }

func (l *lease) LeaseBegan() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leased
}

func (l *lease) key() string { return "lock " + l.name }

// Renew begins the lease anew. It takes a lock that is free again, but that is a loss.
func (l *lease) Renew(context.Context) error {
	l.mu.Lock()
	released := l.released
	l.mu.Unlock()
	if released {
		return nil
	}
	begun, err := clock.Steady(), error(nil)
	renew := func() {
		l.client.node.do(func(get func(string) string, set func(string, string, time.Duration)) {
			has, broken := mutex.HolderOf(get(l.key())), mutex.HolderOf(get("broken "+l.name))
			lost := &mutex.LostError{Name: l.name, Broken: has.Run != l.holder.Run && broken.Run == l.holder.Run}
			switch {
			case l.client.defects["renewal"]: // it takes what is another run's by now
			case has.Run == l.holder.Run:
			case lost.Broken || has.Run != "":
				lost.Holder, err = has, lost
				return
			default:
				err = lost
			}
			if has.Run != l.holder.Run {
				has = l.holder
			}
			set(l.key(), mutex.NewValue(has), mutex.DefaultLease)
		})
	}
	if !l.client.line("renew "+l.key(), renew) {
		return errSilent
	}
	if err == nil {
		l.mu.Lock()
		l.leased = begun
		l.mu.Unlock()
	}
	return err
}

func (l *lease) Release(context.Context) error {
	l.mu.Lock()
	l.released = true
	l.mu.Unlock()
	answered := l.client.line("release "+l.key(), func() {
		l.client.node.do(func(get func(string) string, set func(string, string, time.Duration)) {
			if l.client.defects["release"] || mutex.HolderOf(get(l.key())).Run == l.holder.Run {
				set(l.key(), "", 0)
			}
		})
	})
	if !answered {
		return errSilent
	}
	return nil
}

// The store of the simulation keeps the promises of all stores.
func TestTheStoreOfTheSimulationKeepsTheContract(t *testing.T) {
	storetest.Contract(t, func(*testing.T) func() mutex.Store {
		n := newNode()
		return func() mutex.Store { return newClient(n, direct, time.Now, nil) }
	})
}
