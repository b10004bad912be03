package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/view"
)

// mostConnections is how many connections there may be; more wait.
const mostConnections = 1024

// Timeouts of one connection. Streams have deadlines of their own.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 60 * time.Second
)

// Listen listens at host:port or unix:PATH. An address that is not of this machine alone is refused unless exposed: with TLS, or behind a
// proxy that has it.
func Listen(address string, exposed bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(path)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, view.Fail(view.Invalid, "write it as 127.0.0.1:7323, [::1]:7323 or unix:PATH", "--listen %q is not an address", address)
	}
	if ip := net.ParseIP(host); !exposed && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, view.Fail(view.Invalid, "add --tls-cert and --tls-key, or --behind-proxy where a proxy speaks TLS; or listen at 127.0.0.1",
			"--listen %s is open to other machines, and tokens would be sent in the clear", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, view.Fail(view.Conflict, "is another `sched serve` running there?", "%w", err)
	}
	return newBounded(l), nil
}

// listenUnix listens at a socket that only its owner (and root) can open. One that nobody listens at any more is replaced.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, view.Fail(view.Conflict, "", "%s is there already, and is no socket", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, view.Fail(view.Conflict, "is another `sched serve` running there?", "somebody listens at %s already", path)
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

// A bounded listener has so many connections at a time.
type bounded struct {
	net.Listener
	room chan struct{}
}

func newBounded(l net.Listener) *bounded { return &bounded{l, make(chan struct{}, mostConnections)} }

// Accept waits while there are too many connections.
func (b *bounded) Accept() (net.Conn, error) {
	b.room <- struct{}{}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.room
		return nil, err
	}
	return &counted{Conn: conn, leave: func() { <-b.room }}, nil
}

// A counted connection makes room for another one when it is closed.
type counted struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}

type peerKey struct{}

// peerOf returns the user at the other end of a socket; false for a connection by TCP.
func peerOf(ctx context.Context) (user string, ok bool) {
	user, ok = ctx.Value(peerKey{}).(string)
	return user, ok
}

// Serve answers requests until ctx is done, and then ends within a few seconds: streams end at once. With a certificate it speaks TLS.
func (s *Server) Serve(ctx context.Context, l net.Listener, certificate *tls.Certificate, handler http.Handler) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: quiet(),
		BaseContext: func(net.Listener) context.Context { return streams },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if c, ok := conn.(*counted); ok {
				conn = c.Conn
			}
			if socket, ok := conn.(*net.UnixConn); ok {
				return context.WithValue(ctx, peerKey{}, peerName(socket))
			}
			return ctx
		},
	}
	if certificate != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
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

// peerName is the login name of the user at the other end of a socket.
func peerName(socket *net.UnixConn) string {
	uid, err := peerUser(socket)
	if err != nil {
		return "socket"
	}
	return userName(uid)
}

// URL returns where a listener is reached. One that listens at all addresses is called by a name.
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
