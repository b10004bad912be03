package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootID returns the id of the session that this boot began; "" if it cannot be read.
func bootID() string {
	uuid, _ := unix.Sysctl("kern.bootsessionuuid")
	return uuid
}

// sinceBoot is not known: what the kernel says of its boot moves with the clock.
func sinceBoot() (time.Duration, bool) { return 0, false }

// steadyClock is the clock of Steady: it goes on while the machine sleeps (clock_gettime(3)).
const steadyClock = unix.CLOCK_MONOTONIC_RAW
