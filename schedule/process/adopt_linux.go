package process

import (
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KeepsOrphans says that a process of this system can become the parent of what its descendants leave behind.
const KeepsOrphans = true

// KeepOrphans makes this process, and the program that it may become, the parent of what its descendants leave behind
// (PR_SET_CHILD_SUBREAPER in prctl(2)).
func KeepOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Adopt returns a process that another one started, and that has become a child of this one since (KeepOrphans). One that has ended
// is Ended at once. False for any other process.
func Adopt(pid int) (*Process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	state, parent, _ := ParseStat(text)
	if err != nil || parent != os.Getpid() {
		return nil, false
	}
	p := &Process{PID: pid, Done: make(chan struct{}), ownPeak: math.MaxInt32} // that of the process that forked it is not known
	go p.wait(nil)
	if state == 'Z' {
		<-p.Done
	}
	return p, true
}

// OrphanOf returns the process group that was started for the attempt of the run, and whose first process is a child of this
// process; 0 where there is none that lives.
func OrphanOf(run string, attempt int) (group int) {
	eachProcess(func(pid int) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if _, parent, of := ParseStat(text); err != nil || parent != os.Getpid() || of != pid {
			return
		}
		if id, n := runOf(pid); id == run && n == attempt {
			group = pid
		}
	})
	return group
}

// Age returns how long ago a process was started, by a clock that nobody sets; 0 where that cannot be read.
func Age(pid int) time.Duration {
	const ticks = 100 // of a second: USER_HZ of every architecture that Go knows
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	started, perr := strconv.ParseInt(startTicks(text), 10, 64)
	var now unix.Timespec
	if err != nil || perr != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return max(0, time.Duration(syscall.TimespecToNsec(syscall.Timespec(now)))-time.Duration(started)*time.Second/ticks)
}
