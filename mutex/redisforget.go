package mutex

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// longestClaim is how far back bits of claims can be: no task makes up for older slots.
const longestClaim = 33 * 24 * time.Hour

// Forget removes what is kept of a task that is gone, and of the mutex with its name unless that is kept for others; it returns how many
// keys. Claims end by themselves within the hour. While a run holds the mutex the error is a *HeldError, and nothing is removed.
func (r *Redis) Forget(ctx context.Context, task string, keepMutex bool, now time.Time) (keys int, err error) {
	var all []string
	if !keepMutex {
		held, err := r.Held(ctx, task)
		if err != nil {
			return 0, err
		}
		if holder, ok := held[task]; ok {
			return 0, &HeldError{task, holder}
		}
		all = r.lockKeys(task)[1:] // without the lock, which is free, or taken this moment
	}
	for day := now.Add(-longestClaim); day.Before(now.Add(48 * time.Hour)); day = day.Add(24 * time.Hour) {
		key := r.Key("claimed", task, day.UTC().Format("20060102"))
		all = append(all, key, key+":s")
	}
	var mu sync.Mutex
	err = r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		n, err := c.Del(ctx, all...).Result()
		mu.Lock()
		defer mu.Unlock()
		keys = max(keys, int(n))
		return err
	})
	mu.Lock()
	defer mu.Unlock()
	return keys, err
}
