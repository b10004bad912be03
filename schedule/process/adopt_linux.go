package process

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// KeepsOrphans says that a process of this system can become the parent of what its descendants leave behind.
const KeepsOrphans = true

// KeepOrphans makes this process, and the program that it may become, the parent of what its descendants leave behind
// (PR_SET_CHILD_SUBREAPER in prctl(2)).
func KeepOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// AwaitChild waits for a child of this process, and returns its exit code, 128 plus the signal if one ended it. Meanwhile it takes
// away the orphans that end, but nothing that the child had started and has left behind now: that keeps its exit codes
// for Adopt.
func AwaitChild(child int) (code int) {
	for {
		ended := endedChild()
		if ended == child || exiting(child) { // else it is no child of that, or it would have stayed with it
			return awaitChild(child)
		}
		syscall.Wait4(ended, nil, 0, nil)
	}
}

// endedChild waits until a child of this process has ended, and leaves it as it is.
func endedChild() (pid int) {
	var info unix.Siginfo
	for unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	// si_pid follows three numbers, and what aligns a pointer (sigaction(2)).
	offset := (3*unsafe.Sizeof(info.Signo) + unsafe.Alignof(uintptr(0)) - 1) &^ (unsafe.Alignof(uintptr(0)) - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset)))
}

// exiting reports whether the first thread of a process has ended, or is about to (PF_EXITING in field 9 of proc_pid_stat(5)). As
// long as it is not, the kernel gives the children of other threads to it, and none to other processes.
func exiting(pid int) bool {
	const flagExiting = 4
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 7 {
		return true
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return err != nil || flags&flagExiting != 0 || fields[0][0] == 'Z' || fields[0][0] == 'X'
}

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
