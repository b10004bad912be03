package listen

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

// Timeouts of one connection. Streams have deadlines of their own.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 60 * time.Second
)

// quiet is where net/http tells of connections that ended oddly: anybody could fill a disk with that.
var quiet = log.New(io.Discard, "", 0)

// Serve answers requests until ctx is done, and then ends within a few seconds: streams end at once. With a certificate it speaks TLS.
func Serve(ctx context.Context, l net.Listener, certificate *tls.Certificate, handler http.Handler) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: quiet,
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
