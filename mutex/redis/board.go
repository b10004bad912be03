package redis

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// An entry is a field of a table: "AT UNTIL VALUE" with times of the store's clock in microseconds.
// Of several servers the newest entry counts, also when it is over.
type entry struct {
	at, until int64
	value     string
}

// entryOf reads a field. Garbage is an entry that was over long ago.
func entryOf(text string) (e entry) {
	at, rest, _ := strings.Cut(text, " ")
	until, value, _ := strings.Cut(rest, " ")
	if _, err := fmt.Sscan(at+" "+until, &e.at, &e.until); err != nil {
		return entry{}
	}
	e.value = value
	return e
}

// Bounds of what a table may cost its readers, whoever wrote it.
const (
	mostEntries = 10_000         // that are read
	pageSize    = 1000           // of one request, and of the entries that one reader removes
	cleanAfter  = 24 * time.Hour // they were over or deleted: a server may have missed that
)

func (s *Store) Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error {
	now, err := s.clock(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d %d %s", now.UnixMicro(), now.Add(keep).UnixMicro(), value)
	_, err = query(ctx, s, func(ctx context.Context, c *server) (int64, error) {
		return c.HSet(ctx, s.key("board", table), key, text).Result()
	})
	return err
}

// Delete keeps an entry without a value for the servers that miss it now.
func (s *Store) Delete(ctx context.Context, table, key string) error {
	return s.Put(ctx, table, key, nil, -cleanAfter)
}

func (s *Store) All(ctx context.Context, table string) (map[string][]byte, error) {
	now, err := s.clock(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := query(ctx, s, func(ctx context.Context, c *server) (map[string]entry, error) {
		return readTable(ctx, c, s.key("board", table), now.Add(-cleanAfter).UnixMicro())
	})
	newest, values := map[string]entry{}, map[string][]byte{}
	for _, entries := range answers {
		for key, e := range entries {
			if e.at <= newest[key].at {
				continue
			}
			newest[key], values[key] = e, []byte(e.value)
		}
	}
	maps.DeleteFunc(values, func(key string, _ []byte) bool { return newest[key].until <= now.UnixMicro() })
	return values, err
}

// readTable reads a table of one server, up to a bound, and removes some of the entries that were
// over before overAt.
func readTable(ctx context.Context, c *server, table string, overAt int64) (map[string]entry, error) {
	entries := map[string]entry{}
	var over []string
	fields := c.HScan(ctx, table, 0, "", pageSize).Iterator()
	for len(entries) < mostEntries && fields.Next(ctx) {
		key := fields.Val()
		fields.Next(ctx) // its value
		e := entryOf(fields.Val())
		if entries[key] = e; max(e.at, e.until) < overAt {
			over = append(over, key)
		}
	}
	if err := fields.Err(); err != nil {
		return nil, err
	}
	if len(over) > 0 {
		c.HDel(ctx, table, over[:min(pageSize, len(over))]...) // a later reader tries again
	}
	return entries, nil
}

func (s *Store) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	var all []any
	for _, value := range values {
		all = append(all, value)
	}
	_, err := query(ctx, s, func(ctx context.Context, c *server) ([]goredis.Cmder, error) {
		return c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			p.LPush(ctx, s.key("log", log), all...)
			p.LTrim(ctx, s.key("log", log), 0, int64(keep)-1)
			return nil
		})
	})
	return err
}

// Tail returns values of a log, the newest first, merged from all servers.
func (s *Store) Tail(ctx context.Context, log string, skip, count int) ([][]byte, error) {
	from := skip
	if len(s.servers) > 1 { // merged values are counted from the newest on
		from = 0
	}
	logs, err := query(ctx, s, func(ctx context.Context, c *server) ([]string, error) {
		return c.LRange(ctx, s.key("log", log), int64(from), int64(skip+count)-1).Result()
	})
	var merged [][]byte
	seen := map[string]bool{}
	for i := range skip + count - from {
		for _, values := range logs {
			if i < len(values) && (len(logs) == 1 || !seen[values[i]]) {
				seen[values[i]] = true
				merged = append(merged, []byte(values[i]))
			}
		}
	}
	merged = merged[min(skip-from, len(merged)):]
	return merged[:min(max(0, count), len(merged))], err
}
