package process

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// awaitEnd waits for the end of the process with a descriptor that stands for it (pidfd_open(2)): a supervisor of a thousand
// commands would need a thousand threads to wait in wait4(2). It reports whether it has waited; false before Linux 5.3.
func (p *Process) awaitEnd() bool {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return false
	}
	syscall.SetNonblock(fd, true) // so that os.File waits without a thread
	file := os.NewFile(uintptr(fd), "a process")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	conn.Read(func(uintptr) bool {
		ended = p.look(syscall.WNOHANG)
		return ended
	})
	return ended
}

// look sets how the process ended, and reports whether it has, or whether that cannot be known. Unless the options have WNOHANG, it waits.
func (p *Process) look(options int) (ended bool) {
	if p.keep {
		return p.lookKept(options)
	}
	pid, err := syscall.Wait4(p.PID, &p.status, options, &p.Usage)
	return pid == p.PID || err != nil && err != syscall.EINTR
}

// lookKept is look that leaves the process as it is (waitid(2) with WNOWAIT), for whoever becomes its parent.
func (p *Process) lookKept(options int) (ended bool) {
	var info struct { // siginfo_t of SIGCHLD (sigaction(2)): three numbers, what aligns a pointer, and its own
		_, _, code       int32
		_                [0]uintptr
		pid, uid, status int32
		_                [128]byte
	}
	err := unix.Waitid(unix.P_PID, p.PID, (*unix.Siginfo)(unsafe.Pointer(&info)), options|unix.WEXITED|unix.WNOWAIT, (*unix.Rusage)(unsafe.Pointer(&p.Usage)))
	if err == unix.EINTR || err == nil && int(info.pid) != p.PID {
		return false
	}
	p.status = waitStatus(info.code, info.status)
	return true
}

// waitStatus returns what wait4(2) says of a process of which waitid(2) says this.
func waitStatus(code, status int32) syscall.WaitStatus {
	const exited, dumped, core = 1, 3, 0x80 // CLD_EXITED, CLD_DUMPED
	switch code {
	case exited:
		return syscall.WaitStatus(status&0xff) << 8
	case dumped:
		return syscall.WaitStatus(status&0x7f) | core
	}
	return syscall.WaitStatus(status & 0x7f)
}
