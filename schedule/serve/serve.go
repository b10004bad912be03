// Package serve is the HTTP API of `sched serve`: the answers of package view and the actions of
// package control. The mux and the OpenAPI document are made of routes, and an access guards them.
// A watcher tells listeners what changes in the state folder.
// bounded.go bounds the number of connections, and this file their time.
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
	"net"
	"net/http"
	"os"
	"strings"
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
		Handler:           marking(handler),
		ReadHeaderTimeout: t.header,
		ReadTimeout:       t.read,
		WriteTimeout:      t.write,
		IdleTimeout:       t.idle,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          quietLog,
		BaseContext:       func(net.Listener) context.Context { return streams },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if c := countedOf(conn); c != nil {
				ctx, conn = context.WithValue(ctx, countedKey{}, c), c.Conn
			}
			if socket, ok := conn.(*net.UnixConn); ok {
				return context.WithValue(ctx, peerKey{}, peerName(socket))
			}
			return ctx
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if c := countedOf(conn); c != nil && state == http.StateIdle {
				c.mark(false) // not when the handler returns: its last bytes may not be sent by then
			}
		},
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

// URL returns the URL of a listener. If it listens at all addresses, the URL has the name.
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
