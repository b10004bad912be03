package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// An entry is a field of a table: "AT UNTIL VALUE" with times of the store's clock in milliseconds.
// Without VALUE it was deleted; it is kept for the servers that have missed that.
type entry struct {
	at, until int64
	value     string
	there     bool // it has a value
}

func (e entry) String() string {
	if !e.there {
		return fmt.Sprintf("%d %d", e.at, e.until)
	}
	return fmt.Sprintf("%d %d %s", e.at, e.until, e.value)
}

// entryOf reads a field. Garbage is an entry that was over long ago.
func entryOf(text string) (e entry) {
	at, rest, _ := strings.Cut(text, " ")
	until, value, there := strings.Cut(rest, " ")
	var err, err2 error
	e.at, err = strconv.ParseInt(at, 10, 64)
	e.until, err2 = strconv.ParseInt(until, 10, 64)
	if err != nil || err2 != nil {
		return entry{}
	}
	e.value, e.there = value, there
	return e
}

// Bounds of what a table may cost its readers, whoever wrote it.
const (
	mostEntries = 10_000 // that are read
	pageSize    = 1000   // of one request
	mostCleaned = 100    // that one reader removes
)

// cleanAfter is how long an entry is left alone when it is over: its writer may be renewing it.
const cleanAfter = time.Hour

// deletedFor is how long it is kept that an entry was deleted.
const deletedFor = 7 * 24 * time.Hour

func (s *Store) Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error {
	now, err := s.clock(ctx)
	if err != nil {
		return err
	}
	text := entry{now.UnixMilli(), now.Add(keep).UnixMilli(), string(value), true}.String()
	_, err = query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) (int64, error) {
		return c.HSet(ctx, s.key("board", table), key, text).Result()
	})
	return err
}

func (s *Store) Delete(ctx context.Context, table, key string) (bool, error) {
	now, err := s.clock(ctx)
	if err != nil {
		return false, err
	}
	text := entry{at: now.UnixMilli(), until: now.Add(deletedFor).UnixMilli()}.String()
	answers, err := query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) (string, error) {
		var before *goredis.StringCmd
		_, err := c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			before = p.HGet(ctx, s.key("board", table), key)
			p.HSet(ctx, s.key("board", table), key, text)
			return nil
		})
		if err == goredis.Nil {
			err = nil
		}
		return before.Val(), err
	})
	var newest entry
	for _, answer := range answers {
		if e := entryOf(answer); e.at > newest.at {
			newest = e
		}
	}
	return newest.there && newest.until > now.UnixMilli(), err
}

// All returns the values that are kept. Of several servers the newest entry counts.
func (s *Store) All(ctx context.Context, table string) (map[string][]byte, error) {
	now, err := s.clock(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) (map[string]string, error) {
		return s.fields(ctx, c, s.key("board", table), now)
	})
	if err != nil {
		return nil, err
	}
	newest := map[string]entry{}
	for _, fields := range answers {
		for key, text := range fields {
			if e := entryOf(text); e.at > newest[key].at {
				newest[key] = e
			}
		}
	}
	values := map[string][]byte{}
	for key, e := range newest {
		if e.there && e.until > now.UnixMilli() {
			values[key] = []byte(e.value)
		}
	}
	return values, nil
}

// fields reads a table of one server, up to a bound, and removes some of what is over.
func (s *Store) fields(ctx context.Context, c goredis.UniversalClient, table string, now time.Time) (map[string]string, error) {
	fields := map[string]string{}
	var over []string
	for cursor := uint64(0); ; {
		page, next, err := c.HScan(ctx, table, cursor, "", pageSize).Result()
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(page); i += 2 {
			fields[page[i]] = page[i+1]
			if entryOf(page[i+1]).until < now.Add(-cleanAfter).UnixMilli() && len(over) < mostCleaned {
				over = append(over, page[i])
			}
		}
		if cursor = next; cursor == 0 || len(fields) >= mostEntries {
			break
		}
	}
	if len(over) > 0 {
		s.working.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			c.HDel(ctx, table, over...)
		})
	}
	return fields, nil
}

func (s *Store) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	if len(values) == 0 {
		return nil
	}
	var all []any
	for _, value := range values {
		all = append(all, value)
	}
	_, err := query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) ([]goredis.Cmder, error) {
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
	if count <= 0 {
		return nil, nil
	}
	from := skip
	if len(s.servers) > 1 {
		from = 0
	}
	logs, err := query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) ([]string, error) {
		return c.LRange(ctx, s.key("log", log), int64(from), int64(skip+count)-1).Result()
	})
	if err != nil {
		return nil, err
	}
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
	return merged[:min(count, len(merged))], nil
}
