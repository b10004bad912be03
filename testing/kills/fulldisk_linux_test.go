package kills_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mountState mounts a small disk as the state folder of the box. It needs root.
func (b *box) mountState(kilobytes int, flags uintptr) {
	b.Helper()
	dir := b.Path(".sched")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%dk,mode=0700", kilobytes)); err != nil {
		b.Skip("a disk cannot be mounted here: ", err)
	}
	b.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

// The disk is full when a foreground task ends. Its tick says so, goes on with the next tasks, and
// records the end when there is room again. Meanwhile nobody says that the task runs.
func TestAForegroundTaskWhoseEndCannotBeRecordedHoldsNoOther(t *testing.T) {
	t.Parallel()
	b := newBox(t, `timezone: UTC
tasks:
  - {name: fills, every: minute, command: "sh fill.sh; echo yes > full"}
  - {name: prints, every: minute, command: "seq 99999"}
  - {name: next, every: minute, command: "while test ! -e go; do sleep 0.05; done; rm -f .sched/fill*"}
`)
	// The tick may still give back a page when the disk was full: it is full when nothing more goes
	// in, twenty times.
	b.Write("fill.sh", `n=0 i=0
while test $n -lt 20; do
	i=$((i + 1)) n=$((n + 1))
	dd if=/dev/zero of=.sched/fill$i bs=1k count=9999 2>/dev/null
	if test -s .sched/fill$i; then n=0; fi
done
`)
	b.mountState(4096, 0)
	tick := b.Command("run")
	var out strings.Builder
	tick.Stdout, tick.Stderr = &out, &out
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.LineIn("full")
	b.Until("list says that the task has ended", func() bool {
		list, _ := b.Sched("list")
		return strings.Contains(list, "ended, not recorded yet")
	})
	b.Write("go", "")
	if err := tick.Wait(); err == nil || tick.ProcessState.ExitCode() != 1 {
		t.Errorf("the tick ended with %v", err)
	}
	for _, want := range []string{
		"of fills succeeded, but its end is not recorded: ",
		"  fills   succeeded in ", "; the disk of its output is full\n", "  next    succeeded in ",
		"of fills is recorded now\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tick does not say %q:\n%s", want, out.String())
		}
	}
	if r := b.Outcome("fills", 1); r.Outcome != "succeeded" {
		t.Errorf("fills %s: %s", r.Outcome, r.Reason)
	}
}

// In a container with a read-only root tasks run, and nobody can know that from the state folder.
// A probe that restarts what is down must not restart this.
func TestAStateFolderThatCannotBeWrittenIsNotDown(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: a, every: minute, command: \"true\"}\n")
	b.mountState(1024, unix.MS_RDONLY)
	if out, code := b.Sched("run"); code != 1 || !strings.Contains(out, "a  succeeded") {
		t.Errorf("the tick: %d %s", code, out)
	}
	out, code := b.Sched("status")
	if code != 1 || !strings.HasPrefix(out, "trouble: history; 1 task, 0 running\n") ||
		!strings.Contains(out, "cannot be written (read-only file system), so nothing is recorded") {
		t.Errorf("status: %d %s", code, out)
	}
	if out, _ := b.Sched("why", "a"); strings.Contains(out, "no tick") {
		t.Errorf("why: %s", out)
	}
}

// Nothing can be recorded, and the last tick is a moment old: status says so at once.
func TestStatusKnowsAtOnceThatNothingCanBeRecorded(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: a, every: minute, command: \"true\"}\n")
	b.mountState(1024, 0)
	dir := b.Path(".sched")
	remount := func(flags uintptr, options string) {
		t.Helper()
		if err := unix.Mount("tmpfs", dir, "", unix.MS_REMOUNT|flags, options); err != nil {
			t.Skip("a disk cannot be mounted anew here: ", err)
		}
	}
	says := func(when string, wantCode int, want string) {
		t.Helper()
		if out, code := b.Sched("status"); code != wantCode || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", when, code, out)
		}
	}
	if out, code := b.Sched("run"); code != 0 {
		t.Fatalf("the tick: %d %s", code, out)
	}
	says("all is well", 0, "ok: ")

	remount(unix.MS_RDONLY, "")
	says("the disk is read-only", 1, "cannot be written (read-only file system), so nothing is recorded")
	remount(0, "")
	says("it is not any more", 0, "ok: ")

	remount(unix.MS_BIND|unix.MS_RDONLY, "")
	says("it is so only at this place, as for a service", 0, "ok: ")
	remount(unix.MS_BIND, "")

	fill := b.Path(".sched/fill")
	if exec.Command("dd", "if=/dev/zero", "of="+fill, "bs=4k").Run() == nil {
		t.Fatal("the disk takes all")
	}
	says("the disk is full", 1, "is full, so nothing is recorded")
	os.Remove(fill)
	says("there is room again", 0, "ok: ")

	remount(0, "nr_inodes=40")
	for n := 0; os.WriteFile(fmt.Sprint(fill, n), nil, 0o600) == nil; n++ {
	}
	says("the disk has no inode left", 1, "takes no other file, so nothing is recorded")
}
