package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
)

var _ mutex.Health = (*Store)(nil)

// Risks returns what may go wrong with the servers as they are set up, as far as they tell.
func (s *Store) Risks(context.Context) (risks []mutex.Risk) {
	for _, server := range s.servers {
		server.do(time.Now().Add(timeout), func(ctx context.Context) (any, error) {
			client := server.client
			if cluster, ok := client.(*goredis.ClusterClient); ok {
				node, err := cluster.MasterForKey(ctx, s.key("clock"))
				if err != nil {
					return nil, err
				}
				client = node
			}
			info, err := client.Info(ctx).Result()
			if goredis.HasErrorPrefix(err, "NOPERM") {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			saves := map[string]string{"save": "unknown"}
			if told, err := client.ConfigGet(ctx, "save").Result(); err == nil { // a hosted Redis may refuse
				saves = told
			}
			risks = append(risks, server.target.risks(info, saves["save"])...)
			return nil, nil
		})
	}
	return risks
}

// risks reads what INFO says, and when the Redis saves to disk besides its log. What INFO does not
// mention is taken to be well.
func (t *target) risks(info, saves string) (risks []mutex.Risk) {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[field] = value
	}
	is := func(field, value string) bool { return fields[field] == value }
	add := func(evicts bool, hint, text string, args ...any) {
		risks = append(risks, mutex.Risk{Text: fmt.Sprintf("Redis "+t.name()+" "+text, args...), Hint: hint, Evicts: evicts})
	}
	if policy := fields["maxmemory_policy"]; policy != "noeviction" && policy != "" && !is("maxmemory", "0") {
		add(true, "set maxmemory-policy noeviction, or use a Redis of its own",
			"may throw locks away when its memory is full (maxmemory-policy %s)", mutex.Clean(policy))
	}
	if is("aof_enabled", "0") && saves == "" {
		add(false, "set appendonly yes", "keeps nothing on disk: after its restart a slot may run again on another server")
	}
	switch replicas := fields["connected_slaves"]; {
	case !t.moves() || replicas == "":
	case replicas == "0":
		add(false, "`redis-cli info replication` shows who copies from it", "has no replica: nothing takes over when it goes down")
	case fields["min_slaves_good_slaves"] == "": // said where min-replicas-to-write is set
		add(false, "set min-replicas-to-write 1 and min-replicas-max-lag 10",
			"takes writes while no replica gets them: a failover forgets what was granted meanwhile")
	}
	return risks
}
