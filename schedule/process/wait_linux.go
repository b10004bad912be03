package process

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file waits for the ends of processes: of children, of orphans that become children, and of
// processes that stay zombies for another one to reap.

// childState reports whether a process is a child of this one, and whether it has ended.
func childState(pid int) (isChild, isZombie bool) {
	stat := ReadStat(pid)
	return stat.Parent == os.Getpid(), stat.State == 'Z'
}

// awaitEnd waits for the end of the process with a descriptor that stands for it (pidfd_open(2)): a
// supervisor of a thousand commands would need a thousand threads to wait in wait4(2). It reports
// whether the process has ended; false before Linux 5.3. For keepZombie see tryWait.
func awaitEnd(pid int, keepZombie bool) (e exit, ended bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return e, false
	}
	syscall.SetNonblock(fd, true) // so that os.File waits without a thread
	file := os.NewFile(uintptr(fd), "a process")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return e, false
	}
	conn.Read(func(uintptr) bool {
		e, ended = tryWait(pid, syscall.WNOHANG, keepZombie)
		return ended
	})
	return e, ended
}

// tryWait returns how the process ended, and reaps it unless it is to stay a zombie. It reports
// whether the process has ended, or whether that cannot be known. Without WNOHANG in the options it
// waits for the end, and a signal may interrupt the wait.
func tryWait(pid, options int, keepZombie bool) (e exit, ended bool) {
	if keepZombie {
		return peek(pid, options)
	}
	waited, err := syscall.Wait4(pid, &e.status, options, &e.usage)
	return e, waited == pid || err != nil && err != syscall.EINTR
}

// peek is tryWait that leaves a zombie, for the process that becomes its parent.
func peek(pid, options int) (e exit, ended bool) {
	info, err := awaitState(unix.P_PID, pid, options, (*unix.Rusage)(unsafe.Pointer(&e.usage)))
	if err == unix.EINTR || err == nil && int(info.pid) != pid {
		return e, false
	}
	e.status = waitStatus(info.code, info.status)
	return e, true
}

// A signalInfo is siginfo_t of SIGCHLD (sigaction(2)): three numbers, the gap that aligns a
// pointer, and the fields of SIGCHLD.
type signalInfo struct {
	_, _, code       int32
	_                [0]uintptr
	pid, uid, status int32 // pid is 0 if no child has ended
	_                [128]byte
}

// awaitState waits for the end of a child, and leaves it a zombie (waitid(2) with WNOWAIT). For the
// kind of the id see waitid(2).
func awaitState(kind, id, options int, usage *unix.Rusage) (info signalInfo, err error) {
	err = unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&info)), options|unix.WEXITED|unix.WNOWAIT, usage)
	return info, err
}

// waitStatus returns the status of wait4(2) for the code and the status of waitid(2).
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
