//go:build linux

package kills_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/testing/machine"
	"sched/testing/schedtest"
)

// bounded is box.sched for what must not hang.
func (b *box) bounded(args ...string) (output string, code int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), schedtest.Patience)
	defer cancel()
	c := exec.CommandContext(ctx, schedtest.Binary, args...)
	c.Dir, c.Env = b.Dir, b.Command().Env
	out, _ := c.CombinedOutput()
	if ctx.Err() != nil {
		os.RemoveAll(b.Path(".sched"))
		b.Fatalf("sched %v hangs:\n%s", args, out)
	}
	return string(out), c.ProcessState.ExitCode()
}

// In the place of each file of the state folder there is a named pipe, and then a file of 8 GiB.
// The task runs, nothing hangs.
func TestNothingInTheStateFolderStopsATick(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"sched.db", "sched.db-wal", "sched.db-shm", "sched.db-journal", "sched.db.new", "locks/.making",
		"locks/each.lock", "work",
		"output", "locks",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, "tasks: [{name: each, cron: '* * * * *', without_overlapping: true, command: echo ran >> ran.txt}]")
			for n, put := range map[string]func(string) error{
				"a pipe":       func(path string) error { return unix.Mkfifo(path, 0o600) },
				"a large file": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 2<<30)) },
				"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
			} {
				os.RemoveAll(b.Path(".sched"))
				b.Tick(-time.Minute)
				path := b.Path(".sched/" + name)
				os.RemoveAll(path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
					t.Fatal(err)
				}
				before := b.Count("ran.txt")
				out, _ := b.bounded("run")
				if ran := b.Count("ran.txt") - before; ran != 1 && !strings.Contains(out, ".sched/"+name) {
					t.Errorf("%s: it ran %d times, and why is not said:\n%s", n, ran, out)
				}
				for _, command := range [][]string{{"list"}, {"history"}, {"status"}, {"logs", "each"}, {"why", "each"},
					{"pause", "each"}, {"resume", "each"}, {"trigger", "each"}} {
					b.bounded(command...)
				}
				if !machine.Full {
					break // another one each time
				}
			}
			os.RemoveAll(b.Path(".sched"))
		})
	}
}

// Root's sched.db is a link to a device, whose mode stays as it is.
func TestALinkToADeviceIsNoHistory(t *testing.T) {
	t.Parallel()
	b := newBox(t, "tasks: [{name: each, cron: '* * * * *', command: 'true'}]")
	device := b.Path("device")
	if err := unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skip(err)
	}
	os.Chmod(device, 0o666)
	for _, name := range []string{"sched.db", "sched.db-shm"} {
		os.RemoveAll(b.Path(".sched"))
		if err := errors.Join(os.Mkdir(b.Path(".sched"), 0o700),
			os.Symlink(device, b.Path(".sched/"+name))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if out, _ := b.bounded("run", "--at", schedtest.ThisMinute()); !strings.Contains(out, "succeeded") {
				t.Errorf("%s: %s", name, out)
			}
		}
		if info, err := os.Stat(device); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%s: the device is %v (%v)", name, info.Mode(), err)
		}
	}
}
