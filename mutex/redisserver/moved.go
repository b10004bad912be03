package redisserver

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A failover makes a replica the primary. It has what was copied to it until then: a lock or claim that was granted just before may be
// unknown to it. As after a restart (instance.go), the new primary is trusted at once where it knows as many grants of the old
// one as this machine does, and otherwise a lease after this machine has met it first.

// errNotPrimary says that Sentinels, or the Cluster, named a server that is a replica by now.
var errNotPrimary = errors.New("a replica was taken for the primary")

// movedReplies are answers of a server that is not, or not yet, the one to ask.
var movedReplies = []string{"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN"}

// moved reports whether another server may have taken the place of the one that answered, which a new connection finds.
func (s *Server) moved(err error) bool {
	if err == nil || !s.target.Moves() {
		return false
	}
	for _, reply := range movedReplies {
		if redis.HasErrorPrefix(err, reply) {
			return true
		}
	}
	return errors.Is(err, errNotPrimary)
}

// reconnect replaces the client, so that requests look for the server anew, and returns the new one. Another request may have done so
// before.
func (s *Server) reconnect(client *redis.Client) *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client == s.client && s.closed.Err() == nil {
		s.finder.Elsewhere()
		old := s.client
		s.client = redis.NewClient(s.options)
		time.AfterFunc(Timeout, func() { old.Close() }) // other requests may still be under way
	}
	return s.client
}

// metAs is what follows the address of a server in the key under which instances has who took over, and when that was first seen.
const metAs = " met"

// metFor returns for how long an instance is known that took over from the one that is remembered.
func (i *Instances) metFor(address, id string, now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	met, when, _ := strings.Cut(i.ids[address+metAs], " ")
	if first, err := time.Parse(time.RFC3339Nano, when); err == nil && met == id && !first.After(now) { // a later one is of a clock that was wrong
		return now.Sub(first)
	}
	i.ids[address+metAs] = id + " " + now.UTC().Format(time.RFC3339Nano)
	i.new = true
	i.write()
	return 0
}
