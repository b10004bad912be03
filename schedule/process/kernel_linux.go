package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// hasSubreaper says that this system has BecomeSubreaper.
const hasSubreaper = true

// BecomeSubreaper makes this process, and the program that it may become, the parent of what its
// descendants leave behind (PR_SET_CHILD_SUBREAPER in prctl(2)).
func BecomeSubreaper() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// sinceBoot returns the time since the boot by the clock of Stat.start.
func sinceBoot() time.Duration {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano())
}

// Self is the program that runs here, also after another one was installed in its place.
func Self() string { return "/proc/self/exe" }

// maxrssUnit is the unit of ru_maxrss (getrusage(2)), in bytes.
const maxrssUnit = 1024

// memoryResource is the limit of memory of a process (getrlimit(2)): of what it can write. Programs
// reserve much more addresses than they use (RLIMIT_AS).
const memoryResource = unix.RLIMIT_DATA

// FindsByRun says that this system can tell which processes were started for a run: by the
// environment in /proc (proc(5)).
const FindsByRun = true
