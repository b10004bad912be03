package redisserver

import (
	"fmt"
	"time"
)

// A run renews its lock by the lease with which it began, also when an edit of the schedule gives later ones a shorter one. So a Redis
// that may have forgotten locks is given the time of the longest lease that a run may have: the one before counts for as long as
// formerLease after this machine last used it.

// formerLease is how long after its last use a longer lease counts.
const formerLease = 31 * 24 * time.Hour

// usedLease is the key of the longest lease among the instances: how long it is, and the day on which it was used last.
const usedLease = "longest lease"

// caution returns how long a Redis that may have forgotten locks grants none: for the lease, or for a longer one that runs may still have.
func (i *Instances) caution(lease time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return max(lease, i.formerLease(time.Now()))
}

// useLease notes that this machine uses the lease now. The caller holds i.mu.
func (i *Instances) useLease(lease time.Duration, now time.Time) {
	today := now.UTC().Truncate(24 * time.Hour)
	used := fmt.Sprintf("%d %d", lease.Milliseconds(), today.Unix())
	if i.formerLease(now) > lease || i.ids[usedLease] == used {
		return
	}
	if i.ids == nil {
		i.ids = map[string]string{}
	}
	i.ids[usedLease] = used
	i.new = true
}

// formerLease returns the longest lease that still counts, 0 for none. The caller holds i.mu.
func (i *Instances) formerLease(now time.Time) time.Duration {
	return time.Duration(i.lately(usedLease, now)) * time.Millisecond
}

// lately returns the number of a key, which stands before the day on which it was noted; 0 where that was more than formerLease ago, or
// is yet to come: the clock was wrong then. The caller holds i.mu.
func (i *Instances) lately(key string, now time.Time) int64 {
	var n, day int64
	if read, _ := fmt.Sscan(i.ids[key], &n, &day); read < 2 {
		return 0
	}
	if age := now.Sub(time.Unix(day, 0)); age < 0 || age > formerLease {
		return 0
	}
	return n
}
