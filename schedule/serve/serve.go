package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
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
	return serveUntil(ctx, l, certificate, handler, timeouts{header: HeaderTimeout, read: 15 * time.Second, write: 30 * time.Second, idle: time.Minute})
}

func serveUntil(ctx context.Context, l net.Listener, certificate *tls.Certificate, handler http.Handler, t timeouts) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	server := &http.Server{
		Handler: marking(handler), ReadHeaderTimeout: t.header, ReadTimeout: t.read, WriteTimeout: t.write, IdleTimeout: t.idle,
		MaxHeaderBytes: 16 << 10, ErrorLog: quietLog,
		BaseContext: func(net.Listener) context.Context { return streams },
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
