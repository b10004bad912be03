//go:build linux && amd64

package schedtest

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// changes reports whether a system call may change what other processes see: a file, a folder, or
// what Redis has. The first three of its arguments count. A kill between two such calls is a kill
// before the second one.
func changes(call uint64, _, _, third uint64) bool {
	switch call {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_CONNECT,
		unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
		unix.SYS_MKDIR, unix.SYS_MKDIRAT:
		return true
	case unix.SYS_OPENAT:
		return third&unix.O_CREAT != 0
	}
	return false
}

// KilledBefore runs a command under ptrace(2), and kills it before its nth call that changes
// something. Ended reports that it made fewer of them, and ended by itself.
func KilledBefore(t *testing.T, c *exec.Cmd, n int) (ended bool) {
	t.Helper()
	return killedBefore(t, c, n, changes)
}

// renames reports whether a system call of Go puts a file in its place, or takes it away. SQLite
// uses unlink(2), at the end of each look.
func renames(call uint64, _, _, _ uint64) bool {
	switch call {
	case unix.SYS_UNLINKAT, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return true
	}
	return false
}

// KilledBeforeRename is KilledBefore for a command that writes drafts: only its calls count that
// put a file in its place, or take it away.
func KilledBeforeRename(t *testing.T, c *exec.Cmd, n int) (ended bool) {
	t.Helper()
	return killedBefore(t, c, n, renames)
}

func killedBefore(t *testing.T, c *exec.Cmd, n int, counts func(call, first, second, third uint64) bool) (ended bool) {
	t.Helper()
	runtime.LockOSThread() // which alone may trace the process
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	pid := c.Process.Pid
	defer c.Process.Release()
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		t.Skip(err)
	}
	unix.PtraceSyscall(pid, 0)
	return Traced(t, pid, pid, func(_ int, call unix.PtraceRegs) bool {
		if counts(call.Orig_rax, call.Rdi, call.Rsi, call.Rdx) {
			n--
		}
		return n == 0
	})
}

// Traced lets a process go on whose threads this thread traces, and kills it before the first
// system call for which last returns true. Its threads are in a group of their own: the thread that
// waits may have started processes of other tests before. Ended reports that it ended by itself.
func Traced(t *testing.T, pid, group int, last func(tid int, call unix.PtraceRegs) bool) (ended bool) {
	t.Helper()
	inside := map[int]bool{}
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-group, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err == unix.EINTR {
			continue
		}
		if err == unix.ECHILD {
			return ended
		}
		if err != nil {
			t.Fatal(err)
		}
		if status.Exited() || status.Signaled() {
			ended = ended || tid == pid && status.Exited()
			continue
		}
		signal := 0
		switch stop := status.StopSignal(); stop {
		case unix.SIGTRAP | 0x80: // at the beginning of a call, and at its end
			inside[tid] = !inside[tid]
			var regs unix.PtraceRegs
			if inside[tid] && unix.PtraceGetRegs(tid, &regs) == nil && last(tid, regs) {
				unix.Kill(pid, unix.SIGKILL)
				continue
			}
		case unix.SIGTRAP, unix.SIGSTOP: // of a new thread
		default:
			signal = int(stop)
		}
		unix.PtraceSyscall(tid, signal)
	}
}
