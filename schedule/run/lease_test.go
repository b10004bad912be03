package run

import (
	"testing"
	"time"
)

// A time from a row or from another process has no monotonic reading.
func TestALeaseIsMeasuredWithAndWithoutAMonotonicReading(t *testing.T) {
	begun := time.Now()
	for name, now := range map[string]time.Time{
		"the wall clock alone": begun.Round(0).Add(2 * time.Minute),
		"both clocks":          begun.Add(2 * time.Minute),
	} {
		if e := elapsed(begun, now); e != 2*time.Minute {
			t.Errorf("%s: %s", name, e)
		}
	}
}
