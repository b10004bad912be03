package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule"
)

func pipe(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestACopyToAPipeWithoutAReaderEndsWithItsContext(t *testing.T) {
	for _, row := range []struct {
		about  string
		before func(path string)
	}{
		{"no reader ever", func(string) {}},
		{"a reader that reads nothing", func(path string) {
			reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { reader.Close() })
		}},
	} {
		path, over := pipe(t), errors.New("over")
		row.before(path)
		ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, over)
		defer cancel()
		began := time.Now()
		err := CopyTo(ctx, schedule.Output{File: path}, strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != over || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %s", row.about, err, time.Since(began))
		}
	}
}

func TestACopyToAPipeWaitsForItsReader(t *testing.T) {
	path, text := pipe(t), strings.Repeat("all of it\n", 100_000)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	read := make(chan string)
	go func() {
		got, _ := os.ReadFile(path) // whichever of both comes first
		read <- string(got)
	}()
	if err := CopyTo(ctx, schedule.Output{File: path, Append: true}, strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	if got := <-read; got != text {
		t.Errorf("the reader got %d bytes, not %d", len(got), len(text))
	}
}

func TestACopyToASocketIsRefusedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := CopyTo(context.Background(), schedule.Output{File: path}, strings.NewReader("x")); !errors.Is(err,
		syscall.ENXIO) && !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Error(err)
	}
}

// Root's output goes to a folder of another user, who puts links there.
func TestACopyOfRootFollowsNoLinkOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write everywhere")
	}
	const attacker = 12345
	folder := func(t *testing.T, path string, mode os.FileMode, owner int) string {
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode),
			os.Chown(path, owner, owner)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(t *testing.T, to, path string, owner int) {
		if err := errors.Join(os.Symlink(to, path), os.Lchown(path, owner, owner)); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		build func(t *testing.T, dir, victim string) (path string)
		wrong bool // the copy is refused
	}{
		"a file in a folder of another user": {func(t *testing.T, dir, _ string) string {
			return folder(t, dir+"/app", 0o755, attacker) + "/new/x.log"
		}, false},
		"a file of another user": {func(t *testing.T, dir, _ string) string {
			path := folder(t, dir+"/app", 0o755, attacker) + "/x.log"
			if err := errors.Join(os.WriteFile(path, []byte("long before"), 0o600),
				os.Chown(path, attacker, attacker)); err != nil {
				t.Fatal(err)
			}
			return path
		}, false},
		"a link in a folder of another user": {func(t *testing.T, dir, victim string) string {
			link(t, victim, folder(t, dir+"/app", 0o755, attacker)+"/x.log", attacker)
			return dir + "/app/x.log"
		}, true},
		"a link of root that was moved to a folder of another user": {func(t *testing.T, dir, victim string) string {
			link(t, victim, folder(t, dir+"/app", 0o755, attacker)+"/x.log", 0)
			return dir + "/app/x.log"
		}, true},
		"a folder that is a link": {func(t *testing.T, dir, victim string) string {
			link(t, filepath.Dir(victim), folder(t, dir+"/app", 0o755, attacker)+"/logs", attacker)
			return dir + "/app/logs/" + filepath.Base(victim)
		}, true},
		"a folder of root in a folder of another user": {func(t *testing.T, dir, victim string) string {
			folder(t, dir+"/app", 0o755, attacker)
			link(t, victim, folder(t, dir+"/app/logs", 0o755, 0)+"/x.log", 0)
			return dir + "/app/logs/x.log"
		}, true},
		"a link in a sticky folder": {func(t *testing.T, dir, victim string) string {
			link(t, victim, folder(t, dir+"/tmp", 0o777|os.ModeSticky, 0)+"/x.log", attacker)
			return dir + "/tmp/x.log"
		}, true},
		"a second name": {func(t *testing.T, dir, victim string) string {
			path := folder(t, dir+"/app", 0o755, attacker) + "/x.log"
			if err := os.Link(victim, path); err != nil {
				t.Fatal(err)
			}
			return path
		}, true},
		"links of root": {func(t *testing.T, dir, _ string) string {
			link(t, dir+"/there/y.log", folder(t, dir+"/here", 0o755, 0)+"/x.log", 0)
			link(t, "real", dir+"/there", 0)
			folder(t, dir+"/real", 0o755, 0)
			return dir + "/here/x.log"
		}, false},
		"a link to itself": {func(t *testing.T, dir, _ string) string {
			link(t, "x.log", dir+"/x.log", 0)
			return dir + "/x.log"
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			victim := folder(t, dir+"/etc", 0o755, 0) + "/passwd"
			if err := os.WriteFile(victim, []byte("root"), 0o644); err != nil {
				t.Fatal(err)
			}
			path := row.build(t, dir, victim)
			for range 2 {
				err := CopyTo(context.Background(), schedule.Output{File: path}, strings.NewReader("output"))
				if (err != nil) != row.wrong {
					t.Errorf("%v", err)
				}
			}
			if text, _ := os.ReadFile(path); !row.wrong && string(text) != "output" {
				t.Errorf("%q", text)
			}
			if text, _ := os.ReadFile(victim); string(text) != "root" {
				t.Errorf("the file of the machine is %q", text)
			}
		})
	}
}
