package outbox

import (
	"os"
	"time"

	"sched/schedule/statedir"
)

// Undelivered is what waits in the outbox of a state folder since an attempt to deliver it failed.
type Undelivered struct {
	Count int
	Since time.Time // the first attempt for the oldest
	Task  string    // of the oldest
	Why   string    // its last attempt failed
}

// Add looks at the letters in an outbox, and locks none.
func (u *Undelivered) Add(o Outbox) {
	letters, _, _ := o.List()
	for _, name := range letters {
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
