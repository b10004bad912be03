package schedule

import (
	"hash/fnv"
	"time"
)

// Shift is ShiftOn for servers without names, and for one_server, which needs the same shift.
func (t *Task) Shift() time.Duration { return t.shift("spread\x00" + t.Name) }

// ShiftOn returns by how many whole minutes, less than the spread, a task is due later on a server.
// The names of task and server give the same number in every version of sched.
func (t *Task) ShiftOn(server string) time.Duration {
	return t.shift("spread\x00" + t.Name + "\x00" + server)
}

func (t *Task) shift(seed string) time.Duration {
	minutes := uint64(t.Spread / time.Minute)
	if minutes == 0 {
		return 0
	}
	return time.Duration(hash(seed)%minutes) * time.Minute
}

// hash spreads seeds evenly over all numbers.
func hash(seed string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed))
	sum := h.Sum64()
	sum ^= sum >> 32
	sum *= 0x9e3779b97f4a7c15 // FNV alone leaves short seeds close to each other
	return sum ^ sum>>29
}
