package servers

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// Also adds commands to the pipeline by which a server announces itself, so that they take no round trip of their own. When all of it
// was answered, read is called. Now is the time of that Redis. Both may be called by several goroutines at once.
type Also func(ctx context.Context, p redis.Pipeliner, now time.Time) (read func())

// Announce publishes that a tick of s begins: its name, version, minute, file and runs. Seen, Age and
// Offset of s are ignored.
//
// It returns by how much clock, that of this machine, is ahead of Redis's: the median where there are several Redis
// servers. Half a round trip is how wrong that may be.
func Announce(ctx context.Context, r *mutex.Redis, clock func() time.Time, s Server, also ...Also) (offset time.Duration, err error) {
	return announce(ctx, r, clock, s, true, also)
}

// Refresh publishes that a tick of s, which was announced, still lives, and what runs now. Version and minute of
// the server stay those of the tick that began last, which may be a later one, where they are there.
func Refresh(ctx context.Context, r *mutex.Redis, clock func() time.Time, s Server, also ...Also) (offset time.Duration, err error) {
	return announce(ctx, r, clock, s, false, also)
}

func announce(ctx context.Context, r *mutex.Redis, clock func() time.Time, s Server, begins bool, also []Also) (time.Duration, error) {
	key, all := r.Key("server", s.Name), r.Key("servers")
	s.More += max(0, len(s.Running)-maxRunning)
	s.Running = s.Running[:min(maxRunning, len(s.Running))]
	var offsets collection[time.Duration]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		seen, offset, err := compareClocks(ctx, c, clock)
		if err != nil {
			return err
		}
		offsets.set(server, offset)
		reads := make([]func(), len(also))
		tick := toJSON(tickEntry{s.Version, s.Minute.UTC(), seen, s.Labels})
		_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.HSetNX(ctx, key, "tick", tick)
			if begins {
				p.HSet(ctx, key, "tick", tick)
				addSchedule(ctx, p, r.Key("schedules"), s, seen)
			}
			p.HSet(ctx, key, "now", toJSON(nowEntry{seen, offset, s.Running, s.More}))
			p.PExpire(ctx, key, listedFor)
			p.ZAdd(ctx, all, redis.Z{Score: float64(seen.UnixMilli()), Member: s.Name})
			p.ZRemRangeByScore(ctx, all, "-inf", strconv.FormatInt(seen.Add(-listedFor).UnixMilli(), 10))
			for i, add := range also {
				reads[i] = add(ctx, p, seen)
			}
			return nil
		})
		if errors.Is(err, redis.Nil) { // something is not there, as at the first tick of a server
			err = nil
		}
		for i := 0; err == nil && i < len(reads); i++ {
			reads[i]()
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return median(offsets.values()), nil
}

// compareClocks returns Redis's time, and by how much our clock is ahead of it. Redis is taken to read its clock in
// the middle of a round trip: of the shorter one of two, since the first may have had to connect.
func compareClocks(ctx context.Context, c *redis.Client, clock func() time.Time) (theirs time.Time, offset time.Duration, err error) {
	shortest := time.Duration(-1)
	for range 2 {
		before := clock()
		t, err := c.Time(ctx).Result()
		if err != nil {
			return time.Time{}, 0, err
		}
		took := clock().Sub(before)
		if shortest < 0 || took < shortest {
			shortest, offset = took, before.Add(took/2).Sub(t)
		}
		theirs = t.UTC()
	}
	return theirs, offset, nil
}

// median sorts all, which must not be empty; of two in the middle it returns the larger one.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
