package mutex

import (
	"testing"
	"time"
)

// The monotonic clock stands still while the machine sleeps; the wall clock may be set back.
func TestALeaseIsMeasuredByTheClockThatSaysMore(t *testing.T) {
	begun := time.Now()
	for name, now := range map[string]time.Time{
		"the wall clock says more":           begun.Round(0).Add(2 * time.Minute), // without a monotonic reading
		"the monotonic clock says more, too": begun.Add(2 * time.Minute),
	} {
		if e := elapsed(begun, now); e < 2*time.Minute {
			t.Errorf("%s: %s", name, e)
		}
	}
}
