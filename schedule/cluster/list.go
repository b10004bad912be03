package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"sched/mutex"
	"sched/schedule"
)

// List returns the servers that announced themselves in the last ten minutes, sorted by name. Machines
// that share a name are one server, with the tick that began last and the runs of all. Runs that are
// among the last thousand that ended are left out of Running.
func List(ctx context.Context, store mutex.Store) ([]Server, error) {
	all, err := machines(ctx, store)
	if err != nil {
		return nil, err
	}
	ended := map[string]bool{}
	if slices.ContainsFunc(all, func(s Server) bool { return len(s.Running) > 0 }) {
		if ended, err = endedLately(ctx, store); err != nil {
			return nil, err
		}
	}
	byName := map[string]Server{}
	for _, s := range all {
		s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return ended[r.Run] })
		if newer, known := byName[s.Name]; known {
			s = newer.with(s)
		}
		byName[s.Name] = s
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Server) int { return strings.Compare(a.Name, b.Name) }), nil
}

// with adds what another machine with the same name runs.
func (s Server) with(other Server) Server {
	for _, r := range other.Running {
		if !slices.ContainsFunc(s.Running, func(known Running) bool { return known.Run == r.Run }) {
			s.Running = append(s.Running, r)
		}
	}
	s.More += other.More
	s.LastTold = min(s.LastTold, other.LastTold)
	return s
}

// machines returns what each machine announced for each file that it ticks, the newest tick first.
func machines(ctx context.Context, store mutex.Store) (all []Server, err error) {
	ticks, err := readTable(ctx, store, tableTicks, "")
	if err != nil {
		return nil, err
	}
	nows, err := readTable(ctx, store, tableNow, "")
	if err != nil {
		return nil, err
	}
	clock, err := store.Now(ctx)
	for key, n := range nows {
		s, ok := ticks[key]
		if !ok {
			s = n // its tick began more than ten minutes ago, or the store has lost its data since
		}
		s.Age, s.LastTold = max(0, clock.Sub(s.Seen)), max(0, clock.Sub(n.Seen))
		s.Offset, s.Running, s.More = n.Offset, n.Running, n.More
		if s.LastTold <= listedFor {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Server) int { return b.Seen.Compare(a.Seen) })
	return all, err
}

// A Schedule is a file that a server ticks under the name of this store.
type Schedule struct {
	Server string
	File   string // absolute, on that server
	Digest string // of its text and of what it includes
}

// Schedules returns the files that servers ticked under the name of this store in the last ten minutes,
// sorted by server and file.
func Schedules(ctx context.Context, store mutex.Store) (files []Schedule, err error) {
	all, err := machines(ctx, store)
	for _, s := range all {
		seen := func(f Schedule) bool { return f.Server == s.Name && f.File == s.File }
		if s.File != "" && !slices.ContainsFunc(files, seen) {
			files = append(files, Schedule{s.Name, s.File, s.Digest})
		}
	}
	slices.SortFunc(files, func(a, b Schedule) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.File, b.File))
	})
	return files, err
}

// Unserved returns the tasks that none of the servers runs, though they are in use: what they say in
// `servers` means none of them.
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
	return forget(ctx, store, []string{tableTicks, tableNow}, func(key string) bool {
		i := strings.LastIndexByte(key, '@')
		return i >= 0 && key[:i] == name
	})
}

// ForgetTask removes the last runs of a task that is gone, and reports whether there were any. Runs in
// the log go as newer ones come.
func ForgetTask(ctx context.Context, store mutex.Store, task string) (found bool, err error) {
	return forget(ctx, store, []string{tableLast}, func(key string) bool {
		of, _, _ := strings.Cut(key, "@")
		return of == task
	})
}

// forget removes from the tables what has such a key, and reports whether anything had.
func forget(ctx context.Context, store mutex.Board, tables []string, isOf func(key string) bool) (found bool, err error) {
	for _, table := range tables {
		values, err := store.All(ctx, table)
		if err != nil {
			return found, err
		}
		for key := range values {
			if !isOf(key) {
				continue
			}
			was, err := store.Delete(ctx, table, key)
			if err != nil {
				return found, err
			}
			found = found || was
		}
	}
	return found, nil
}
