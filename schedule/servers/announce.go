package servers

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// Announce tells the others that a tick of server s begins: its name, version, minute and runs. It
// returns by how much our clock, clock, is ahead of Redis's; of several the median.
func Announce(ctx context.Context, r *mutex.Redis, clock func() time.Time, s Server) (offset time.Duration, err error) {
	return announce(ctx, r, clock, s, true)
}

// Refresh tells the others that a tick of server s still lives. The server's last tick may be a later
// one, so that stays what it is if it is known.
func Refresh(ctx context.Context, r *mutex.Redis, clock func() time.Time, s Server) (offset time.Duration, err error) {
	return announce(ctx, r, clock, s, false)
}

func announce(ctx context.Context, r *mutex.Redis, clock func() time.Time, s Server, begins bool) (time.Duration, error) {
	key, all := r.Key("server", s.Name), r.Key("servers")
	s.More += max(0, len(s.Running)-listed)
	s.Running = s.Running[:min(listed, len(s.Running))]
	var offsets collected[time.Duration]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		seen, offset, err := compare(ctx, c, clock)
		if err != nil {
			return err
		}
		offsets.set(server, offset)
		began := text(tick{s.Version, s.Minute.UTC(), seen})
		_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.HSetNX(ctx, key, "tick", began)
			if begins {
				p.HSet(ctx, key, "tick", began)
			}
			p.HSet(ctx, key, "now", text(now{seen, offset, s.Running, s.More}))
			p.PExpire(ctx, key, forgotten)
			p.ZAdd(ctx, all, redis.Z{Score: float64(seen.UnixMilli()), Member: s.Name})
			p.ZRemRangeByScore(ctx, all, "-inf", strconv.FormatInt(seen.Add(-forgotten).UnixMilli(), 10))
			return nil
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	return median(offsets.values()), nil
}

// compare returns Redis's time, and by how much our clock is ahead of it: in the middle of a round trip,
// the shorter one of two, since the first may have had to connect.
func compare(ctx context.Context, c *redis.Client, clock func() time.Time) (theirs time.Time, offset time.Duration, err error) {
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

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
