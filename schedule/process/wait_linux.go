package process

import (
	"os"
	"syscall"

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
		pid, err := syscall.Wait4(p.PID, &p.status, syscall.WNOHANG, &p.Usage)
		ended = pid == p.PID || err != nil && err != syscall.EINTR
		return ended
	})
	return ended
}
