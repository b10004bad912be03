//go:build linux

package kills_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sched/testing/schedtest"
)

// The whole run was killed, and no tick has come since.
func TestStatusTellsOfARunThatVanished(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: import, every: minute, background: true, command: 'echo $$ > pid; exec await go'}
`)
	b.Sched("run")
	command := b.PidIn("pid")
	supervisor := schedtest.Parent(t, command)
	witness := schedtest.Parent(t, supervisor)
	if out, code := b.Sched("status"); code != 0 || !strings.HasPrefix(out, "ok: 1 task, 1 running, ") {
		t.Errorf("while it lives: %d %s", code, out)
	}
	for _, pid := range []int{witness, supervisor, command} {
		b.Kill(pid)
	}
	b.Gone(witness)
	b.Gone(supervisor)
	out, code := b.Sched("status")
	if code != 1 || !strings.HasPrefix(out, "trouble: import vanished; 1 task, 0 running, ") ||
		!strings.Contains(out, "import  a run vanished; the next tick will finish it  sched why import\n") {
		t.Errorf("after the kill: %d %s", code, out)
	}
	if out, _ := b.Sched("why", "import"); !strings.Contains(out, "vanished; the next tick will finish it\n") {
		t.Errorf("why: %s", out)
	}
	b.Sched("run") // finishes it, and starts another
	b.Write("go", "")
	b.Until("that has ended", func() bool { return len(schedtest.OpenRows(b.Path(".sched"))) == 0 })
}

// Monitoring often runs as another user, who may not look into the state folder.
func TestStatusAsAnotherUserSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "sched-other") // t.TempDir is not for other users
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	schedule := "tasks:\n  - {name: a, every: minute, command: echo a}\n"
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(schedule), 0o644),
		exec.Command("cp", schedtest.Binary, filepath.Join(dir, "sched")).Run())
	if err != nil {
		t.Fatal(err)
	}
	as := func(uid uint32, args ...string) (string, int) {
		c := exec.Command(filepath.Join(dir, "sched"), args...)
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, NoSetGroups: uid == 0}}
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	if out, code := as(0, "run"); code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	out, code := as(65534, "status")
	if code != 2 || !strings.Contains(out,
		"belongs to user 0, not to us (65534)\nhint: ask as its owner: sudo -u root sched status\n") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := as(0, "status"); code != 0 {
		t.Errorf("its owner: %d %s", code, out)
	}
}
