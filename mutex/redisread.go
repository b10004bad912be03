package mutex

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Held returns the holders of those of the mutexes that are held, all with one request. An error
// means that this is unknown.
func (r *Redis) Held(ctx context.Context, names ...string) (map[string]Holder, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var keys []string
	for _, name := range names {
		keys = append(keys, r.lockKeys(name)[:2]...)
	}
	return r.read(ctx, keys, func(values []string) map[string]Holder {
		held := map[string]Holder{}
		for i, name := range names {
			if run := values[2*i]; run != "" {
				held[name] = parseHolder(run, values[2*i+1])
			}
		}
		return held
	})
}

// read reads keys from all servers, and returns the holders on which a majority agrees. parse
// returns those of one server; a key that is not there has the value "".
func (r *Redis) read(ctx context.Context, keys []string, parse func(values []string) map[string]Holder) (map[string]Holder, error) {
	var mu sync.Mutex
	seen := make([]map[string]Holder, len(r.servers))
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		reply, err := c.MGet(ctx, keys...).Result()
		if err != nil {
			return err
		}
		values := make([]string, len(keys))
		for i := range reply {
			values[i], _ = reply[i].(string)
		}
		mu.Lock()
		defer mu.Unlock()
		seen[server] = parse(values)
		return nil
	})
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	type pair struct{ name, run string }
	servers, agreed := map[pair]int{}, map[string]Holder{}
	for _, holders := range seen {
		for name, holder := range holders {
			p := pair{name, holder.Run}
			if servers[p]++; servers[p] == r.quorum() {
				agreed[name] = holder
			}
		}
	}
	return agreed, nil
}
