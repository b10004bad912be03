package status

import (
	"time"

	"sched/schedule/ledger"
	"sched/schedule/run"
	"sched/schedule/text"
)

// stale is how old the last tick may be: with an older one at least two did not come.
const stale = 3 * time.Minute

// LastTick returns the last minute that a tick covered with the state folder or a spare one; zero when none ever did.
func LastTick(dir string) (last time.Time) {
	for _, storage := range (run.Storage{Dir: dir}).Folders() {
		last = text.Later(last, ledger.LastTick(storage.Dir))
	}
	return last
}

// TicksMissing returns in words that no ticks come, given the last one that came: it is too old, or lies ahead of a clock that was set
// back. It is "" when they come.
func TicksMissing(last, now time.Time) string {
	switch age := now.Sub(last); {
	case last.IsZero():
		return "no tick ever came"
	case age > stale:
		return "no tick came for " + text.Duration(age)
	case age < -stale:
		return "the last tick is " + text.Duration(-age) + " ahead of the clock, which was set back"
	}
	return ""
}
