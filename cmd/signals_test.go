//go:build linux

package cmd_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The images of php-fpm and nginx stop containers with SIGQUIT, which ended sched with a dump of
// its goroutines and no hooks.
func TestSIGQUITStopsATickAsSIGTERMDoes(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1))
	tick := b.command("run")
	var out strings.Builder
	tick.Stdout, tick.Stderr = &out, &out
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.pidIn("command.pid")
	tick.Process.Signal(syscall.SIGQUIT)
	tick.Wait()
	if code := tick.ProcessState.ExitCode(); code != 143 ||
		!strings.Contains(out.String(), "sched: stopped by SIGQUIT") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
	if r := b.outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "by SIGQUIT" ||
		b.read("after.txt") != "stopped\n" {
		t.Errorf("%+v, after %q", r, b.read("after.txt"))
	}
}

func TestSIGQUITStopsASupervisorAsSIGTERMDoes(t *testing.T) {
	t.Parallel()
	b, _, supervisor, _ := start(t)
	if err := syscall.Kill(supervisor, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if r := b.outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "by SIGQUIT" {
		t.Errorf("%+v", r)
	}
	b.free("victim")
}

func TestSIGQUITEndsWorkAsSIGTERMDoes(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.until("a minute was ticked", func() bool { return b.count("front") >= 1 && b.count("back") >= 1 })
	w.signal(syscall.SIGQUIT)
	if code := w.ended(); code != 143 || !strings.Contains(b.read("work.out"), "sched: stopped by SIGQUIT") {
		t.Errorf("exit code %d:\n%s", code, b.read("work.out"))
	}
}

// nohup(1) starts a program with SIGHUP ignored, and means it.
func TestASIGHUPThatTheCallerIgnoresEndsNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1))
	tick := exec.Command("/bin/sh", "-c", `trap "" HUP; exec "$0" run`, binary)
	tick.Dir, tick.Env = b.dir, b.command().Env
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.pidIn("command.pid")
	for _, pid := range []int{tick.Process.Pid, command} {
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	b.write("go", "")
	if err := tick.Wait(); err != nil {
		t.Error(err)
	}
	if r := b.outcome("victim", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}
