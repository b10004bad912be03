package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
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
		if got := parseStat([]byte(test.stat)).Group; got != test.want {
			t.Errorf("%s: %d, not %d", test.about, got, test.want)
		}
	}
	if got := ReadStat(os.Getpid()).Group; got != syscall.Getpgrp() {
		t.Errorf("our own group is %d, not %d", syscall.Getpgrp(), got)
	}
}

// A number alone says nothing: the kernel may have given it to processes of others.
func TestAGroupBelongsToTheRunInItsEnvironment(t *testing.T) {
	c := exec.Command("sleep", "300")
	c.Env = []string{"SCHED_RUN=run-1", "SCHED_ATTEMPT=2"}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	pid := c.Process.Pid
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if run, _ := runOf(pid); run != "" { // execve(2) closes files before the environment is there
			break
		}
	}
	for _, row := range []struct {
		about string
		run   string
		group int // that was written down; 0: none
		last  int // attempt that was written down
		want  []int
	}{
		{"its own run", "run-1", pid, 2, []int{pid}},
		{"its own run, whose group was not written down", "run-1", 0, 0, []int{pid}},
		{"its own run, whose second attempt was not written down", "run-1", syscall.Getpgrp(), 1, []int{pid}},
		{"another run that had the same number", "run-2", pid, 2, nil},
		{"another group that has the number now", "run-1", syscall.Getpgrp(), 2, nil},
		{"what an earlier attempt left behind", "run-1", syscall.Getpgrp(), 3, nil},
	} {
		if got := LiveGroups(row.run, "", row.group, row.last); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.about, got, row.want)
		}
	}
}

// The first process of a group may end before the others: the group lives on. A daemon that took
// its number is another matter.
func TestAGroupLivesOnWithoutItsFirstProcess(t *testing.T) {
	c := exec.Command("sh", "-c", "sleep 300 & echo; read line")
	c.Env = append(os.Environ(), "SCHED_RUN=run-3", "SCHED_ATTEMPT=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, _ := c.StdinPipe()
	out, err := c.StdoutPipe()
	if err = errors.Join(err, c.Start()); err != nil {
		t.Fatal(err)
	}
	group := c.Process.Pid
	defer syscall.Kill(-group, syscall.SIGKILL)
	out.Read(make([]byte, 1)) // sleep has been started
	if !HasGroup("run-3", group) || HasGroup("run-4", group) {
		t.Error("its first process lives, and it is not the group of the run in its environment alone")
	}
	in.Close()
	c.Process.Wait() // not c.Wait, which would wait for sleep, too
	if !HasGroup("run-3", group) || HasGroup("run-4", group) {
		t.Error("its first process has ended, and it is not the group of the run in its environment alone")
	}
	syscall.Kill(-group, syscall.SIGKILL)
	for end := time.Now().Add(time.Minute); HasGroup("run-3", group); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a group without a process is still there")
		}
	}
}

// Root may raise its limit of open files; others may not go above the hard limit that they have.
func TestTheLimitOfFilesThatAProcessMaySet(t *testing.T) {
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	above := int(min(own.Max, 1<<40)) + 1 // there may be no limit
	want := above
	if os.Geteuid() != 0 {
		want = int(min(own.Max, uint64(above)))
	}
	if got := maxFiles(above); got != want {
		t.Errorf("%d, want %d", got, want)
	}
	if got := maxFiles(20); got != 20 {
		t.Errorf("%d, want 20", got)
	}
}

// Anybody can start a program with the id of a run in its environment, also one that becomes root.
func TestOnlyWhatTheUserOfTheTaskMaySignalBelongsToARun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start programs of other users")
	}
	pids := map[uint32]int{}
	for _, uid := range []uint32{0, 1, 12345} {
		c := exec.Command("sleep", "300")
		c.Env = []string{"SCHED_RUN=run-7", "SCHED_ATTEMPT=1"}
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uid}}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { c.Process.Kill(); c.Wait() }()
		pids[uid] = c.Process.Pid
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if run, _ := runOf(c.Process.Pid); run != "" {
				break
			}
		}
	}
	for user, uid := range map[string]uint32{"": 0, "1": 1, "12345": 12345} {
		h := hunt{family: Family{Run: "run-7", Attempt: 1, User: user}}
		if h.find(); len(h.found) != 1 || h.found[0].PID != pids[uid] {
			t.Errorf("of user %q are %v, not %d", user, h.found, pids[uid])
		}
		if groups := LiveGroups("run-7", user, 0, 0); !slices.Equal(groups, []int{pids[uid]}) {
			t.Errorf("groups of user %q are %v, not %d", user, groups, pids[uid])
		}
	}
	if left, _ := End(t.Context(), Family{Run: "run-7", Attempt: 1, User: "1"}, time.Minute); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	for _, uid := range []uint32{0, 12345} {
		if _, living := readMember(pids[uid]); !living {
			t.Errorf("the process of user %d was killed", uid)
		}
	}
}

// Under cron a tick is in a session of its own, with the commands that it starts and the hooks of
// their runs. The process that stops a run is in another session, such as the session of a
// terminal. It looks for what is left of the command when the supervisor may have fired a hook
// already.
func TestTheEndOfACommandIsNotTheEndOfItsSession(t *testing.T) {
	if os.Getenv(isTick) != "" {
		playTick()
		return
	}
	tick := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	tick.Env = append(os.Environ(), isTick+"=1")
	tick.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, _ := tick.StdinPipe()
	out, err := tick.StdoutPipe()
	if err = errors.Join(err, tick.Start()); err != nil {
		t.Fatal(err)
	}
	defer tick.Wait()
	defer in.Close()
	var command, left, hook, other int
	if _, err := fmt.Fscan(out, &command, &left, &hook, &other); err != nil {
		t.Fatal(err)
	}
	if left, _ := End(t.Context(), Family{Groups: []int{command}, Run: "run-8", Attempt: 1}, time.Minute); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	for _, p := range []struct {
		about string
		pid   int
		lives bool
	}{
		{"the command", command, false},
		{"what it left behind in another group", left, false},
		{"a hook of its run", hook, true},
		{"a process that is of no run", other, true},
		{"the tick", tick.Process.Pid, true},
	} {
		if _, living := readMember(p.pid); living != p.lives {
			t.Errorf("%s lives: %t", p.about, living)
		}
	}
}

// isTick is the variable with which the test starts this program once more, as the tick.
const isTick = "TEST_IS_TICK"

// playTick starts the processes of TestTheEndOfACommandIsNotTheEndOfItsSession, each in a group of
// its own, and prints their numbers. It ends them when the test closes the input.
func playTick() {
	var all []*exec.Cmd
	for _, env := range [][]string{
		{"SCHED_RUN=run-8", "SCHED_ATTEMPT=1"},
		{"SCHED_RUN=run-8", "SCHED_ATTEMPT=1"},
		{"SCHED_RUN=run-8", "SCHED_ATTEMPT=1", "SCHED_OUTCOME=stopped"},
		{"OTHER=1"},
	} {
		c := exec.Command("sleep", "300")
		c.Env = env
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			fmt.Println(err)
			return
		}
		all = append(all, c)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if has := Environment(c.Process.Pid); len(has) > 0 && string(has[0]) == env[0] {
				break // it executes sleep
			}
		}
		go c.Wait()
	}
	for _, c := range all {
		fmt.Println(c.Process.Pid)
	}
	io.Copy(io.Discard, os.Stdin)
	for _, c := range all {
		c.Process.Kill()
	}
}
