package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestAProgramIsLookedForInThePathOfTheTask(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tool, plain, second := file("a/tool", 0o755), file("a/plain", 0o644), file("b/plain", 0o755)
	os.Mkdir(filepath.Join(dir, "a/folder"), 0o755)
	path := "PATH=" + filepath.Join(dir, "a") + ":" + filepath.Join(dir, "missing") + ":" + filepath.Join(dir, "b")

	for _, test := range []struct {
		about string
		name  string
		env   []string
		want  string // empty: not found
	}{
		{"found in the first folder", "tool", []string{path}, tool},
		{"what cannot be executed is passed over", "plain", []string{path}, second},
		{"a folder is no program", "folder", []string{path}, ""},
		{"not there", "nothing", []string{path}, ""},
		{"the last PATH counts, as for the command itself", "tool", []string{"PATH=/nowhere", "HOME=/", path}, tool},
		{"the last PATH counts, though it is worse", "tool", []string{path, "PATH=/nowhere"}, ""},
		{"no PATH", "tool", []string{"HOME=/"}, ""},
		{"a relative folder is one of the task's", "tool", []string{"PATH=a"}, tool},
		{"a name with a slash is taken as it is", "./tool", []string{path}, "./tool"},
		{"so is an absolute one, whether it is there or not", plain, nil, plain},
	} {
		got, err := lookPath(test.name, dir, test.env)
		if got != test.want {
			t.Errorf("%s: %q, not %q", test.about, got, test.want)
		}
		if (test.want == "") != errors.Is(err, errNotFound) {
			t.Errorf("%s: %v", test.about, err)
		}
	}
}

// A machine that has no room for another process for a moment has it a moment later; a hook that
// did not start is lost for good.
func TestAForkIsTriedAgainWhileTheMachineHasNoRoom(t *testing.T) {
	defer func() { forkExec = syscall.ForkExec }()
	for _, row := range []struct {
		failure error
		times   int // how often it fails
		calls   int
		starts  bool
	}{
		{syscall.EAGAIN, 4, 5, true},
		{syscall.ENOMEM, 1, 2, true},
		{syscall.EMFILE, 1, 2, true},
		{syscall.ENFILE, 1, 2, true},
		{syscall.ENOENT, 1, 1, false},
		{syscall.E2BIG, 1, 1, false},
	} {
		calls := 0
		forkExec = func(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
			if calls++; calls <= row.times {
				return 0, row.failure
			}
			return syscall.ForkExec(path, argv, attr)
		}
		p, err := Program{Argv: []string{"true"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}.spawn()
		if calls != row.calls || (err == nil) != row.starts || err != nil && !errors.Is(err, row.failure) {
			t.Errorf("%v: %d calls, %v", row.failure, calls, err)
		}
		if err == nil {
			<-p.Done
			if p.ExitCode() != 0 {
				t.Errorf("%v: exit code %d", row.failure, p.ExitCode())
			}
		}
	}
}

func TestTheExitCodeOfWhatCannotBeStarted(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{fmt.Errorf("nothing: %w", errNotFound), 127},
		{&fs.PathError{Op: "fork/exec", Path: "./nothing", Err: syscall.ENOENT}, 127},
		{&fs.PathError{Op: "fork/exec", Path: "./plain", Err: syscall.EACCES}, 126},
		{&fs.PathError{Op: "fork/exec", Path: "./text", Err: syscall.ENOEXEC}, 126},
		{&fs.PathError{Op: "fork/exec", Path: "./long", Err: syscall.E2BIG}, 126},
	} {
		if got := StartExitCode(test.err); got != test.want {
			t.Errorf("%v: %d, not %d", test.err, got, test.want)
		}
	}
}

// Peak memory is the command's, or none: what sched itself has at the fork is not shown for a
// command that needs less.
func TestThePeakMemoryIsTheCommandsOwn(t *testing.T) {
	const own = 64 << 20 // of this process
	ballast := make([]byte, own)
	for i := range ballast {
		ballast[i] = 1
	}
	peak := func(command string) int64 {
		p, err := Program{Argv: []string{"/bin/sh", "-c", command}, Dir: "/",
			Env: []string{"PATH=/usr/bin:/bin"}}.spawn()
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done
		if p.ExitCode() != 0 {
			t.Fatalf("%s: exit code %d", command, p.ExitCode())
		}
		return p.PeakMemory()
	}
	if got := peak("true"); got != 0 {
		t.Errorf("true: %d MiB", got>>20)
	}
	// dd has a buffer of that size; awk and others may not be there.
	if got := peak("dd if=/dev/zero of=/dev/null bs=256M count=1 iflag=fullblock"); got < 256<<20 || got > 400<<20 {
		t.Errorf("a command that needs 256 MiB: %d MiB", got>>20)
	}
	runtime.KeepAlive(ballast)
}

func TestThePeakMemoryBeforeTheCommandIsTakenOff(t *testing.T) {
	for _, row := range []struct{ said, refusal string }{
		{"", ""},
		{"no such user\nat all", "no such user\nat all"},
		{"123456\n", ""},
		{"123456\nexec /x: permission denied", "exec /x: permission denied"},
	} {
		peak, got := readPeak(row.said)
		if got != row.refusal {
			t.Errorf("%q: %q", row.said, got)
		}
		if strings.HasPrefix(row.said, "123456\n") != (peak == 123456) {
			t.Errorf("%q: %d", row.said, peak)
		}
	}
}
