package redis

import (
	"context"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
)

// Risks returns what may go wrong with the servers as they are set up, as far as they tell.
func (s *Store) Risks(ctx context.Context) (risks []mutex.Risk) {
	for _, server := range s.servers {
		do(ctx, server, func(ctx context.Context) (any, error) {
			client := server.client
			if cluster, ok := client.(*goredis.ClusterClient); ok {
				node, err := cluster.MasterForKey(ctx, s.key("clock"))
				if err != nil {
					return nil, err
				}
				client = node
			}
			info, err := client.Info(ctx).Result()
			if err == nil {
				saves, refused := client.ConfigGet(ctx, "save").Result() // a hosted Redis may refuse
				risks = append(risks, server.target.risks(info, refused != nil || saves["save"] != "")...)
			} else if goredis.HasErrorPrefix(err, "NOPERM") {
				err = nil
			}
			return nil, err
		})
	}
	return risks
}

// risks reads what INFO says. A Redis may save to disk besides its log. What INFO does not mention
// is taken to be well.
func (t *target) risks(info string, saves bool) (risks []mutex.Risk) {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[field] = value
	}
	add := func(evicts bool, hint, text string, args ...any) {
		risks = append(risks, mutex.Risk{Text: fmt.Sprintf("Redis "+t.name+" "+text, args...), Hint: hint, Evicts: evicts})
	}
	if policy := fields["maxmemory_policy"]; policy != "noeviction" && policy != "" && fields["maxmemory"] != "0" {
		add(true, "set maxmemory-policy noeviction, or use a Redis of its own",
			"may throw locks away when its memory is full (maxmemory-policy %s)", mutex.Clean(policy))
	}
	if fields["aof_enabled"] == "0" && !saves {
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
