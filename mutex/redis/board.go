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
// If the entries of several servers differ, the newest one counts, even if it is over.
type entry struct {
	at, until int64
	value     string
}

// entryOf reads a field. A field that is no entry counts as an entry that was over long ago.
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
	maxEntries = 10_000         // a reader reads so many entries
	pageSize   = 1000           // fields in one request, and entries that one reader removes
	cleanAfter = 24 * time.Hour // how long an entry that is over is kept for servers that missed its end
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

// Delete writes a tombstone: an entry that ended cleanAfter ago. It outvotes the entry of a server
// that misses this call.
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

// readTable reads a table of one server, up to maxEntries, and removes up to pageSize of the
// entries that were over before the time cleanBefore.
func readTable(ctx context.Context, c *server, table string, cleanBefore int64) (map[string]entry, error) {
	entries := map[string]entry{}
	var old []string
	fields := c.HScan(ctx, table, 0, "", pageSize).Iterator()
	for len(entries) < maxEntries && fields.Next(ctx) {
		key := fields.Val()
		fields.Next(ctx) // its value
		e := entryOf(fields.Val())
		entries[key] = e
		if max(e.at, e.until) < cleanBefore {
			old = append(old, key)
		}
	}
	if err := fields.Err(); err != nil {
		return nil, err
	}
	if len(old) > 0 {
		c.HDel(ctx, table, old[:min(pageSize, len(old))]...) // after an error a later reader tries again
	}
	return entries, nil
}

func (s *Store) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	var elements []any
	for _, value := range values {
		elements = append(elements, value)
	}
	_, err := query(ctx, s, func(ctx context.Context, c *server) ([]goredis.Cmder, error) {
		return c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			p.LPush(ctx, s.key("log", log), elements...)
			p.LTrim(ctx, s.key("log", log), 0, int64(keep)-1)
			return nil
		})
	})
	return err
}

// Tail returns values of a log, the newest first. A single server skips the newest values itself.
// Several servers may have different values: all are read and merged, and the newest are skipped
// here.
func (s *Store) Tail(ctx context.Context, log string, skip, count int) ([][]byte, error) {
	if count <= 0 {
		return nil, nil // LRANGE 0 -1 would return the whole log
	}
	skippedThere, skippedHere := skip, 0
	if len(s.servers) > 1 {
		skippedThere, skippedHere = 0, skip
	}
	logs, err := query(ctx, s, func(ctx context.Context, c *server) ([]string, error) {
		return c.LRange(ctx, s.key("log", log), int64(skippedThere), int64(skip+count)-1).Result()
	})
	merged := mergeLogs(logs)
	merged = merged[min(skippedHere, len(merged)):]
	return merged[:min(count, len(merged))], err
}

// mergeLogs merges the logs of several servers: the newest value of each log, then the second one
// of each, and so on. So the newest values come first, or nearly so. A value that several servers
// have comes once.
func mergeLogs(logs [][]string) (merged [][]byte) {
	longest := 0
	for _, values := range logs {
		longest = max(longest, len(values))
	}
	seen := map[string]bool{}
	for i := range longest {
		for _, values := range logs {
			// Equal values of one server are two values of the log.
			if i < len(values) && (len(logs) == 1 || !seen[values[i]]) {
				seen[values[i]] = true
				merged = append(merged, []byte(values[i]))
			}
		}
	}
	return merged
}
