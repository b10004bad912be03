// Package cluster is what the servers of one schedule tell each other through their store: which of
// them tick, what runs there, and which runs have ended. It also has the keys of claims of slots.
//
// Nothing that is read is proof: it may be old, and whoever can write to the store can write
// anything. So it is cleaned (mutex.Decode) and checked (read.go), and nothing of it decides what
// runs.
//
// On the board of the store (mutex.Board) are, below the schedule's name:
//
//	servers  a table: the tick that began last on a server, and what ran there when it said so
//	         last; gone ten minutes after that
//	last     a table: of each task, the ended run that began last on a server; by task and server
//	runs     a log: the last 10,000 runs that ended on any server
//
// All functions may be used concurrently. An error means that nobody knows: what was to be written may
// have been written.
package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/labels"
	"sched/schedule/outcome"
)

const (
	tableServers = "servers"
	tableLast    = "last"
	logRuns      = "runs"
)

const (
	// listedFor is how long after its last announcement a server is still listed.
	listedFor = 10 * time.Minute

	// quietAfter is how long after its last announcement a server counts as one that ticks.
	quietAfter = 3 * time.Minute

	// maxRunning is how many runs one server announces; the others are counted.
	maxRunning = 100
)

// A Server is a machine that said lately that it ticks, and a value of the table of servers.
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
	More        int       `json:"more,omitempty"` // how many runs beyond those in Running

	// Announce, Refresh and List say these.
	Seen       time.Time     `json:"seen"`                  // when its last tick began, by the clock of the store
	Offset     time.Duration `json:"offset,omitempty"`      // its clock minus the clock of the store, in nanoseconds
	SharedName bool          `json:"shared_name,omitempty"` // another machine ticks under its name
	Said       time.Time     `json:"said"`                  // when it said last what runs there
	Age        time.Duration `json:"-"`                     // how long ago Seen was
	LastTold   time.Duration `json:"-"`                     // how long ago Said was
	Schedules  []Schedule    `json:"-"`                     // that it ticks under the name of this store, sorted by file
}

// A Schedule is a file that a server ticks under the name of this store.
type Schedule struct {
	File   string // absolute, on that server
	Digest string // of its text and of what it includes
}

// A Running is a run that lived when its server last said what runs there.
type Running struct {
	Run   string    `json:"run"`
	Task  string    `json:"task"`
	Slot  time.Time `json:"slot"`
	PID   int       `json:"pid,omitempty"` // 0 until its command has started
	Since time.Time `json:"since"`
}

// place is the key in the table of servers. Machines with one name, and schedules of one machine,
// have keys of their own.
func (s Server) place() string {
	hash := sha256.Sum256([]byte(s.Machine + "\x00" + s.File))
	return s.Name + "@" + hex.EncodeToString(hash[:8])
}

// Silent reports whether the server has said nothing for three minutes.
func (s Server) Silent() bool { return s.LastTold >= quietAfter }

// AsLabelled is the server as `servers` of a task sees it.
func (s Server) AsLabelled() labels.Machine { return labels.Machine{Name: s.Name, Labels: s.Labels} }

// encode makes JSON of one of the types above, or of a record: each of them can be encoded.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// Key is the key of the claim of a slot. It lacks the mutex, which tasks with other slots may
// share.
func Key(slot schedule.Slot) string {
	return slot.Task.Name + "@" + slot.At.UTC().Format("20060102T150405Z")
}

// Until returns how long a slot's claim is kept, on every server: an hour after a tick may last
// start it.
func Until(slot schedule.Slot) time.Time {
	last := slot.At
	if slot.Task.RunMissed || slot.Task.WaitWhenStoreDown {
		last = last.Add(slot.Task.MissedWithin)
	}
	return last.Add(time.Hour)
}

// Taken is the reason of a skip because of a claim. The holder may be unknown.
func Taken(holder mutex.Holder) string {
	if holder.Run == "" {
		return outcome.AnotherTick + "had this slot, some time ago"
	}
	return outcome.AnotherTick + "has this slot " + holder.String()
}
