package oneserver

import (
	"hash/fnv"
	"slices"
	"time"

	"sched/schedule"
)

const (
	// FirstAlone is how long the other servers leave a slot to the one whose turn it is: longer than ticks of one minute begin apart.
	FirstAlone = 150 * time.Millisecond

	// MostSpread is below what they wait longer, each for its own time, should that one not come.
	MostSpread = 150 * time.Millisecond

	// fewServers ask one Redis at the same moment without being noticed. Of more than that each waits for its own part of a time that is
	// longer by perServer for each.
	fewServers = 20
	perServer  = 20 * time.Millisecond

	// PreferredFirst is how long servers that a task does not prefer leave its slots to those that it does.
	PreferredFirst = time.Second
)

// Turn returns how long a server waits before it claims a slot, where peers are the servers that take part, with itself or without: not at all
// where it is its turn. That is the server which draws the least, of all that the task prefers or, where none of those takes part, of all
// (docs/decisions.md#servers-take-turns).
func Turn(slot schedule.Slot, self string, peers []string) (wait time.Duration) {
	prefer := slices.DeleteFunc(slices.Clone(slot.Task.Prefer), func(name string) bool { return name != self && !slices.Contains(peers, name) })
	prefers := func(server string) bool { return len(prefer) == 0 || slices.Contains(prefer, server) }
	if !prefers(self) {
		wait = PreferredFirst
	}
	key := mix(hash(Key(slot)))
	own := draw(key, self)
	if wait > 0 || slices.ContainsFunc(peers, func(peer string) bool { return peer != self && prefers(peer) && draw(key, peer) < own }) {
		wait += FirstAlone + Spread(slot.At, self, peers) + time.Duration(own%uint64(MostSpread))
	}
	return wait
}

// Spread returns how long a server waits with what it asks of the store at an instant and nobody waits for, so that hundreds of ticks that
// begin together are no burst: nothing where there are few servers, up to ten seconds of 500. A slot whose server does not come starts
// hardly later for that: the first of all the others does not wait for long.
func Spread(at time.Time, self string, peers []string) time.Duration {
	if len(peers) <= fewServers {
		return 0
	}
	return time.Duration(draw(mix(hash(at.UTC().Format(time.RFC3339))), self) % uint64(time.Duration(len(peers)-fewServers)*perServer))
}

// draw is what a server draws for a slot, or for an instant: a hash, so that it is the same for all who ask, and another one for each slot.
func draw(of uint64, server string) uint64 { return mix(of ^ hash(server)) }

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// mix spreads what differs in the last bytes of what was hashed over all bits (the end of splitmix64): FNV leaves it in the low ones.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
