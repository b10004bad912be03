package servers

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// StoreHealth is how one Redis of a store is set up, as far as it tells.
type StoreHealth struct {
	Name    string // of the server, for people
	Evicts  string // the policy by which it may drop what it holds, where it has a limit of memory; else empty
	Forgets bool   // it writes nothing to disk
	Alone   bool   // it is a primary behind Sentinels or in a Cluster, and no replica could take over
	Ahead   bool   // it is a such a primary, and takes writes also while its replicas are out of reach
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
		h := healthIn(r.Name(server), info, saves["save"])
		if !r.Moves(server) {
			h.Alone, h.Ahead = false, false
		}
		found.set(server, h)
		return nil
	})
	return found.values()
}

// healthIn reads what INFO says, and when the Redis saves to disk besides its log. What INFO does not mention is taken to be well.
func healthIn(name, info, saves string) StoreHealth {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[field] = value
	}
	h := StoreHealth{Name: name}
	if policy := fields["maxmemory_policy"]; policy != "noeviction" && policy != "" && fields["maxmemory"] != "0" {
		h.Evicts = policy
	}
	h.Forgets = fields["aof_enabled"] == "0" && saves == ""
	h.Alone = fields["connected_slaves"] == "0"
	h.Ahead = !h.Alone && fields["connected_slaves"] != "" && fields["min_slaves_good_slaves"] == "" // said where min-replicas-to-write is set
	return h
}

// A Risk is what may go wrong with a Redis that is set up as it is.
type Risk struct {
	Text, Hint string
	Evicts     bool // locks may be thrown away while all is well; the others need a failure first
}

// Risks says what may go wrong.
func (h StoreHealth) Risks() (all []Risk) {
	if h.Evicts != "" {
		all = append(all, Risk{fmt.Sprintf("Redis %s may throw locks away when its memory is full (maxmemory-policy %s)", h.Name, h.Evicts),
			"set maxmemory-policy noeviction, or use a Redis of its own", true})
	}
	if h.Forgets {
		all = append(all, Risk{Text: fmt.Sprintf("Redis %s keeps nothing on disk: after its restart a slot may run again on another server", h.Name),
			Hint: "set appendonly yes"})
	}
	if h.Alone {
		all = append(all, Risk{Text: fmt.Sprintf("Redis %s has no replica: nothing takes over when it goes down", h.Name),
			Hint: "`redis-cli info replication` shows who copies from it"})
	}
	if h.Ahead {
		all = append(all, Risk{Text: fmt.Sprintf("Redis %s takes writes while no replica gets them: a failover forgets what was granted meanwhile", h.Name),
			Hint: "set min-replicas-to-write 1 and min-replicas-max-lag 10"})
	}
	return all
}
