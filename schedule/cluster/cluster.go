// Package cluster is what the servers of one schedule tell each other through their store: which
// servers tick, which runs live there, and which runs have ended.
//
// No value that is read is proof: it may be old, and everybody who can write to the store can write
// anything. So values are cleaned (mutex.Decode) and checked, and no value decides what runs.
//
// On the board of the store (mutex.Board) are, below the schedule's name:
//
//	servers  a table: each server, its last tick, and what runs there; gone ten minutes after it
//	         said that last
//	last     a table: of each task, the ended run that began last on a server; by task and server
//	runs     a log: the last 10,000 runs that ended on any server
//	skips    a log: the last 1,000 slots that a server claimed, and skipped
//
// All functions may be used concurrently. An error means that nobody knows whether a value was
// written.
package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/statedir"
)

// Forget removes the last runs of a task with that name, and the announcements of a server with
// that name. It reports whether there were any.
func Forget(ctx context.Context, store mutex.Board, name string) (found bool, err error) {
	for _, table := range []string{tableLast, tableServers} {
		values, allErr := store.All(ctx, table)
		err = cmp.Or(err, allErr)
		for key := range values {
			if err == nil && strings.HasPrefix(key, name+"@") { // no name has an @
				found, err = true, store.Delete(ctx, table, key)
			}
		}
	}
	return found, err
}

// Announce announces that a tick of self begins or goes on, and which runs live there. The offset
// is how far the clock of this machine is ahead of the clock of the store (wrong by at most half a
// round trip). The findings are what is wrong with the servers. Announce takes three calls.
func Announce(
	ctx context.Context, store mutex.Store, now func() time.Time, self Server,
) (offset time.Duration, findings []Finding, err error) {
	servers, storeNow, err := readServers(ctx, store)
	if err != nil {
		return 0, nil, err
	}
	offset = now().Sub(storeNow)
	findings, self.Seen = findingsOf(self, servers, storeNow), storeNow.UTC()
	self.SharedName = slices.ContainsFunc(findings, func(f Finding) bool { return f.Kind == KindName })
	if last := servers[self.tableKey()]; last.Minute.After(self.Minute) { // this tick began before the last one
		self.Minute, self.Version, self.Digest = last.Minute, last.Version, last.Digest
	}
	self.setRunning(self.Running)
	self.Minute, self.Offset = self.Minute.UTC(), offset
	return offset, findings, store.Put(ctx, tableServers, self.tableKey(), encode(self), listedFor)
}

// readServers returns the servers by key, with only such runs as sched can have made, and then the
// time of the store. It reads the time last, so that the clocks are not compared while it connects.
func readServers(ctx context.Context, store mutex.Store) (servers map[string]Server, now time.Time, err error) {
	values, err := store.All(ctx, tableServers)
	if err != nil {
		return nil, now, err
	}
	servers = map[string]Server{}
	for key, value := range values {
		s, ok := mutex.Decode[Server](value)
		if !ok || s.Name == "" || s.Seen.IsZero() {
			continue
		}
		s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return !outcome.IsID(r.Run) || r.Task == "" })
		s.Running, s.More = s.Running[:min(maxRunning, len(s.Running))], max(0, s.More)
		servers[key] = s
	}
	now, err = store.Now(ctx)
	return servers, now, err
}

// List returns the servers of the last ten minutes, by name, the newest first. A machine has an
// entry for each schedule that it ticks, and a new entry after a boot. Running leaves out the runs
// that are among the last thousand ended ones.
func List(ctx context.Context, store mutex.Store) ([]Server, error) {
	announced, now, err := readServers(ctx, store)
	if err != nil {
		return nil, err
	}
	servers := slices.Collect(maps.Values(announced))
	known := map[string]bool{} // runs that have ended, or that a newer entry has
	if slices.ContainsFunc(servers, func(s Server) bool { return len(s.Running) > 0 }) {
		ended, err := Recent(ctx, store, "", past.Query{}, PageSize)
		if err != nil {
			return nil, err
		}
		for _, r := range ended {
			known[r.ID] = true
		}
	}
	servers = slices.DeleteFunc(servers, func(s Server) bool { return now.Sub(s.Seen) > listedFor })
	slices.SortFunc(servers, func(a, b Server) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Seen.Compare(a.Seen))
	})
	for i := range servers {
		s := &servers[i]
		s.Age = max(0, now.Sub(s.Seen))
		if i > 0 && servers[i-1].Name == s.Name {
			s.SharedName = servers[i-1].SharedName // the newer entry is right
		}
		s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return known[r.Run] })
		for _, r := range s.Running {
			known[r.Run] = true
		}
	}
	return servers, nil
}

// Machine returns a text that tells machines of one name apart, by state folder and boot; "" if dir
// is not writable.
func Machine(dir string) string {
	path := filepath.Join(dir, "machine")
	id, err := statedir.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		id = []byte(rand.Text() + "\n")
		err = statedir.Replace(path, id)
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id)) + " " + clock.BootID()
}
