package run

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sched/schedule/process"
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
		s.signal(state.Attempt{Number: 1, PID: c.Process.Pid, At: time.Now()})
		if signalled := s.attempt == 1; signalled != row.ends {
			t.Errorf("%s: it got a signal: %v", row.about, signalled)
		}
		if !row.ends { // it has got nothing, so it ends by this signal and no other
			c.Process.Signal(syscall.SIGUSR1)
		}
		c.Wait()
		if got := c.ProcessState.Sys().(syscall.WaitStatus).Signal(); (got == syscall.SIGUSR1) == row.ends {
			t.Errorf("%s: it ended by %s", row.about, got)
		}
	}
}
