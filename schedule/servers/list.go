package servers

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/outcome"
)

// List returns the servers that announced themselves in the last ten minutes, sorted by name. Runs that were
// published since (Publish) are left out of Running.
func List(ctx context.Context, r *mutex.Redis) ([]Server, error) {
	var answers collection[answer]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		a, err := list(ctx, r, c)
		answers.set(server, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	newest, ended := map[string]announced{}, map[string]bool{}
	for _, answer := range answers.values() {
		for _, a := range answer.servers {
			if a.seen.After(newest[a.Name].seen) {
				newest[a.Name] = a
			}
		}
		for _, run := range answer.ended {
			ended[run] = true
		}
	}
	servers := []Server{}
	for _, a := range newest {
		a.Running = slices.DeleteFunc(a.Running, func(r Running) bool { return ended[r.Run] })
		servers = append(servers, a.Server)
	}
	slices.SortFunc(servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return servers, nil
}

// An answer is what one Redis has of the servers.
type answer struct {
	servers []announced
	ended   []string // those of their runs that were published since
}

// An announced is a server, and when it last announced itself by Redis's clock.
type announced struct {
	Server
	seen time.Time
}

// list reads what one Redis has, in at most three round trips.
func list(ctx context.Context, r *mutex.Redis, c *redis.Client) (found answer, err error) {
	names, err := c.ZRange(ctx, r.Key("servers"), 0, -1).Result()
	if err != nil || len(names) == 0 {
		return answer{}, err
	}
	var when *redis.TimeCmd
	var hashes []*redis.MapStringStringCmd
	_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		when = p.Time(ctx)
		for _, name := range names {
			hashes = append(hashes, p.HGetAll(ctx, r.Key("server", name)))
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	var runs []string
	for i, name := range names {
		fields := hashes[i].Val()
		var t tickEntry
		var n nowEntry
		if json.Unmarshal([]byte(fields["tick"]), &t) != nil || json.Unmarshal([]byte(fields["now"]), &n) != nil {
			continue // it expired since, or no sched wrote it
		}
		n.Running = slices.DeleteFunc(n.Running, func(r Running) bool { return !outcome.IsID(r.Run) })
		for _, running := range n.Running {
			runs = append(runs, running.Run)
		}
		found.servers = append(found.servers, announced{seen: n.Seen, Server: Server{Name: name, Version: t.Version, Minute: t.Minute,
			Environment: fields["environment"], SharedName: fields["shared"] == "true", Seen: t.Seen, Age: max(0, when.Val().Sub(t.Seen)), Offset: n.Offset,
			Labels: t.Labels, Running: n.Running, More: n.More}})
	}
	found.ended, err = published(ctx, c, r.Key("ended"), runs)
	return found, err
}

// published returns those of the runs that are on the stream, by the set of their ids.
func published(ctx context.Context, c *redis.Client, ended string, runs []string) (some []string, err error) {
	if len(runs) == 0 {
		return nil, nil
	}
	scores := make([]*redis.FloatCmd, len(runs))
	_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, run := range runs {
			scores[i] = p.ZScore(ctx, ended, run)
		}
		return nil
	})
	for i, score := range scores {
		if score.Err() == nil {
			some = append(some, runs[i])
		}
	}
	if errors.Is(err, redis.Nil) { // at least one of them is not on the stream
		err = nil
	}
	return some, err
}
