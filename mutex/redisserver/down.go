package redisserver

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// probeEvery is the time between two probes of a server that is down.
const probeEvery = time.Second

// markDown takes the server for down, ends the requests under way with their connections, and begins
// to probe it.
func (s *Server) markDown(client *redis.Client, why *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client != s.client || s.closed.Err() != nil {
		return // another request has marked it before
	}
	probing := s.whyDown != nil
	s.whyDown = why
	s.goDown(why)
	s.client.Close() // its requests fail now, wherever they are
	s.newClient()
	if !probing {
		go s.probe()
	}
}

// markUp takes the server for up again, if client is still the one in use.
func (s *Server) markUp(client *redis.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client == s.client {
		s.whyDown = nil
	}
}

// probe sends a PING every second until the server is up or closed.
func (s *Server) probe() {
	for s.Down() != nil {
		select {
		case <-s.closed.Done():
			return
		case <-time.After(probeEvery):
		}
		ctx, cancel := context.WithTimeout(s.closed, Timeout)
		s.do(ctx, evenIfDown, true, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
		cancel()
	}
}

// Down returns why the server is down, nil while it is up.
func (s *Server) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whyDown == nil {
		return nil
	}
	return s.whyDown
}
