package redisserver

import (
	"fmt"
	"time"
)

// A fence is the time of Redis in microseconds, so it would fall where Redis's clock was ahead, was set right, and the fences were lost with
// the data. So each machine remembers by how much Redis was ahead of it at most, and asks for fences of that time at least.

// furthestAhead is the key among the instances for how far Redis's clock was ahead of ours at most, in microseconds, and the day of that.
// It counts as long as a former lease does: it may have been our clock that was wrong.
const furthestAhead = "furthest ahead"

// What is less than leastAhead is made up for by the lease during which a Redis without its data grants nothing. What is more than
// mostAhead, which no zone explains, is more likely a machine that began with a wrong clock, than a Redis.
const (
	leastAhead = 2 * time.Second
	mostAhead  = 26 * time.Hour
)

// noteAhead notes how far the clock of a Redis is ahead of ours.
func (i *Instances) noteAhead(ahead time.Duration, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ahead < leastAhead || ahead > mostAhead || ahead <= i.ahead(now) {
		return
	}
	if i.ids == nil {
		i.ids = map[string]string{}
	}
	i.ids[furthestAhead] = fmt.Sprintf("%d %d", (ahead.Truncate(time.Second) + time.Second).Microseconds(), now.UTC().Truncate(24*time.Hour).Unix())
	i.new = true
	i.write()
}

// ahead is how far the clock of a Redis was ahead of ours at most. The caller holds i.mu.
func (i *Instances) ahead(now time.Time) time.Duration {
	return time.Duration(i.lately(furthestAhead, now)) * time.Microsecond
}

// LeastFence returns the least fence for a lock that is acquired now, given that of its caller, in microseconds of Redis's time.
func (i *Instances) LeastFence(least int64, now time.Time) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ahead := i.ahead(now); ahead > 0 {
		return max(least, now.Add(ahead).UnixMicro())
	}
	return least
}
