//go:build linux

package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tickAt is `sched run` when its clock shows the time.
func (b *box) tickAt(clock string) (output string, code int) {
	b.Helper()
	c := b.command("run")
	c.Env = append(c.Env, "SCHED_TEST_CLOCK="+clock, "TMPDIR="+b.dir)
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

// outcomes are the outcomes of a task, newest first.
func (b *box) outcomes(task string) (all []string) {
	b.Helper()
	for _, r := range b.history(task) {
		all = append(all, r.Slot[11:16]+" "+r.Outcome)
	}
	return all
}

// While the disk is full the ticks are counted elsewhere. When there is room again nothing was missed,
// what was skipped is in the history, and the next gap begins where the last tick was.
func TestTicksOnAFullDiskAreNotMissed(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "none", dir).Run(); err != nil {
		t.Skip("a small file system needs root")
	}
	defer exec.Command("umount", "-l", dir).Run()
	b := newBox(t, `
state_dir: `+dir+`/state
timezone: UTC
tasks:
  - {name: each, cron: "* * * * *", command: "true"}
  - {name: closed, cron: "* * * * *", command: "true", between: ["11:00", "12:00"]}
`)
	b.tickAt("2026-01-01T10:00:01Z")
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	for _, clock := range []string{"2026-01-01T10:01:01Z", "2026-01-01T10:02:01Z", "2026-01-01T10:03:01Z"} {
		if out, _ := b.tickAt(clock); strings.Contains(out, "missed") {
			t.Errorf("at %s:\n%s", clock, out)
		}
	}
	os.Remove(filler)
	if out, code := b.tickAt("2026-01-01T10:04:01Z"); code != 0 || strings.Contains(out, "missed") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	out, _ := b.tickAt("2026-01-01T10:06:01Z")
	if !strings.Contains(out, "missed: no tick ran at 2026-01-01 10:05: 2 slots of 2 tasks") {
		t.Error(out)
	}
	want := "10:06 succeeded, 10:05 missed, 10:04 succeeded, 10:03 succeeded, 10:02 succeeded, 10:01 succeeded, 10:00 succeeded"
	if got := strings.Join(b.outcomes("each"), ", "); got != want {
		t.Errorf("each:\ngot  %s\nwant %s", got, want)
	}
	want = strings.ReplaceAll(want, "succeeded", "skipped")
	if got := strings.Join(b.outcomes("closed"), ", "); got != want {
		t.Errorf("closed:\ngot  %s\nwant %s", got, want)
	}
}
