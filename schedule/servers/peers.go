package servers

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/statedir"
)

// Present finds, with the announcements of a tick, which servers take part: Also goes with each. Safe for concurrent use.
type Present struct {
	key string

	mu    sync.Mutex
	names []string // as each Redis told them
}

// NewPresent returns one that has found nothing yet.
func NewPresent(r *mutex.Redis) *Present { return &Present{key: r.Key("servers")} }

// Also reads the names of the servers that announced themselves in the last ten minutes, this one included.
func (p *Present) Also(ctx context.Context, pipe redis.Pipeliner, _ time.Time) (read func()) {
	found := pipe.ZRange(ctx, p.key, 0, -1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.names = append(p.names, found.Val()...)
	}
}

// Names returns what was found since the last call, sorted.
func (p *Present) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := p.names
	p.names = nil
	slices.Sort(names)
	return slices.Compact(names)
}

func peersPath(dir string) string { return filepath.Join(dir, "servers") }

// NotePeers notes in the state folder which servers take part, one a line, for the next tick: that asks nobody before it claims.
func NotePeers(dir string, names []string) {
	if !slices.Equal(names, Peers(dir)) {
		statedir.Replace(peersPath(dir), []byte(strings.Join(names, "\n")+"\n")) //nolint: without it a tick takes itself to be alone
	}
}

// Peers returns the servers that take part, as the last tick found them; none where it did not.
func Peers(dir string) []string {
	text, err := statedir.ReadFile(peersPath(dir))
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
