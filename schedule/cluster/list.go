package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sched/mutex"
	"sched/schedule"
)

// List returns the servers that were announced in the last ten minutes, by name. Machines with one
// name are one server, with all their runs and files. Running lacks the last thousand ended runs.
func List(ctx context.Context, store mutex.Store) ([]Server, error) {
	announced, err := readServers(ctx, store, "")
	if err != nil {
		return nil, err
	}
	now, err := store.Now(ctx)
	if err != nil {
		return nil, err
	}
	ended := map[string]bool{}
	if slices.ContainsFunc(slices.Collect(maps.Values(announced)), func(s Server) bool { return len(s.Running) > 0 }) {
		if ended, err = endedLately(ctx, store); err != nil {
			return nil, err
		}
	}
	byName := map[string]Server{}
	newestFirst := func(a, b Server) int { return b.Seen.Compare(a.Seen) }
	for _, s := range slices.SortedFunc(maps.Values(announced), newestFirst) {
		s.Age, s.LastTold = max(0, now.Sub(s.Seen)), max(0, now.Sub(s.Said))
		if s.LastTold > listedFor {
			continue
		}
		s.Schedules = []Schedule{{s.File, s.Digest}}
		s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return ended[r.Run] })
		if newer, known := byName[s.Name]; known {
			s = newer.with(s)
		}
		byName[s.Name] = s
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Server) int { return strings.Compare(a.Name, b.Name) }), nil
}

// with adds what another machine with the same name, or the same one, runs and ticks.
func (s Server) with(other Server) Server {
	for _, r := range other.Running {
		if !slices.ContainsFunc(s.Running, func(known Running) bool { return known.Run == r.Run }) {
			s.Running = append(s.Running, r)
		}
	}
	if !slices.ContainsFunc(s.Schedules, func(known Schedule) bool { return known.File == other.File }) {
		s.Schedules = append(s.Schedules, other.Schedules...)
		slices.SortFunc(s.Schedules, func(a, b Schedule) int { return strings.Compare(a.File, b.File) })
	}
	s.More += other.More
	s.LastTold = min(s.LastTold, other.LastTold)
	return s
}

// Unserved returns the tasks in use whose `servers` mean none of the servers.
func Unserved(s *schedule.Schedule, all []Server) (tasks []*schedule.Task) {
	for _, t := range s.Tasks {
		isFor := func(one Server) bool { return one.AsLabelled().IsAny(t.Servers) }
		if len(t.Servers) > 0 && s.InUse(t) && !slices.ContainsFunc(all, isFor) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// ForgetServer removes what a server that is gone announced, and reports whether there was something.
func ForgetServer(ctx context.Context, store mutex.Store, name string) (found bool, err error) {
	return forget(ctx, store, tableServers, func(key string) bool {
		i := strings.LastIndexByte(key, '@')
		return i >= 0 && key[:i] == name
	})
}

// ForgetTask removes the last runs of a task that is gone, and reports whether there were any.
func ForgetTask(ctx context.Context, store mutex.Store, task string) (found bool, err error) {
	return forget(ctx, store, tableLast, func(key string) bool { return strings.HasPrefix(key, task+"@") })
}

// forget removes from a table what has such a key, and reports whether anything had.
func forget(ctx context.Context, store mutex.Board, table string, isOf func(key string) bool) (found bool, err error) {
	values, err := store.All(ctx, table)
	for key := range values {
		if err == nil && isOf(key) {
			var was bool
			was, err = store.Delete(ctx, table, key)
			found = found || was
		}
	}
	return found, err
}
