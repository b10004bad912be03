package cgroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cgroup"
	"sched/schedule/outcome"
	"sched/schedule/process"
)

// A process of the test binary becomes the command of a task (process.Become).
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.BecomeArgument {
		code, _ := process.Become(os.Environ())
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// start starts a shell command in a cgroup of its own with the limits. It skips the test on a
// machine without cgroups.
func start(t *testing.T, command string, limits schedule.Limits) (c *cgroup.Group, p *process.Process, path string) {
	t.Helper()
	folder, err := cgroup.Here()
	if err != nil {
		t.Skip(err)
	}
	id := outcome.NewID()
	c, err = cgroup.New(id, 2, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	task := &schedule.Task{Name: "t", Limits: limits, Folder: "/"}
	p, err = process.Spec{Task: task, Command: schedule.Command{List: []string{"/bin/sh", "-c", command}}, Dir: "/",
		Limits: limits, Cgroup: c}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(t.Context(), 0) })
	return c, p, filepath.Join(folder, "sched-"+id+"-2")
}

func ended(t *testing.T, p *process.Process) {
	t.Helper()
	select {
	case <-p.Done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

func TestACommandOverItsLimitOfMemoryIsEnded(t *testing.T) {
	c, p, path := start(t, "x=0123456789abcdef; while :; do x=$x$x; done",
		schedule.Limits{Memory: 32 << 20, CPU: 400, Files: 64})
	ended(t, p)
	if p.ExitCode() != 137 || !c.OutOfMemory() {
		t.Errorf("exit code %d, out of memory %t", p.ExitCode(), c.OutOfMemory())
	}
	c.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cgroup is left: %v", err)
	}
}

func TestTheLimitsHoldBeforeTheCommandBegins(t *testing.T) {
	c, p, path := start(t, "grep -q sched- /proc/self/cgroup && kill -9 $$", schedule.Limits{Memory: 32 << 20, CPU: 50})
	cpu, _ := os.ReadFile(filepath.Join(path, "cpu.max"))
	memory, _ := os.ReadFile(filepath.Join(path, "memory.max"))
	ended(t, p)
	if string(cpu) != "50000 100000\n" || string(memory) != "33554432\n" {
		t.Errorf("cpu.max is %q, memory.max is %q", cpu, memory)
	}
	if p.ExitCode() != 137 || c.OutOfMemory() {
		t.Errorf("exit code %d, out of memory %t", p.ExitCode(), c.OutOfMemory())
	}
}

// A cgroup goes with its last process, whoever has died: a tick sweeps it. A cgroup with a process
// stays.
func TestACgroupIsSweptWhenItsLastProcessIsGone(t *testing.T) {
	c, p, path := start(t, "sleep 60 & exit", schedule.Limits{CPU: 50})
	ended(t, p)
	cgroup.Sweep()
	c.Close()
	cgroup.Sweep()
	left, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if err != nil || len(left) == 0 {
		t.Fatalf("it is gone before its last process: %v", err)
	}
	process.End(t.Context(), process.Family{Groups: []int{p.PID}}, 0)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		cgroup.Sweep()
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the cgroup is left")
		}
	}
}

func TestACgroupThatIsWatchedIsNotSwept(t *testing.T) {
	_, p, path := start(t, "exit 0", schedule.Limits{CPU: 50})
	ended(t, p)
	cgroup.Sweep()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Without a cgroup each process keeps what it can.
func TestWithoutACgroupTheProcessKeepsItsLimits(t *testing.T) {
	limits := schedule.Limits{Memory: 64 << 20, CPU: 50, Files: 64}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	task := &schedule.Task{Name: "t", Folder: "/"}
	p, err := process.Spec{Task: task, Command: schedule.Command{List: []string{"/bin/sh", "-c",
		"ulimit -n; ulimit -Hn; ulimit -d"}}, Dir: "/", Output: out, Limits: limits}.Start()
	if err != nil {
		t.Fatal(err)
	}
	ended(t, p)
	said, _ := os.ReadFile(out.Name())
	if got := strings.Fields(string(said)); strings.Join(got, " ") != "64 64 65536" {
		t.Errorf("the command has %q", got)
	}
	var own syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); own.Max == 64 {
		t.Error("sched has the limit, too")
	}
	want := "memory 64 MiB for each process (rlimit), cpu 50% cannot be kept, files 64 (rlimit); no cgroup: because"
	if got := process.LimitsText(limits, errors.New("because")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
