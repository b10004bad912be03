// Package servers publishes, through the Redis that the servers of one schedule share, which of them tick and what runs
// there, and which runs are finished.
//
// Goals:
//   - A command on one server shows all of them.
//   - With several Redis servers each has everything, and a majority of them is enough to write and to read.
//
// Non-goals: deciding which server runs what, which is for locks and claims (package mutex); pauses and interrupts
// (package controls); and keeping history. Each server writes about itself alone, for people: one that is listed may
// have died a moment ago, and a run that is listed as running may have ended. The history of a server, its own
// database, stays the record of what it ran; Redis has copies of the newest.
//
// The keys, below the schedule's name, and what is kept there:
//
//	server:NAME  a hash, gone ten minutes after the last announcement: tick (tickEntry), now (nowEntry), and of
//	             Neighbours machine, environment, shared
//	environments a sorted set: the environments in which servers tick, by the time of the last announcement
//	servers      a sorted set: the names, by the time of their last announcement
//	schedules    a sorted set: the files that they tick (Schedule), by the same time
//	runs         a stream of finished runs, capped
//	ended        a sorted set: the ids of the runs on the stream
//	last         a hash: of each task the finished run that began last
//
// Servers with other versions of sched read and write the same keys, so names and formats stay as they are. Redis 5 has
// all that this needs. All functions may be used concurrently. An error means that no majority of the Redis
// servers answered; then what was to be written may have been written to some of them.
package servers

import (
	"encoding/json"
	"sync"
	"time"
)

// A Server is a machine on which a tick began lately.
type Server struct {
	Name    string
	Version string        // of its sched
	Minute  time.Time     // of its last tick
	File    string        // the schedule that it ticks, for Announce: see Schedules
	Digest  string        // of its text
	Seen    time.Time     // when that began, by Redis's clock
	Age     time.Duration // how long ago that was when the servers were listed
	Offset  time.Duration // its clock minus Redis's
	Labels  []string      // as far as tasks ask for them
	Running []Running
	More    int // how many runs beyond those in Running

	Environment string // of its schedule. Neighbours announce it
	SharedName  bool   // another machine ticks under its name
}

// A Running is a run that lived when its server last announced itself.
type Running struct {
	Run   string    `json:"run"`
	Task  string    `json:"task"`
	Slot  time.Time `json:"slot"`
	PID   int       `json:"pid,omitempty"` // 0 until its command has started
	Since time.Time `json:"since"`
}

const (
	// listedFor is how long after its last announcement a server is still listed.
	listedFor = 10 * time.Minute

	// maxRunning is how many runs one server announces; the others are counted.
	maxRunning = 100
)

// A tickEntry is about the tick that began last on a server.
type tickEntry struct {
	Version string    `json:"version"`
	Minute  time.Time `json:"minute"`
	Seen    time.Time `json:"seen"`
	Labels  []string  `json:"labels,omitempty"`
}

// A nowEntry is what runs on a server at its last announcement. That may come from a tick that began long ago
// and still lives.
type nowEntry struct {
	Seen    time.Time     `json:"seen"`
	Offset  time.Duration `json:"offset"` // nanoseconds
	Running []Running     `json:"running"`
	More    int           `json:"more,omitempty"`
}

// A collection has the answers of the Redis servers, one value each. Safe for concurrent use.
type collection[T any] struct {
	mu  sync.Mutex
	all map[int]T
}

func (c *collection[T]) set(server int, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[int]T{}
	}
	c.all[server] = value
}

// values returns what was set so far, in no order.
func (c *collection[T]) values() (values []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, value := range c.all {
		values = append(values, value)
	}
	return values
}

// toJSON encodes one of the types that are sent here; each of them can be encoded.
func toJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
