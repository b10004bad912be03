package runner

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestTheProcessGroupInProcStat(t *testing.T) {
	for _, test := range []struct {
		about, stat string
		want        int
	}{
		{"an ordinary line", "4242 (sleep) S 4240 4241 4200 34816 4241 4194304 103 0", 4241},
		{"a name with spaces", "4242 (tmux: server 1 2 3) S 4240 4241 4200", 4241},
		{"a name with parentheses", "4242 (a) S 9 9 (b)) R 4240 4241 4200", 4241},
		{"a name that is a line break", "4242 (\n) Z 4240 4241 4200", 4241},
		{"a line that ends too early", "4242 (sleep) S 4240", 0},
		{"a line that is no such line", "sleep", 0},
		{"nothing", "", 0},
		{"a number that is none", "4242 (sleep) S 4240 many 4200", 0},
	} {
		if got := processGroup([]byte(test.stat)); got != test.want {
			t.Errorf("%s: %d, not %d", test.about, got, test.want)
		}
	}
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if got := processGroup(self); got != syscall.Getpgrp() {
		t.Errorf("our own group is %d, not %d", syscall.Getpgrp(), got)
	}
}

// A number alone says nothing: the kernel may have given it to somebody else.
func TestAGroupBelongsToTheRunInItsEnvironment(t *testing.T) {
	c := exec.Command("sleep", "300")
	c.Env = []string{"SCHED_RUN=run-1"}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	if !groupIsOf(c.Process.Pid, "run-1") {
		t.Error("its own run is not known")
	}
	if groupIsOf(c.Process.Pid, "run-2") {
		t.Error("it is taken for another run")
	}
	if groupIsOf(syscall.Getpgrp(), "run-1") {
		t.Error("another group is taken for it")
	}
}
