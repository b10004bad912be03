package serve

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Connections that are being answered stay, however many others come; idle ones make room. If all
// are being answered, the next one waits.
func TestWhatIsAnsweredStays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newBounded(l)
	b.limit = 2
	more, ended := make(chan string), make(chan error)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- ServeUntil(ctx, b, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stream" {
				io.WriteString(w, "begun\n")
				w.(http.Flusher).Flush()
				io.WriteString(w, <-more)
			}
		}))
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ask := func(path string) (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		if path != "" {
			io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		return conn, bufio.NewReader(conn)
	}
	heard := func(r *bufio.Reader, what string) {
		t.Helper()
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("%q did not come: %v", what, err)
			}
			if strings.Contains(line, what) {
				return
			}
		}
	}
	_, first := ask("/stream")
	heard(first, "begun")
	for range 5 {
		ask("") // which says nothing
	}
	_, second := ask("/stream")
	heard(second, "begun")

	conn, third := ask("/")
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if line, err := third.ReadString('\n'); err == nil {
		t.Errorf("there was no room, and it was answered: %s", line)
	}
	more <- "the end\n"
	more <- "the end\n"
	heard(first, "the end")
	heard(second, "the end")
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	heard(third, "200 OK")
}

// A slowListener accepts connections that send what is written a moment later.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return slowConn{conn}, err
}

type slowConn struct{ net.Conn }

func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	return c.Conn.Write(b)
}

// A connection that made room when its handler had returned was closed before its answer was sent:
// the client got nothing.
func TestAConnectionMakesRoomWhenItsAnswerIsSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newBounded(slowListener{l})
	b.limit = 1
	asked, waits, ended := make(chan bool), make(chan bool), make(chan error)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- ServeUntil(ctx, b, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked <- true; r.URL.Path == "/first" {
				<-waits
			}
			io.WriteString(w, "the answer")
		}))
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ask := func(path string) net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		return conn
	}
	answered := func(conn net.Conn) {
		t.Helper()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(answer.Body); string(body) != "the answer" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	}
	first := ask("/first")
	<-asked
	second := ask("/second")
	waits <- true
	answered(first)
	<-asked
	answered(second)
}
