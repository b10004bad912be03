package run

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/process"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// The kernel may have given the number of a command's process group to processes of others.
func TestStopSignalsNoProcessOfOthers(t *testing.T) {
	for _, row := range []struct {
		about, run string // what the process that has the number was started for
		ends       bool
	}{
		{"its own command", "run-1", true},
		{"the command of another run", "run-2", false},
	} {
		c := exec.Command("sleep", "300")
		c.Env = []string{"SCHED_RUN=" + row.run}
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// Its environment can be read a moment after execve(2) has closed what closes there.
		for end := time.Now().Add(10 * time.Second); !process.HasGroup(row.run, c.Process.Pid) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		s := stopper{id: "run-1", killAfter: time.Minute}
		s.signal(state.Attempt{Number: 1, PID: c.Process.Pid, At: time.Now()}, "")
		if signalled := s.attempt == 1; signalled != row.ends {
			t.Errorf("%s: it got a signal: %v", row.about, signalled)
		}
		if !row.ends { // it has got nothing, so it ends by this signal and no other
			c.Process.Signal(syscall.SIGUSR1)
		}
		c.Wait()
		s.ending.Wait()
		if got := c.ProcessState.Sys().(syscall.WaitStatus).Signal(); (got == syscall.SIGUSR1) == row.ends {
			t.Errorf("%s: it ended by %s", row.about, got)
		}
	}
}

// A run that got its mutex while the folder was read-only could not write its name: the file names
// the run before. When that is ended late, by a process without the descriptor, it breaks the lock
// that its own daemon has, and not the lock of the other run.
func TestALateEndBreaksNoLockOfAnotherRun(t *testing.T) {
	ctx := context.Background()
	for has, stays := range map[string]bool{"run-1": false, "run-2": true} {
		storage := holding.StorageAt(t.TempDir(), nil)
		defer storage.DB.Close()
		lock, err := storage.Mutexes().Acquire(ctx, "report", mutex.Holder{Run: "run-1"})
		if err != nil {
			t.Fatal(err)
		}
		file := lock.Inherit()[0]
		c := exec.Command("sleep", "300")
		c.Env, c.ExtraFiles = []string{"SCHED_RUN=" + has}, lock.Inherit()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		file.Close()
		for end := time.Now().Add(10 * time.Second); !process.HasGroup(has, c.Process.Pid) && len(process.LiveGroups(has, "", 0, 0)) == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if err := storage.Mutexes().Adopt("report", mutex.Holder{Run: "run-1"}, nil).Release(ctx); err != nil {
			t.Error(err)
		}
		if _, held := heldBy(storage, "report"); held != stays {
			t.Errorf("a process of %s has it: held: %t", has, held)
		}
		c.Process.Kill()
		c.Wait()
	}
}
