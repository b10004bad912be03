package listen

import (
	"net"
	"sync"
)

// MostConnections is how many connections there may be; more wait.
const MostConnections = 1024

// A bounded listener has so many connections at a time.
type bounded struct {
	net.Listener
	room chan struct{}
}

func newBounded(l net.Listener) *bounded { return &bounded{l, make(chan struct{}, MostConnections)} }

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
