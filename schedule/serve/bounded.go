package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"

	"golang.org/x/sys/unix"
)

// MostConnections is how many connections there may be. A further connection takes the place of the
// connection that has been idle for longest, so a client that opens thousands keeps nobody else
// out. A connection is idle until all of a request has come. If all connections are being answered,
// the new one waits.
const MostConnections = 1024

// filesOfOurs is how many descriptors connections leave for everything else: histories, logs, the
// files of runs.
const filesOfOurs = 256

// A bounded listener has at most a number of connections at a time.
type bounded struct {
	net.Listener
	most int

	mu     sync.Mutex
	left   *sync.Cond // a connection has left, or is not answered any more
	number int        // of the connection that came last
	all    map[*counted]bool
}

func newBounded(l net.Listener) *bounded {
	b := &bounded{Listener: l, most: room(), all: map[*counted]bool{}}
	b.left = sync.NewCond(&b.mu)
	return b
}

// room is how many connections there may be under the limit of open files of the process.
func room() int {
	var limit unix.Rlimit // the soft limit is the hard one: Go has raised it
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return MostConnections
	}
	return min(MostConnections, max(int(limit.Cur)-filesOfOurs, 16))
}

func (b *bounded) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.all) >= b.most {
		if idle := b.longestIdle(); idle != nil {
			delete(b.all, idle)
			idle.Conn.Close()
		} else {
			b.left.Wait()
		}
	}
	b.number++
	c := &counted{Conn: conn, of: b, since: b.number}
	b.all[c] = true
	return c, nil
}

// longestIdle returns the connection that has not been answered for longest; nil if all are being
// answered.
func (b *bounded) longestIdle() (longest *counted) {
	for c := range b.all {
		if !c.answered && (longest == nil || c.since < longest.since) {
			longest = c
		}
	}
	return longest
}

// A counted connection makes room for another one when it is closed.
type counted struct {
	net.Conn
	of       *bounded
	since    int  // it came, or was answered last, after so many
	answered bool // at this moment
}

func (c *counted) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.all, c)
	c.of.left.Signal()
	return c.Conn.Close()
}

func (c *counted) mark(answered bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answered, c.since = answered, c.of.number
	c.of.left.Signal()
}

type countedKey struct{}

// countedOf is the counted connection beneath a connection of a server; nil if it has no such
// connection.
func countedOf(conn net.Conn) *counted {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*counted)
	return c
}

// marking marks the connection of a request as being answered, when all of the request has come.
// The server takes the mark away when the answer is sent.
func marking(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(countedKey{}).(*counted); ok {
			if r.Body == http.NoBody {
				c.mark(true)
			} else {
				r.Body = &arriving{r.Body, c}
			}
		}
		handler.ServeHTTP(w, r)
	})
}

// An arriving body marks its connection as being answered when its end has come. Until then the
// connection makes room for others, whichever handler reads the body.
type arriving struct {
	io.ReadCloser
	conn *counted
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		a.conn.mark(true)
	}
	return n, err
}

// makeWay lets the connection of a request make room for others, though its answer is still to
// come.
func makeWay(ctx context.Context) {
	if c, ok := ctx.Value(countedKey{}).(*counted); ok {
		c.mark(false)
	}
}
