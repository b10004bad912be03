package run

import (
	"time"
)

// This file is about deferred retries: when the next attempt of a background run is a long time
// away, its row waits without a process and with its mutex free, until a tick goes on with it. So a
// reboot does not lose it, and nothing waits in memory. `retry: {lost: true}` defers a retry, too:
// the attempt that a crash interrupted counts, and the next one is due at once.

// deferAfter is the longest wait between two attempts for which a process waits.
const deferAfter = time.Minute
