package servers

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// StoreHealth is how one Redis of a store is set up, as far as it tells.
type StoreHealth struct {
	Name    string // its address
	Evicts  string // the policy by which it may drop what it holds, where it has a limit of memory; else empty
	Forgets bool   // it writes nothing to disk
}

// Health asks each Redis of the store how it is set up. Those that do not answer, or may not be asked, are left out.
func Health(ctx context.Context, r *mutex.Redis) (all []StoreHealth) {
	var found collection[StoreHealth]
	r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		info, err := c.Info(ctx).Result()
		if err != nil {
			return err
		}
		saves := map[string]string{"save": "unknown"}
		if told, err := c.ConfigGet(ctx, "save").Result(); err == nil { // a hosted Redis may refuse
			saves = told
		}
		found.set(server, healthIn(c.Options().Addr, info, saves["save"]))
		return nil
	})
	return found.values()
}

// healthIn reads what INFO says, and when the Redis saves to disk besides its log. What INFO does not mention is taken to be well.
func healthIn(address, info, saves string) StoreHealth {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	h := StoreHealth{Name: address}
	if policy := fields["maxmemory_policy"]; policy != "noeviction" && policy != "" && fields["maxmemory"] != "0" {
		h.Evicts = policy
	}
	h.Forgets = fields["aof_enabled"] == "0" && saves == ""
	return h
}
