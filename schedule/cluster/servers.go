package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

const (
	listedFor  = 10 * time.Minute // after its last announcement a server is still listed
	quietAfter = 3 * time.Minute  // after that, a server does not count as one that ticks
	maxRunning = 100              // runs that one server announces; it only counts the others
)

// A Server is a machine that announced lately that it ticks a schedule. It is a value of the table
// of servers.
type Server struct {
	Name        string    `json:"name"`
	Machine     string    `json:"machine,omitempty"` // see Machine; empty when it is not known
	Version     string    `json:"version"`           // of its sched
	Minute      time.Time `json:"minute"`            // of its last tick
	File        string    `json:"file"`              // the schedule that it ticks, absolute
	Digest      string    `json:"digest"`            // of the text of the schedule and of what it includes
	Labels      []string  `json:"labels,omitempty"`
	Environment string    `json:"environment"`
	Zone        string    `json:"zone,omitempty"` // see ZoneOf
	Running     []Running `json:"running,omitempty"`
	More        int       `json:"more,omitempty"` // how many more runs than those in Running

	// Announce and List set these.
	Seen       time.Time     `json:"seen"`                  // when it announced this, by the clock of the store
	Offset     time.Duration `json:"offset,omitempty"`      // its clock minus the clock of the store, in nanoseconds
	SharedName bool          `json:"shared_name,omitempty"` // another machine ticks under its name
	Age        time.Duration `json:"-"`                     // how long ago Seen was
}

// A Running is a run that lived when its server last said what runs there.
type Running struct {
	Run   string    `json:"run"`
	Task  string    `json:"task"`
	Slot  time.Time `json:"slot"`
	PID   int       `json:"pid,omitempty"` // 0 until its command has started
	Since time.Time `json:"since"`
}

// place is the key in the table of servers. Each machine of a name, and each schedule of a machine,
// has a key of its own.
func (s Server) place() string {
	hash := sha256.Sum256([]byte(s.Machine + "\x00" + s.File))
	return s.Name + "@" + hex.EncodeToString(hash[:8])
}

// Silent reports whether the server has said nothing for three minutes.
func (s Server) Silent() bool { return s.Age >= quietAfter }

// Announce announces that a tick of self begins or goes on, and which runs live there. Offset is
// how far the clock of this machine is ahead of the clock of the store (wrong by at most half a
// round trip). Found is what is wrong with the servers. Announce takes three calls.
func Announce(ctx context.Context, store mutex.Store, clock func() time.Time, self Server) (offset time.Duration, found []Finding, err error) {
	all, now, err := readServers(ctx, store)
	if err != nil {
		return 0, nil, err
	}
	offset = clock().Sub(now)
	found, self.Seen = findingsOf(self, all, now), now.UTC()
	self.SharedName = slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == KindName })
	if last := all[self.place()]; last.Minute.After(self.Minute) { // this tick began before the last one
		self.Minute, self.Version, self.Digest = last.Minute, last.Version, last.Digest
	}
	self.More = max(0, len(self.Running)-maxRunning)
	self.Running = self.Running[:len(self.Running)-self.More]
	self.Minute, self.Offset = self.Minute.UTC(), offset
	return offset, found, store.Put(ctx, tableServers, self.place(), encode(self), listedFor)
}

// readServers returns the servers by key, with only such runs as sched can have made, and then the
// time of the store. It reads the time last, so that the clocks are not compared while it connects.
func readServers(ctx context.Context, store mutex.Store) (all map[string]Server, now time.Time, err error) {
	values, err := store.All(ctx, tableServers)
	if err != nil {
		return nil, now, err
	}
	all = map[string]Server{}
	for key, value := range values {
		s, ok := mutex.Decode[Server](value)
		if !ok || s.Name == "" || s.Seen.IsZero() {
			continue
		}
		s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return !outcome.IsID(r.Run) || r.Task == "" })
		s.Running, s.More = s.Running[:min(maxRunning, len(s.Running))], max(0, s.More)
		all[key] = s
	}
	now, err = store.Now(ctx)
	return all, now, err
}

// List returns the servers of the last ten minutes, by name, the newest first. A machine has an
// entry for each schedule that it ticks, and a new entry after a boot. Running does not have the
// last thousand ended runs.
func List(ctx context.Context, store mutex.Store) ([]Server, error) {
	announced, now, err := readServers(ctx, store)
	if err != nil {
		return nil, err
	}
	all := slices.Collect(maps.Values(announced))
	known := map[string]bool{} // runs that have ended, or that a newer entry has
	if slices.ContainsFunc(all, func(s Server) bool { return len(s.Running) > 0 }) {
		ended, err := Recent(ctx, store, "", state.Query{}, PageSize)
		if err != nil {
			return nil, err
		}
		for _, r := range ended {
			known[r.ID] = true
		}
	}
	all = slices.DeleteFunc(all, func(s Server) bool { return now.Sub(s.Seen) > listedFor })
	slices.SortFunc(all, func(a, b Server) int { return cmp.Or(strings.Compare(a.Name, b.Name), b.Seen.Compare(a.Seen)) })
	for i := range all {
		all[i].Age = max(0, now.Sub(all[i].Seen))
		if i > 0 && all[i-1].Name == all[i].Name {
			all[i].SharedName = all[i-1].SharedName // the newer entry knows better
		}
		all[i].Running = slices.DeleteFunc(all[i].Running, func(r Running) bool { return known[r.Run] })
		for _, r := range all[i].Running {
			known[r.Run] = true
		}
	}
	return all, nil
}
