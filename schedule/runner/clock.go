package runner

import (
	"context"
	"time"
)

// Now and After are the clock of this process: time.Now and time.After, but in the binary that the
// tests build, whose clock can be wrong, fast, and set while it runs (cmd/testclock.go).
var (
	Now   = time.Now
	After = time.After
)

// lookAtClock is how soon a process that waits for a time notices that the clock was set, or that the
// machine slept: timers do not count that.
const lookAtClock = time.Second

// waitUntil waits until the clock shows at, and reports false when ctx was done first.
func waitUntil(ctx context.Context, at time.Time) bool {
	for ctx.Err() == nil {
		left := at.Sub(Now().Round(0)) // by the wall clock alone
		if left <= 0 {
			return true
		}
		select {
		case <-After(min(left, lookAtClock)):
		case <-ctx.Done():
		}
	}
	return false
}
