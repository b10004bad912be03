package servers

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// A Schedule is a file that a server ticks under the name of this store.
type Schedule struct {
	Server string `json:"server"`
	File   string `json:"file"`   // absolute, on that server
	Digest string `json:"digest"` // of its text and of what it includes
}

// addSchedule publishes the file that a server ticks, where it is known. An edit makes another member, and the older one is gone
// when listedFor is over: a sorted set has no time for each member of its own.
func addSchedule(ctx context.Context, p redis.Pipeliner, key string, s Server, seen time.Time) {
	if s.File == "" {
		return
	}
	p.ZAdd(ctx, key, redis.Z{Score: float64(seen.UnixMilli()), Member: toJSON(Schedule{s.Name, s.File, s.Digest})})
	p.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(seen.Add(-listedFor).UnixMilli(), 10))
	p.PExpire(ctx, key, listedFor)
}

// Schedules returns the files that servers ticked under the name of this store in the last ten minutes, each with its newest text,
// sorted by server and file.
func Schedules(ctx context.Context, r *mutex.Redis) ([]Schedule, error) {
	var answers collection[[]redis.Z]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		found, err := c.ZRangeWithScores(ctx, r.Key("schedules"), 0, -1).Result()
		answers.set(server, found)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newestTexts(slices.Concat(answers.values()...)), nil
}

// newestTexts returns of each file of each server the text that was ticked last.
func newestTexts(members []redis.Z) (all []Schedule) {
	slices.SortStableFunc(members, func(a, b redis.Z) int { return int(b.Score - a.Score) })
	seen := map[[2]string]bool{}
	for _, m := range members {
		var s Schedule
		text, _ := m.Member.(string)
		if json.Unmarshal([]byte(text), &s) != nil || seen[[2]string{s.Server, s.File}] {
			continue
		}
		seen[[2]string{s.Server, s.File}] = true
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Schedule) int { return strings.Compare(a.Server+"\x00"+a.File, b.Server+"\x00"+b.File) })
	return all
}
