package outbox

import (
	"os"
	"time"

	"sched/schedule/statedir"
)

// Undelivered sums up the deliveries of outboxes of which an attempt has failed.
type Undelivered struct {
	Count int
	Since time.Time // the first attempt for the oldest
	Task  string    // of the delivery that failed first
	Why   string    // its last attempt failed
}

// Add adds the deliveries of an outbox. It locks none of them, and passes over what it cannot read.
func (u *Undelivered) Add(o Outbox) {
	deliveries, _, _ := o.List()
	for _, name := range deliveries {
		file, err := statedir.OpenPlain(o.path(name), os.O_RDONLY)
		if err != nil {
			continue
		}
		var last failure
		if info, err := file.Stat(); err == nil {
			last, _ = lastFailure(file, info.Size())
		}
		file.Close()
		if last.Tries == 0 {
			continue
		}
		u.Count++
		if u.Since.IsZero() || last.Since.Before(u.Since) {
			u.Since, u.Task, u.Why = last.Since, last.Task, last.Why
		}
	}
}
