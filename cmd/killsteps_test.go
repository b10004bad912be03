//go:build linux && amd64

package cmd_test

import (
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/alicebob/miniredis/v2"
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

// killedBefore runs a command under ptrace(2), and kills it before its nth call that changes
// something. Ended reports that it made fewer of them, and ended by itself.
func killedBefore(t *testing.T, c *exec.Cmd, n int) (ended bool) {
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
	return traced(t, pid, pid, func(_ int, call unix.PtraceRegs) bool {
		if changes(call.Orig_rax, call.Rdi, call.Rsi, call.Rdx) {
			n--
		}
		return n == 0
	})
}

// traced lets a process go on whose threads this thread traces, and kills it before the first
// system call for which last returns true. Its threads are in a group of their own: the thread that
// waits may have started processes of other tests before. Ended reports that it ended by itself.
func traced(t *testing.T, pid, group int, last func(tid int, call unix.PtraceRegs) bool) (ended bool) {
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

// released waits until no process looks after a run any more: then a tick may publish it.
func (b *box) released() {
	b.Helper()
	b.until("no process looks after a run", func() bool { return len(owned(b.path(".sched"))) == 0 })
}

// Once in many runs of this package web-2 never learned of a run of web-1. So every kill is tried:
// a tick that puts a run into the history and publishes it is killed before each call that changes
// anything, and the next tick publishes the run all the same.
func TestARunIsKnownElsewhereWhereverTheTickIsKilled(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	schedule := "name: shop\ntimezone: UTC\nstore: redis://" + redis.Addr() +
		"\ntasks: [{name: back, cron: 0 * * * *, command: 'true', background: true}]\n"
	here, there := newBox(t, schedule), newBox(t, schedule)
	on := func(args ...string) *exec.Cmd {
		c := here.command(append([]string{"run", "-q", "--at"}, args...)...)
		c.Env = append(c.Env, "SCHED_TEST_SERVER=web-1", "GOMAXPROCS=1")
		return c
	}
	steps, apart := kills(10)
	for ended := false; !ended; steps += apart {
		if out, err := on("2026-01-01 00:00").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		here.settle()
		here.released()
		ended = killedBefore(t, on("2026-01-01 00:01"), steps)
		here.until("all is published", func() bool {
			on("2026-01-01 00:01").Run()
			return here.openRuns() == "" && !here.hasUnpublished()
		})
		var want []string
		for _, r := range here.history("") {
			want = append(want, r.Server+" "+r.Run)
		}
		slices.Sort(want)
		if got := there.everywhere("web-2"); !slices.Equal(got, want) {
			t.Fatalf("killed before step %d: web-1 knows\n%v\nweb-2 knows\n%v", steps, want, got)
		}
	}
	if steps < 20 {
		t.Errorf("a tick that publishes a run changes something in %d steps: not all of them were seen", steps)
	}
}
