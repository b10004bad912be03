package database

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These tests run the test binary again, as so many sched processes.

const helperJob = "SCHED_HISTORY_TEST_JOB" // "job folder number"

func TestDBHelper(t *testing.T) {
	job := strings.SplitN(os.Getenv(helperJob), " ", 3)
	if len(job) != 3 {
		t.Skip("runs only for other tests")
	}
	n, _ := strconv.Atoi(job[1])
	f, err := jobs[strings.ReplaceAll(job[0], "_", " ")](n, job[2])
	if f != nil {
		if f.SetAside() != "" {
			fmt.Println("set aside", f.SetAside())
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// openPatiently is Open for tests of what is lost, not of how long a crowd on a slow machine may take.
func openPatiently(dir string) (*File, error) {
	c := in(dir)
	c.Patience = 5 * time.Minute
	return Open(c)
}

// jobs are what a process can be asked to do: its number makes its runs its own.
var jobs = map[string]func(n int, dir string) (*File, error){
	"add twenty": func(n int, dir string) (*File, error) {
		f, err := openPatiently(dir)
		for i := 0; i < 20 && err == nil; i++ {
			err = add(f, run{n*20 + i, fmt.Sprint("task-", n)})
		}
		return f, err
	},
	"open and add": func(n int, dir string) (*File, error) {
		f, err := openPatiently(dir)
		if err != nil {
			return nil, err
		}
		return f, add(f, run{n, "b"})
	},
	"read, and fail to write": func(n int, dir string) (*File, error) {
		f, err := Open(in(dir))
		if err != nil {
			return nil, err
		}
		if found, err := find(f, ""); err != nil || len(found) != 1 {
			return f, fmt.Errorf("found %d: %w", len(found), err)
		}
		err = add(f, run{n, "b"})
		if err == nil || !strings.Contains(err.Error(), "history.db: it cannot be written") {
			return f, fmt.Errorf("a record was added, or not clearly refused: %w", err)
		}
		return f, nil
	},
	"die in a transaction": func(n int, dir string) (*File, error) {
		f, err := Open(in(dir))
		if err != nil {
			return nil, err
		}
		if err := add(f, run{n, "b"}); err != nil {
			return f, err
		}
		tx, err := f.conn.Begin()
		if err == nil {
			err = insert(tx, run{n + 1, "b"})
		}
		if err == nil {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return f, err
	},
}

// killed are ways in which a process dies while it writes: each has added the run n before.
var killed = map[string]func(f *File) error{
	// The cache is too small, so half of the transaction is in the database, and how that was before is in the journal.
	"half a transaction": func(f *File) error {
		if _, err := f.conn.Exec("PRAGMA cache_size = 10"); err != nil {
			return err
		}
		tx, err := f.conn.Begin()
		if err != nil {
			return err
		}
		return insert(tx, many(1000, 2000, "half")...)
	},
}

// killWhileWriting leaves in the folder what the process that was killed that way leaves, after it has added a run.
func killWhileWriting(t *testing.T, how, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := helper(exe, how, 1, dir).CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("the process was not killed: %v: %s", err, out)
	}
}

func init() {
	for how, write := range killed {
		jobs[how] = func(n int, dir string) (*File, error) {
			f, err := Open(in(dir))
			if err == nil {
				err = add(f, run{n, "a"})
			}
			if err == nil {
				err = write(f)
			}
			if err == nil {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return f, err
		}
	}
}

func helper(exe, job string, n int, dir string) *exec.Cmd {
	cmd := exec.Command(exe, "-test.run=^TestDBHelper$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", helperJob, strings.ReplaceAll(job, " ", "_"), n, dir))
	return cmd
}

// together starts n processes at once and returns the lines they printed.
func together(t *testing.T, n int, job, dir string) (lines []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	outputs := make([]string, n)
	for i := range n {
		wg.Go(func() {
			out, err := helper(exe, job, i, dir).CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
			outputs[i] = strings.TrimSpace(string(out))
		})
	}
	wg.Wait()
	return slices.DeleteFunc(outputs, func(s string) bool { return s == "" })
}

func TestAThousandWritesOfFiftyProcessesAreAllThere(t *testing.T) {
	dir := t.TempDir()
	together(t, 50, "add twenty", dir)
	if got := idsOf(t, mustOpen(t, in(dir)), ""); len(got) != 1000 {
		t.Errorf("%d of 1000 are there", len(got))
	}
}

func TestProcessesThatMakeTheFileAtTheSameMomentLoseNothing(t *testing.T) {
	dir := t.TempDir()
	together(t, 12, "open and add", dir)
	f := mustOpen(t, in(dir))
	if got := idsOf(t, f, ""); len(got) != 12 || f.SetAside() != "" {
		t.Errorf("%d of 12 are there, set aside %q", len(got), f.SetAside())
	}
}

func TestProcessesThatFindTheSameDamageSetItAsideOnceAndLoseNothing(t *testing.T) {
	good, _ := sound(t)
	for damage, file := range map[string][]byte{
		"found by Open": []byte("garbage, and more than a hundred bytes of it: " + strings.Repeat("x", 100)),
		"found by Add":  zeroed(good, page, len(good)),
	} {
		t.Run(damage, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "history.db"), file, 0o600); err != nil {
				t.Fatal(err)
			}
			lines := together(t, 12, "open and add", dir)
			if len(lines) != 1 || !strings.HasPrefix(lines[0], "set aside ") {
				t.Errorf("they said %q", lines)
			}
			if aside, _ := filepath.Glob(filepath.Join(dir, "history.db.corrupt-*Z*")); len(aside) != 1 {
				t.Errorf("set aside: %v", aside)
			}
			if got := idsOf(t, mustOpen(t, in(dir)), "b"); len(got) != 12 {
				t.Errorf("%d of 12 are there", len(got))
			}
		})
	}
}

func TestAProcessThatIsKilledInATransactionLosesOnlyThat(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := helper(exe, "die in a transaction", 7, dir).CombinedOutput()
	if err == nil || len(out) > 0 {
		t.Fatalf("it lived: %v: %s", err, out)
	}
	f := mustOpen(t, in(dir))
	mustAdd(t, f, run{9, "b"})
	if got := idsOf(t, f, ""); !slices.Equal(got, []int{9, 7}) || f.SetAside() != "" {
		t.Errorf("got %v, set aside %q", got, f.SetAside())
	}
}

// Root may write everywhere, so as root the reader is another user; the folder then belongs to root.
func TestAFolderThatCannotBeWrittenIsRead(t *testing.T) {
	for _, copied := range []bool{false, true} {
		top, err := os.MkdirTemp("", "readonly")
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(top, "state")
		t.Cleanup(func() { os.Chmod(dir, 0o700); os.RemoveAll(top) })
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(top, 0o755)); err != nil {
			t.Fatal(err)
		}
		fill(t, dir, run{1, "a"})
		if copied { // without its lock file
			os.Remove(filepath.Join(dir, "history.db-lock"))
		}
		exe := copyOf(t, top)
		if err := errors.Join(os.Chmod(filepath.Join(dir, "history.db"), 0o444), os.Chmod(dir, 0o555)); err != nil {
			t.Fatal(err)
		}
		cmd := helper(exe, "read, and fail to write", 2, dir)
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			cmd.Dir = "/"
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// copyOf puts the test binary where another user can start it.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	to := filepath.Join(dir, "history.test")
	if err = errors.Join(err, os.WriteFile(to, b, 0o755)); err != nil {
		t.Fatal(err)
	}
	return to
}
