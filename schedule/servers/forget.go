package servers

import (
	"context"
	"encoding/json"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// ForgetTask removes the last run of a task that is gone, and reports whether one was kept. Runs on the stream go as newer ones come.
func ForgetTask(ctx context.Context, r *mutex.Redis, task string) (found bool, err error) {
	return removed(ctx, r, func(ctx context.Context, c *redis.Client) (int64, error) {
		return c.HDel(ctx, r.Key("last"), task).Result()
	})
}

// ForgetServer removes what a server that is gone announced, and reports whether there was something.
func ForgetServer(ctx context.Context, r *mutex.Redis, name string) (found bool, err error) {
	return removed(ctx, r, func(ctx context.Context, c *redis.Client) (int64, error) {
		members, err := c.ZRange(ctx, r.Key("schedules"), 0, -1).Result()
		if err != nil {
			return 0, err
		}
		pipe := c.Pipeline()
		for _, member := range members {
			var s Schedule
			if json.Unmarshal([]byte(member), &s) == nil && s.Server == name {
				pipe.ZRem(ctx, r.Key("schedules"), member)
			}
		}
		listed, entry := pipe.ZRem(ctx, r.Key("servers"), name), pipe.Del(ctx, r.Key("server", name))
		_, err = pipe.Exec(ctx)
		return listed.Val() + entry.Val(), err
	})
}

// removed reports whether a server of the store had something to remove.
func removed(ctx context.Context, r *mutex.Redis, remove func(context.Context, *redis.Client) (int64, error)) (bool, error) {
	var removed collection[int64]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		n, err := remove(ctx, c)
		removed.set(server, n)
		return err
	})
	for _, n := range removed.values() {
		if n > 0 {
			return true, err
		}
	}
	return false, err
}
