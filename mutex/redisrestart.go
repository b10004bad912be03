package mutex

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The rule of restarts: a Redis that comes back may have forgotten locks and claims, all of them or
// those of its last second. So for one lease from its start it takes no new ones; by then every lock
// that it forgot was renewed, and is there again, or has run out. ("Delayed restarts" in
// https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/.) A restart shows in the
// run_id of INFO when we remember the one before.

// meet looks at the server on each new connection: which of its lives it is in, and its clock. Where
// the user may not ask there is no rule of restarts.
func (s *server) meet(ctx context.Context, c *redis.Conn) error {
	pipe := c.Pipeline()
	info, clock := pipe.Info(ctx, "server"), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		if _, deaf := s.explain(err); deaf {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if clock.Err() == nil {
		s.clock, s.ahead = true, time.Until(clock.Val())
	}
	if id, age, ok := lifeIn(info.Val()); ok {
		s.live(id, age)
	}
	return nil
}

// lifeIn reads the answer to INFO.
func lifeIn(info string) (id string, age time.Duration, ok bool) {
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "run_id":
			id = value
		case "uptime_in_seconds":
			seconds, err := strconv.Atoi(value)
			age, ok = time.Duration(seconds)*time.Second, err == nil
		}
	}
	return id, age, ok && id != ""
}

// live notes which life the server is in. The new id is remembered when the rule of restarts does
// not need the old one any more.
func (s *server) live(id string, age time.Duration) {
	if id == s.life {
		return
	}
	s.life, s.begun = id, time.Now().Add(-age)
	last := s.memory.last(s.options.Addr)
	if last != "" && last != id && age < s.lease {
		return
	}
	s.begun = time.Time{}
	s.memory.remember(s.options.Addr, id)
}

// forgetful returns an error while the rule of restarts holds.
func (s *server) forgetful() error {
	end := s.begun.Add(s.lease)
	if s.begun.IsZero() || !time.Now().Before(end) {
		return nil
	}
	return s.failed(fmt.Sprintf("was started again at %s and may have forgotten locks: it takes none before %s",
		s.begun.Local().Format(time.TimeOnly), end.Local().Format(time.TimeOnly)), "")
}

// A memory has the last known life of each server, by its address; beyond the process it is a file.
type memory struct {
	mu    sync.Mutex
	path  string // empty: there is no file
	lives map[string]string
}

// open reads the file. One that cannot be read, or has nonsense in it, is as none.
func (m *memory) open(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.path = path
	if text, err := os.ReadFile(path); err == nil {
		json.Unmarshal(text, &m.lives) //nolint: see above
	}
}

func (m *memory) last(server string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lives[server]
}

// remember writes the file when there is something new. If it cannot, the next tick will; until then
// the rule of restarts looks at what was remembered before, or is without effect.
func (m *memory) remember(server, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lives[server] == id {
		return
	}
	if m.lives == nil {
		m.lives = map[string]string{}
	}
	m.lives[server] = id
	if m.path == "" {
		return
	}
	text, err := json.Marshal(m.lives)
	if err != nil {
		return
	}
	draft := fmt.Sprintf("%s.%d", m.path, os.Getpid())
	if os.WriteFile(draft, append(text, '\n'), 0o600) != nil || os.Rename(draft, m.path) != nil {
		os.Remove(draft)
	}
}
