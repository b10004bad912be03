// Package serve is the HTTP API of `sched serve`: the answers of package view and the actions of
// package control. The mux and the OpenAPI document are made of routes, and an access guards them.
// A watcher tells listeners what changes in the state folder. This file has the connections: it
// bounds their number and their time.
//
// The package holds no lock that ticks would wait for, and opens the history for reading only.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/view"
)

// timeouts are how long one connection has for the header of a request, for all of a request, for
// its answer, and between two requests. Streams have deadlines of their own.
type timeouts struct{ header, read, write, idle time.Duration }

// HeaderTimeout is for the header of a request. Some tests set a longer one, to show that nothing
// waits for it.
var HeaderTimeout = 5 * time.Second

// quietLog discards what net/http says of connections that ended oddly: any client could fill a
// disk with it.
var quietLog = log.New(io.Discard, "", 0)

// ServeUntil answers requests until ctx is done, and then ends within a few seconds: streams end at
// once. With a certificate it speaks TLS.
func ServeUntil(ctx context.Context, l net.Listener, certificate *tls.Certificate, handler http.Handler) error {
	return serveUntil(ctx, l, certificate, handler,
		timeouts{header: HeaderTimeout, read: 15 * time.Second, write: 30 * time.Second, idle: time.Minute})
}

func serveUntil(
	ctx context.Context, l net.Listener, certificate *tls.Certificate, handler http.Handler, t timeouts,
) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	server := &http.Server{
		Handler:           withBusyMark(handler),
		ReadHeaderTimeout: t.header,
		ReadTimeout:       t.read,
		WriteTimeout:      t.write,
		IdleTimeout:       t.idle,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          quietLog,
		BaseContext:       func(net.Listener) context.Context { return streams },
		ConnContext:       withConnection,
		ConnState:         markIdle,
	}
	if certificate != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}})
	}
	stop := context.AfterFunc(ctx, func() {
		endStreams()
		patience, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(patience)
	})
	defer stop()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// withConnection returns the context of the requests of a connection: it has the counted connection
// and, for a socket, the user at its other end.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if c := countedOf(conn); c != nil {
		ctx, conn = context.WithValue(ctx, countedKey{}, c), c.Conn
	}
	if socket, ok := conn.(*net.UnixConn); ok {
		return context.WithValue(ctx, peerKey{}, peerName(socket))
	}
	return ctx
}

// markIdle is called for each change of a connection's state. A connection is idle when the whole
// answer is sent, which is later than the return of the handler.
func markIdle(conn net.Conn, state http.ConnState) {
	if c := countedOf(conn); c != nil && state == http.StateIdle {
		c.setBusy(false)
	}
}

// Listen listens at host:port or unix:PATH. It refuses an address that other machines reach unless
// exposed is true: the server has TLS, or is behind a proxy with TLS.
func Listen(address string, exposed bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(path)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, view.Fail(view.Invalid, "write it as 127.0.0.1:7323, [::1]:7323 or unix:PATH",
			"--listen %q is not an address", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, view.Fail(view.Invalid, "write a number from 1 to 65535, as in 127.0.0.1:7323",
			"--listen %s: %s is not a port", address, port)
	}
	if ip := net.ParseIP(host); !exposed && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, view.Fail(view.Invalid,
			"add --tls-cert and --tls-key, or --behind-proxy where a proxy speaks TLS; or listen at 127.0.0.1",
			"--listen %s is open to other machines, and tokens would be sent in the clear", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		hint := ""
		if errors.Is(err, unix.EADDRINUSE) {
			hint = "is another `sched serve` running there?"
		}
		return nil, view.Fail(view.Conflict, hint, "%w", err)
	}
	return newBounded(l), nil
}

// listenUnix listens at a socket that only its owner (and root) can open. It replaces a socket at
// which no process listens any more.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, view.Fail(view.Conflict, "", "%s is there already, and is no socket", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, view.Fail(view.Conflict, "is another `sched serve` running there?",
				"somebody listens at %s already", path)
		}
		os.Remove(path)
	}
	old := unix.Umask(0o177) // so that there is no moment in which others can open it
	l, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, view.Fail(view.Conflict, "", "%w", err)
	}
	return newBounded(l), nil
}

