package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A Fault is what a proxy does to its clients. The zero Fault passes everything on.
type Fault struct {
	Refuse  bool          // connections are refused, and open ones break
	Silent  bool          // connections are made, requests do not arrive, and nothing is answered
	Swallow bool          // requests arrive and are done, and no answer comes back
	HalfEnd bool          // after each answer the connection is closed in one direction
	Cut     Cut           // a connection breaks
	After   int           // how many requests, or answers, pass before it breaks
	Delay   time.Duration // of each answer
}

// A Cut says when a connection breaks, once.
type Cut int

const (
	Never     Cut = iota
	AtRequest     // when the next request is on its way, which does not arrive
	AtAnswer      // when the next answer is on its way
)

// A Proxy stands between a store and one Redis, and lets the network between them fail.
type Proxy struct {
	URL string

	t       testing.TB
	address string // of the proxy
	server  string

	mu       sync.Mutex
	requests int
	fault    Fault
	listener net.Listener
	open     map[net.Conn]bool
}

// StartProxy starts a proxy before the server. It ends with the test.
func StartProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	p := &Proxy{t: t, server: s.Address, address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	p.listen()
	p.address = p.listener.Addr().String()
	p.URL = "redis://" + p.address
	t.Cleanup(func() { p.Set(Fault{Refuse: true}) })
	return p
}

// Set changes what the proxy does, also for open connections.
func (p *Proxy) Set(f Fault) {
	p.t.Helper()
	p.mu.Lock()
	was := p.fault
	p.fault = f
	if f.Refuse && !was.Refuse {
		p.listener.Close()
		for conn := range p.open {
			conn.Close()
		}
	}
	p.mu.Unlock()
	if was.Refuse && !f.Refuse {
		p.listen()
	}
}

// Requests returns how often something was sent to the server: about the round trips so far.
func (p *Proxy) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *Proxy) now() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// cuts reports whether the connection breaks at this answer, or request.
func (p *Proxy) cuts(answer bool) bool {
	at := AtRequest
	if answer {
		at = AtAnswer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault.Cut != at {
		return false
	}
	if p.fault.After--; p.fault.After >= 0 {
		return false
	}
	p.fault.Cut = Never
	return true
}

func (p *Proxy) listen() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	for range 100 { // another process may have the port for a moment
		if err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		l, err = net.Listen("tcp", p.address)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
}

// serve passes on the data of one connection, as far as the fault of the moment lets it.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	p.open[client], p.open[server] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, false) })
	both.Go(func() { p.pass(client, server, true) })
	both.Wait()
	p.mu.Lock()
	delete(p.open, client)
	delete(p.open, server)
	p.mu.Unlock()
}

// pass copies from one connection to the other, and closes both at its end.
func (p *Proxy) pass(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1000) // pieces are delayed together, not one after the other
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			f := p.now()
			switch {
			case err != nil, p.cuts(answers):
				return
			case f.Silent, answers && f.Swallow: // it is lost on the way
			case answers:
				pieces <- piece{buffer[:n], time.Now().Add(f.Delay)}
			default:
				p.mu.Lock()
				p.requests++
				p.mu.Unlock()
				pieces <- piece{buffer[:n], time.Now()}
			}
		}
	}()
	for next := range pieces {
		time.Sleep(time.Until(next.due))
		if _, err := to.Write(next.bytes); err != nil && err != io.EOF {
			return
		}
		if half, ok := to.(*net.TCPConn); ok && answers && p.now().HalfEnd {
			half.CloseWrite()
		}
	}
}
