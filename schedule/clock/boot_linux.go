package clock

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootID returns the id that the kernel drew at this boot (random(4)); "" if it cannot be read.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// sinceBoot returns the time since the boot, by a clock that nobody sets. Its second result is
// false if the kernel has no such clock.
func sinceBoot() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err == nil
}

// steadyClock is the clock of Steady. CLOCK_MONOTONIC stands still while the machine sleeps.
const steadyClock = unix.CLOCK_BOOTTIME
