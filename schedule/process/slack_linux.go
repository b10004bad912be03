package process

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// The slack of a thread is by how much its timers may be late (PR_SET_TIMERSLACK in prctl(2)). Threads have that of the thread that
// created them, and so have processes.
const (
	usualSlack   = 50 * time.Microsecond // what Linux gives a process that nobody gave another
	patientSlack = 500 * time.Microsecond
)

// withSlack calls fork in a thread whose slack is the one that the new process is to have: the patient one, or the usual one
// where this process is patient itself. A slack that somebody else has set is left alone.
func withSlack(patient bool, fork func() error) error {
	is, becomes := patientSlack, usualSlack
	if patient {
		is, becomes = becomes, is
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || time.Duration(slack) != is {
		return fork()
	}
	unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(becomes), 0, 0, 0)
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(is), 0, 0, 0)
	return fork()
}
