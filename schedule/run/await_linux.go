package run

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepOrphans makes this process, and the program that it may become, the parent of what its
// descendants leave behind.
func keepOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// await waits for a child of this process, and returns 0 if it has ended with that code. Meanwhile
// it reaps orphans that end. It does not reap processes that the child itself had started and has
// left behind: process.Adopt needs their exit codes.
func await(child int) (code int) {
	for {
		ended := endedChild()
		if ended == child || exiting(child) { // else it was started by another process: the child would have kept its own
			return reap(child)
		}
		unix.Wait4(ended, nil, 0, nil)
	}
}

// endedChild waits until a child of this process has ended, and leaves it as it is.
func endedChild() (pid int) {
	var info struct { // siginfo_t (sigaction(2)): three numbers, what aligns a pointer, and si_pid
		numbers [3]int32
		_       [0]uintptr
		pid     int32
		_       [128]byte
	}
	for {
		_, _, err := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, 0, 0)
		if err != unix.EINTR {
			return int(info.pid)
		}
	}
}

// exiting reports whether the first thread of a process has ended, or is about to (PF_EXITING in
// field 9 of proc_pid_stat(5)). As long as it is not, the kernel gives the children of other
// threads to it, and none to other processes.
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
