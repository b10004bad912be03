package schedule

import (
	"hash/fnv"
	"time"
)

// Shift is ShiftOn where no server has a name, or all are to have the same shift: the name of the task decides alone, as it must
// for a slot of one_server.
func (t *Task) Shift() time.Duration { return t.shift("spread\x00" + t.Name) }

// ShiftOn returns how much later than it says a task is due on a server, where it has a spread: a number of whole minutes, less than
// the spread, that is made from the name of the task and that of the server. The same names always give the same number, in
// every version of sched.
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
