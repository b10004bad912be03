package redisurl

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Finder connects to the server that a target means at that moment. Safe for concurrent use.
type Finder struct {
	target  *Target
	key     string // the Cluster is asked for the node that has it
	timeout time.Duration
	tls     *tls.Config
	broken  error // the files of the certificates; no connection is made then

	mu    sync.Mutex
	first int // the seed that is asked first
}

// Options returns what go-redis needs for a client of the server. Connections and questions about the server end after the timeout.
// What is wrong with the files of certificates is said by each connection. In a Cluster it is the node that has the key.
func (t *Target) Options(key string, timeout time.Duration) (*redis.Options, *Finder) {
	options := *t.options
	f := &Finder{target: t, key: key, timeout: timeout}
	f.tls, f.broken = t.files.load()
	options.Dialer = f.connect
	return &options, f
}

// TLS reports whether connections use TLS.
func (f *Finder) TLS() bool { return f.target.files.wanted }

// Elsewhere lets the next connection ask another seed first: what the last one said turned out to be wrong.
func (f *Finder) Elsewhere() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first++
}

// connect connects to the server, wherever it is.
func (f *Finder) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	if !f.target.Moves() {
		return f.dial(ctx, network, address)
	}
	address, err := f.primary(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := f.dial(ctx, "tcp", address)
	if err != nil {
		f.Elsewhere()
	}
	return conn, err
}

func (f *Finder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: f.timeout}
	if f.tls == nil || network == "unix" {
		return dialer.DialContext(ctx, network, address)
	}
	return (&tls.Dialer{NetDialer: dialer, Config: f.tls}).DialContext(ctx, network, address)
}

// patience is how long one seed is waited for before the next one is asked, too.
const patience = 100 * time.Millisecond

// primary asks the seeds for the address of the server, beginning with the one that knew it last: the first answer counts.
//
// The clients of go-redis for Sentinel and Cluster are not used here. NewFailoverClient asks all Sentinels for each first connection,
// waits until all have answered, and keeps two more connections; a ClusterClient asks one node after the other. A single one that is silent
// takes the two seconds that all may take (TestAPlainFailoverClientWaitsForASilentSentinel).
func (f *Finder) primary(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	f.mu.Lock()
	first, seeds := f.first, f.target.Seeds
	f.mu.Unlock()

	type answer struct {
		seed    int
		address string
		err     error
	}
	answers := make(chan answer, len(seeds))
	var failed []error
	for asked := 0; ; {
		var next <-chan time.Time
		if asked < len(seeds) {
			seed := (first + asked) % len(seeds)
			asked++
			go func() {
				address, err := f.ask(ctx, seeds[seed])
				answers <- answer{seed, address, err}
			}()
			next = time.After(patience)
		}
		select {
		case a := <-answers:
			if a.err == nil {
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.first == first {
					f.first = a.seed
				}
				return a.address, nil
			}
			if failed = append(failed, a.err); len(failed) == len(seeds) {
				return "", plainest(failed)
			}
		case <-next:
		case <-ctx.Done():
			return "", plainest(append(failed, ctx.Err()))
		}
	}
}

// plainest returns the error that says most: an answer says more than none.
func plainest(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool {
		var ours *Error
		var reply redis.Error
		return errors.As(err, &ours) || errors.As(err, &reply)
	})
	return errs[max(i, 0)]
}

// ask asks one seed.
func (f *Finder) ask(ctx context.Context, seed string) (string, error) {
	options := &redis.Options{
		Addr: seed, Dialer: f.dial, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: f.timeout, ReadTimeout: f.timeout, WriteTimeout: f.timeout, ContextTimeoutEnabled: true,
		PoolSize: 1, ReadBufferSize: 4096, WriteBufferSize: 4096,
	}
	if f.target.Kind == Sentinel {
		options.Username, options.Password = f.target.sentinelUser, f.target.sentinelPassword
		return f.askSentinel(ctx, redis.NewSentinelClient(options))
	}
	options.Username, options.Password = f.target.options.Username, f.target.options.Password
	return f.askNode(ctx, redis.NewClient(options), seed)
}

func (f *Finder) askSentinel(ctx context.Context, c *redis.SentinelClient) (string, error) {
	defer c.Close()
	address, err := c.GetMasterAddrByName(ctx, f.target.Primary).Result()
	switch {
	case errors.Is(err, redis.Nil) || err == nil && len(address) != 2:
		return "", &Error{"is not known to the Sentinels: they monitor no primary of that name", "`" + redisCli(f.target.Seeds[0]) + " sentinel masters` lists those that they have"}
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
		return "", &Error{"has Sentinels that refuse us without their password", "write ?sentinel_password=…, and &sentinel_user=… where they have users"}
	case redis.HasErrorPrefix(err, "unknown command"):
		return "", &Error{"has no Sentinels at these ports, but a Redis", "write the ports of the Sentinels, which is 26379 unless changed"}
	case err != nil:
		return "", err
	}
	return net.JoinHostPort(address[0], address[1]), nil
}

// askNode asks a node of a Cluster for the primary that has our key.
func (f *Finder) askNode(ctx context.Context, c *redis.Client, seed string) (string, error) {
	defer c.Close()
	pipe := c.Pipeline()
	slot, ranges := pipe.ClusterKeySlot(ctx, f.key), pipe.ClusterSlots(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		if redis.HasErrorPrefix(err, "This instance has cluster support disabled") {
			return "", &Error{"is no Redis Cluster", "write redis:// instead of redis+cluster://"}
		}
		return "", err
	}
	for _, r := range ranges.Val() {
		if int64(r.Start) <= slot.Val() && slot.Val() <= int64(r.End) && len(r.Nodes) > 0 {
			return addressOf(r.Nodes[0].Addr, seed), nil
		}
	}
	return "", &Error{"has no node for the keys of this schedule", "`" + redisCli(seed) + " cluster info` shows which slots are covered"}
}

// addressOf returns the address of a node as a seed told it. A node that does not know its own host is where the seed is.
func addressOf(node, seed string) string {
	host, port, err := net.SplitHostPort(node)
	if err == nil && (host == "" || host == "?") {
		host, _, _ = net.SplitHostPort(seed)
	}
	return net.JoinHostPort(host, port)
}

func redisCli(address string) string {
	host, port, _ := net.SplitHostPort(address)
	return "redis-cli -h " + host + " -p " + port
}
