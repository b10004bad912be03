// Package servers is what the servers of a schedule tell each other through Redis: who ticks,
// what ran, and what is paused.
//
// Nothing of that decides whether anything runs; that is for locks and claims (package mutex). Each
// server writes about itself alone, and people read it: a server that is listed may have died a
// moment ago, and a run that is listed as running may have ended. The history of a server, its own
// database, stays the record of what it ran; Redis has copies of the newest.
//
// Beside that it is where people tell all servers what is paused, which every tick obeys (Orders).
//
// The keys are, below the schedule's name:
//
//	server:NAME  a hash, gone ten minutes after the last announcement: tick, now
//	servers      a sorted set: the names, by the time of their last announcement
//	runs         a stream of finished runs, capped
//	ended        a sorted set: the ids of the runs on the stream
//	last         a hash: of each task the run that began last
//	orders       a hash: the last pause of each task, or of all (*), and the last interrupt (!)
//
// Redis 5 has all that this needs. With several Redis servers each has everything.
package servers

import (
	"encoding/json"
	"sync"
	"time"
)

// A Server is a machine that ticked lately.
type Server struct {
	Name    string
	Version string        // of its sched
	Minute  time.Time     // of its last tick
	Seen    time.Time     // when that was, by Redis's clock
	Age     time.Duration // how long ago that was when the servers were listed
	Offset  time.Duration // its clock minus Redis's
	Running []Running
	More    int // runs beyond those listed
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
	// forgotten is how long after its last announcement a server is still listed.
	forgotten = 10 * time.Minute

	// listed bounds the runs that one server announces.
	listed = 100
)

// A tick is what the beginning of a tick says of its server.
type tick struct {
	Version string    `json:"version"`
	Minute  time.Time `json:"minute"`
	Seen    time.Time `json:"seen"`
}

// A now is what an announcement says besides: it may come from a tick that began long ago.
type now struct {
	Seen    time.Time     `json:"seen"`
	Offset  time.Duration `json:"offset"` // nanoseconds
	Running []Running     `json:"running"`
	More    int           `json:"more,omitempty"`
}

// collected gathers what the Redis servers answer, one value each.
type collected[T any] struct {
	mu  sync.Mutex
	all map[int]T
}

func (c *collected[T]) set(server int, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[int]T{}
	}
	c.all[server] = value
}

func (c *collected[T]) values() (values []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, value := range c.all {
		values = append(values, value)
	}
	return values
}

// text is v as JSON; what is sent here always can be.
func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
