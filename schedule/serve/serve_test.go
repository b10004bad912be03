package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A client that sends a header or a body byte by byte, or does not read the answer, loses the
// connection in time. Others are answered meanwhile.
func TestWhoIsSlowLosesTheConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const short, patience = 300 * time.Millisecond, 30 * time.Second
	ctx, stop := context.WithCancel(context.Background())
	ended, gaveUp := make(chan error), make(chan string, 2)
	go func() {
		ended <- serveUntil(ctx, newBounded(l), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/large" {
				_, err = w.Write(bytes.Repeat([]byte("x"), 64<<20)) // more than sockets hold
			}
			if err != nil {
				gaveUp <- r.URL.Path
			}
		}), timeouts{header: short, read: short, write: short, idle: patience})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	dial := func(text string) net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, text)
		return conn
	}
	byByte := func(conn net.Conn) {
		for err := error(nil); err == nil; time.Sleep(10 * time.Millisecond) {
			_, err = io.WriteString(conn, "x")
		}
	}
	header := dial("GET / HTTP/1.1\r\nHost: localhost\r\nName: ")
	body := dial("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
	dial("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n") // which is not read
	for _, conn := range []net.Conn{header, body} {
		go byByte(conn)
	}
	somebody := func() (*http.Response, error) {
		return (&http.Client{Timeout: patience}).Get(fmt.Sprintf("http://%s/", l.Addr()))
	}
	response, err := somebody()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); { // a busy machine may be slow
		response, err = somebody()
	}
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("somebody else: %v, %v", response, err)
	}
	late := time.After(patience)
	gone := map[string]bool{}
	for len(gone) < 2 {
		select {
		case path := <-gaveUp:
			gone[path] = true
		case <-late:
			t.Fatalf("of /body and /large it gave up %v", gone)
		}
	}
	for what, conn := range map[string]net.Conn{"header": header, "body": body} {
		conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, conn); err != nil && err.(net.Error).Timeout() {
			t.Errorf("whose %s is slow is still there", what)
		}
	}
}