// URL returns the URL at which people reach a listener, with name as the host if it listens at all
// addresses.
func URL(l net.Listener, name, base string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	address := l.Addr().String()
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort(name, port)
	}
	return fmt.Sprintf("%s://%s%s/", scheme, address, base)
}

// MaxConnections is how many connections there may be. A further connection takes the place of the
// connection that has been idle for longest, so a client that opens thousands keeps nobody else
// out. A connection is idle until all of a request has come; then it is busy until the answer is
// sent. If all connections are busy, the new one waits.
const MaxConnections = 1024

// reservedFiles is how many descriptors connections leave for everything else: histories, logs, the
// files of runs.
const reservedFiles = 256

// A boundedListener has at most limit connections at a time.
type boundedListener struct {
	net.Listener
	limit int

	mu        sync.Mutex
	freed     *sync.Cond // a connection has left, or is not busy any more
	lastOrder int        // of the connection that came last
	all       map[*countedConn]bool
}

func newBounded(l net.Listener) *boundedListener {
	b := &boundedListener{Listener: l, limit: connectionLimit(), all: map[*countedConn]bool{}}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// connectionLimit is how many connections there may be under the limit of open files of the
// process.
func connectionLimit() int {
	var limit unix.Rlimit // the soft limit is the hard one: Go has raised it
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return MaxConnections
	}
	return min(MaxConnections, max(int(limit.Cur)-reservedFiles, 16))
}

func (b *boundedListener) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.all) >= b.limit {
		if idle := b.longestIdle(); idle != nil {
			delete(b.all, idle)
			idle.Conn.Close()
		} else {
			b.freed.Wait()
		}
	}
	b.lastOrder++
	c := &countedConn{Conn: conn, listener: b, order: b.lastOrder}
	b.all[c] = true
	return c, nil
}

// longestIdle returns the connection that has been idle for longest; nil if all are busy.
func (b *boundedListener) longestIdle() (longest *countedConn) {
	for c := range b.all {
		if !c.busy && (longest == nil || c.order < longest.order) {
			longest = c
		}
	}
	return longest
}

// A countedConn makes room for another one when it is closed.
type countedConn struct {
	net.Conn
	listener *boundedListener
	busy     bool // is being answered
	order    int  // lastOrder when it came, or became idle or busy: the smallest is idle for longest
}

func (c *countedConn) Close() error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	delete(c.listener.all, c)
	c.listener.freed.Signal()
	return c.Conn.Close()
}

func (c *countedConn) setBusy(busy bool) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.busy, c.order = busy, c.listener.lastOrder
	c.listener.freed.Signal()
}

type countedKey struct{}

// countedOf returns the countedConn beneath a connection of a server; nil if it has no such
// connection.
func countedOf(conn net.Conn) *countedConn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*countedConn)
	return c
}

// withBusyMark makes the connection of a request busy when all of the request has come. markIdle
// makes it idle when the answer is sent.
func withBusyMark(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(countedKey{}).(*countedConn); ok {
			if r.Body == http.NoBody {
				c.setBusy(true)
			} else {
				r.Body = &arrivingBody{r.Body, c}
			}
		}
		handler.ServeHTTP(w, r)
	})
}

// An arrivingBody makes its connection busy when its end has come. Until then the connection makes
// room for others, whichever handler reads the body.
type arrivingBody struct {
	io.ReadCloser
	conn *countedConn
}

func (a *arrivingBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		a.conn.setBusy(true)
	}
	return n, err
}

// setIdleEarly lets the connection of a request make room for others, though its answer is still to
// come.
func setIdleEarly(ctx context.Context) {
	if c, ok := ctx.Value(countedKey{}).(*countedConn); ok {
		c.setBusy(false)
	}
}

type peerKey struct{}

// peerOf returns the user at the other end of a socket; false for a connection by TCP.
func peerOf(ctx context.Context) (user string, ok bool) {
	user, ok = ctx.Value(peerKey{}).(string)
	return user, ok
}

// peerName returns the name of the user at the other end of a socket, if the system knows it.
func peerName(socket *net.UnixConn) string {
	uid, credentialsErr := 0, error(nil)
	raw, err := socket.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { uid, credentialsErr = peerCredentials(int(fd)) })
	}
	if err != nil || credentialsErr != nil {
		return "socket"
	}
	return view.UserName(uid)
}
