package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
)

// The test binary becomes commands, as sched does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == BecomeArgument {
		if code, ok := Become(os.Environ()); ok {
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}

var low = 1

// Every user of a machine may read the arguments of every process.
func TestNoArgumentHasAValueOfEnv(t *testing.T) {
	defer func() { forkExec = syscall.ForkExec }()
	var argv []string
	forkExec = func(path string, args []string, attr *syscall.ProcAttr) (int, error) {
		argv = append(argv, args...)
		return syscall.ForkExec(path, args, attr)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "env")
	if err := os.WriteFile(file, []byte("TOKEN=from-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := &schedule.Task{Env: map[string]string{"TOKEN": "s3cret"}, EnvOverrides: []string{"TOKEN"},
		EnvFiles: []string{file}, As: schedule.As{Nice: &low}, Folder: dir}
	out := printed(t, Spec{Task: task, Command: schedule.Command{List: []string{"printenv"}}, Dir: dir,
		CallerEnv: os.Environ(), Variables: []string{"SCHED_RUN=run-1"}})
	for _, want := range []string{"TOKEN=s3cret", "SCHED_RUN=run-1"} {
		if !slices.Contains(out, want) {
			t.Errorf("the command does not have %s: %v", want, out)
		}
	}
	if text := strings.Join(out, "\n"); strings.Contains(text, setupVariable) ||
		strings.Contains(text, "from-the-file") {
		t.Errorf("the command has what is not for it: %v", out)
	}
	if text := strings.Join(argv, " "); !strings.Contains(text, BecomeArgument) || strings.Contains(text, "s3cret") {
		t.Errorf("the arguments are %v", argv)
	}
}

// printed runs a command, and returns the lines that it prints.
func printed(t *testing.T, spec Spec) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	spec.Output = out
	p, err := spec.Start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done
	text, _ := os.ReadFile(path)
	if p.Refusal != "" || p.ExitCode() != 0 {
		t.Fatalf("%s, exit code %d: %s", p.Refusal, p.ExitCode(), text)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// A daemon that a task leaves behind keeps the lock of its task, so that the task never runs twice.
// A daemon of another user must not: that user could keep a lock of root for ever.
func TestACommandOfAnotherUserInheritsNoLock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	for _, row := range []struct {
		as    schedule.As
		keeps bool
	}{
		{schedule.As{}, true},
		{schedule.As{Nice: &low}, true},
		{schedule.As{User: "root"}, true},
		{schedule.As{User: "12345", Group: "12345"}, false},
	} {
		path := filepath.Join(t.TempDir(), "lock")
		lock, err := os.Create(path)
		if err != nil || unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			t.Fatal(err)
		}
		p, err := Spec{Task: &schedule.Task{As: row.as, Folder: "/"},
			Command: schedule.Command{List: []string{"sleep", "300"}}, Dir: "/", CallerEnv: os.Environ(),
			Locks: []*os.File{lock}}.Start()
		lock.Close()
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB); (err != nil) != row.keeps {
			t.Errorf("%+v: %v", row.as, err)
		}
		if p.Ended() {
			t.Errorf("%+v: it has ended: %s", row.as, p.Refusal)
		}
		again.Close()
		syscall.Kill(-p.PID, syscall.SIGKILL)
		<-p.Done
	}
}

// A tick that can open no more files for a moment starts its commands a moment later.
func TestAStartWaitsForRoomToOpenFiles(t *testing.T) {
	for _, as := range []schedule.As{{}, {Nice: &low}} {
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		probe, err := os.Open("/")
		if err != nil {
			t.Fatal(err)
		}
		none := syscall.Rlimit{Cur: uint64(probe.Fd()), Max: before.Max}
		probe.Close()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Open("/"); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("there is room: %v", err)
		}
		started := make(chan error)
		var p *Process
		go func() {
			var err error
			p, err = Spec{Task: &schedule.Task{As: as, Folder: "/"}, Command: schedule.Command{List: []string{"true"}},
				Dir: "/", CallerEnv: os.Environ()}.Start()
			started <- err
		}()
		select {
		case err := <-started:
			t.Errorf("%+v: it does not wait: %v", as, err)
			syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
			continue
		case <-time.After(50 * time.Millisecond):
		}
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
		if err := <-started; err != nil {
			t.Fatalf("%+v: %v", as, err)
		}
		<-p.Done
		if p.Refusal != "" || p.ExitCode() != 0 {
			t.Errorf("%+v: %s, exit code %d", as, p.Refusal, p.ExitCode())
		}
	}
}
