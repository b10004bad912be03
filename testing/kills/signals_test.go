//go:build linux

package kills_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sched/testing/schedtest"
)

// The images of php-fpm and nginx stop containers with SIGQUIT, which ended sched with a dump of
// its goroutines and no hooks.
func TestSIGQUITStopsATickAsSIGTERMDoes(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1))
	tick := b.Command("run")
	var out strings.Builder
	tick.Stdout, tick.Stderr = &out, &out
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.PidIn("command.pid")
	tick.Process.Signal(syscall.SIGQUIT)
	tick.Wait()
	if code := tick.ProcessState.ExitCode(); code != 143 ||
		!strings.Contains(out.String(), "sched: stopped by SIGQUIT") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "by SIGQUIT" ||
		b.Read("after.txt") != "stopped\n" {
		t.Errorf("%+v, after %q", r, b.Read("after.txt"))
	}
}

func TestSIGQUITStopsASupervisorAsSIGTERMDoes(t *testing.T) {
	t.Parallel()
	b, _, supervisor, _ := start(t)
	if err := syscall.Kill(supervisor, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "by SIGQUIT" {
		t.Errorf("%+v", r)
	}
	b.Free("victim")
}

// nohup(1) starts a program with SIGHUP ignored, and means it.
func TestASIGHUPThatTheCallerIgnoresEndsNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1))
	tick := exec.Command("/bin/sh", "-c", `trap "" HUP; exec "$0" run`, schedtest.Binary)
	tick.Dir, tick.Env = b.Dir, b.Command().Env
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.PidIn("command.pid")
	for _, pid := range []int{tick.Process.Pid, command} {
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	b.Write("go", "")
	if err := tick.Wait(); err != nil {
		t.Error(err)
	}
	if r := b.Outcome("victim", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}
