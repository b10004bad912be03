//go:build linux && amd64

package kills_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sched/testing/schedtest"
)

// killBeforeItWrites calls now, which makes the process write into the database, and kills the
// process right before it does.
func killBeforeItWrites(t *testing.T, pid int, now func()) {
	t.Helper()
	runtime.LockOSThread() // which alone may trace the process
	defer runtime.UnlockOSThread()
	group, err := unix.Getpgid(pid)
	if err != nil {
		t.Fatal(err)
	}
	stopped := map[int]bool{}
	for more := true; more; { // one that is not stopped yet may start another
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		more = false
		for _, thread := range threads {
			tid, _ := strconv.Atoi(thread.Name())
			if stopped[tid] {
				continue
			}
			if err := unix.PtraceAttach(tid); err != nil {
				now()
				t.Skip(err)
			}
			unix.Wait4(tid, nil, unix.WALL, nil)
			stopped[tid], more = true, true
		}
	}
	for tid := range stopped {
		if err := unix.PtraceSetOptions(tid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE); err != nil {
			t.Fatal(err)
		}
		unix.PtraceSyscall(tid, 0)
	}
	now()
	if schedtest.Traced(t, pid, group, func(tid int, call unix.PtraceRegs) bool {
		if call.Orig_rax != unix.SYS_PWRITE64 {
			return false
		}
		file, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, call.Rdi))
		return strings.HasSuffix(file, "sched.db-wal")
	}) {
		t.Fatal("it ended without writing into the database")
	}
}

// A supervisor is killed when it has seen how a command or a hook ended, and before it has written
// that down. Only the kernel still knows the end, and it keeps it for the witness.
func TestASupervisorIsKilledBeforeItWritesDownWhatItHasSeen(t *testing.T) {
	t.Parallel()
	const wait = "echo $PPID > supervisor.pid; await go; "
	const deferred = "that a tick makes the next attempt"
	for _, row := range []struct {
		about, task, want string
		begun             int // commands
	}{
		{"how the command ended", "command: '" + wait + "echo >> begun.txt; exit 7'", "failed: exit code 7\n", 1},
		{"that the command was ended by a signal", "command: '" + wait + "echo >> begun.txt; kill -USR1 $$'",
			"failed: exit code 138: killed by a signal (user defined signal 1)\n", 1},
		{"that there is another attempt", "retry: {attempts: 2, delay: 10ms}, command: '" + wait +
			"echo >> begun.txt; exit $SCHED_ATTEMPT'", "failed: exit code 2\n", 2},
		{deferred, "retry: {attempts: 2, delay: 1h}, command: '" + wait + "echo >> begun.txt; exit 7'",
			"stopped: sched stop by ", 1},
		{"that the hook before has ended", "before: '" + wait + "true', command: 'echo >> begun.txt; exit 7'",
			"failed: exit code 7\n", 1},
		{"that the hook before has failed", "before: '" + wait + "exit 3', command: 'echo >> begun.txt'",
			"failed: hook before 1: exit code 3\n", 0},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, "tasks: [{name: job, cron: '* * * * *', background: true, "+row.task+", after: 'echo $SCHED_OUTCOME: $SCHED_REASON >> after.txt'}]\n")
			b.Sched("run")
			supervisor := b.PidIn("supervisor.pid")
			witness := schedtest.Parent(t, supervisor)
			b.Until("its process is written down", func() bool {
				rows := schedtest.OpenRows(b.Path(".sched"))
				return len(rows) == 1 && rows[0].Attempt.PID != 0 || b.HookForked("job")
			})
			killBeforeItWrites(t, supervisor, func() { b.Write("go", "") })
			b.Gone(witness)
			if row.about == deferred {
				if rows := schedtest.OpenRows(b.Path(".sched")); len(rows) != 1 || !rows[0].Deferred() ||
					rows[0].Reason != "exit code 7" {
					t.Errorf("%+v", rows)
				}
				b.Sched("stop", "job")
			}
			b.Until("it is finished", func() bool { return b.Count("after.txt") > 0 })
			if got := b.Read("after.txt"); !strings.HasPrefix(got, row.want) {
				t.Errorf("%q, not %q", got, row.want)
			}
			if got := b.Count("begun.txt"); got != row.begun {
				t.Errorf("%d commands were started, not %d", got, row.begun)
			}
		})
	}
}
