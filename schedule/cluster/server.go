package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
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

// tableKey returns the key of the server in the table of servers. Each machine of a name, and each
// schedule of a machine, has a key of its own.
func (s Server) tableKey() string {
	hash := sha256.Sum256([]byte(s.Machine + "\x00" + s.File))
	return s.Name + "@" + hex.EncodeToString(hash[:8])
}

// setRunning sets the runs that the server announces, and counts the others.
func (s *Server) setRunning(runs []Running) {
	s.More = max(0, len(runs)-maxRunning)
	s.Running = runs[:len(runs)-s.More]
}

// Silent reports whether the server has said nothing for three minutes.
func (s Server) Silent() bool { return s.Age >= QuietAfter }

const (
	tableServers = "servers"
	tableLast    = "last"
	logRuns      = "runs"
	logSkips     = "skips"
)

// encode makes JSON of one of the types of this package, or of a record: each can be encoded.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// A Running is a run that lived when its server last said what runs there.
type Running struct {
	Run   string    `json:"run"`
	Task  string    `json:"task"`
	Slot  time.Time `json:"slot"`
	PID   int       `json:"pid,omitempty"` // 0 until its command has started
	Since time.Time `json:"since"`

	Confirmed bool `json:"-"` // the run has its lock in the store; callers set it
	Followed  bool `json:"-"` // another run of the task has come since, so this one is over; callers set it
}

const (
	listedFor  = 10 * time.Minute // after its last announcement a server is still listed
	QuietAfter = 3 * time.Minute  // after that, a server does not count as one that ticks
	maxRunning = 100              // runs that one server announces; it only counts the others
)
