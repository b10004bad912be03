package mutex

import "time"

// SetClock gives the store another clock for how long ago leases were renewed.
func (r *Redis) SetClock(now func() time.Time) { r.now = now }
