package cluster

import (
	"fmt"
	"time"

	"sched/schedule/humanize"
)

// MaxOffset is how far a clock may be off before a tick reports it: due times and claims depend on
// the clock.
const MaxOffset = 10 * time.Second

// OffsetText describes how a clock differs from the store's: "12 s behind the store's".
func OffsetText(offset time.Duration) string {
	side := "ahead of"
	if offset < 0 {
		side = "behind"
	}
	return fmt.Sprintf("%s %s the store's", humanize.Duration(offset.Abs()), side)
}
