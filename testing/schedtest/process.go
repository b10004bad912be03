package schedtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func Parent(t *testing.T, pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// Children returns the processes with the command line that have the folder as their own.
func Children(line, dir string) (pids []int) {
	cwds, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, cwd := range cwds {
		if target, err := os.Readlink(cwd); err != nil || target != dir {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline"))
		if strings.Contains(strings.ReplaceAll(string(text), "\x00", " "), line) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(cwd)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// HungReader is a pipe that is full, and whose reader takes nothing until it is told to.
func HungReader(t *testing.T) (reader, writer *os.File) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close(); writer.Close() })
	fd := int(writer.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 16, 1 << 12, 1} { // a write that does not fit may write nothing
		for {
			if _, err := syscall.Write(fd, make([]byte, size)); err != nil {
				break
			}
		}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

// Alive reports whether a thread of the process is left: the first may be a zombie while another
// still has the files of all, and with them the locks.
func Alive(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(threads, func(thread string) bool {
		stat, err := os.ReadFile(thread)
		return err == nil && !strings.Contains(string(stat), ") Z ") && !strings.Contains(string(stat), ") X ")
	})
}

// Begin starts a tick. Its clock and the clocks of its runs show the given time. end waits for the
// end of the tick, and returns its output, its exit code, and how long that wait took.
func (b *Box) Begin(clock string, env ...string) (tick *exec.Cmd, end func() (out string, code int, took time.Duration)) {
	b.Helper()
	at, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		b.Fatal(err)
	}
	var out strings.Builder
	c := b.Command("run")
	c.Env = append(append(c.Env, "SCHED_TEST_CLOCK_OFFSET="+time.Until(at).String()), env...)
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Process.Kill() })
	return c, func() (string, int, time.Duration) {
		begun := time.Now()
		c.Wait()
		return out.String(), c.ProcessState.ExitCode(), time.Since(begun)
	}
}

// Waiter waits until a run of the task stands in the queue, and returns its witness and its
// supervisor.
func (b *Box) Waiter(task string) (witness, supervisor int) {
	b.Helper()
	b.Until(task+" waits", func() bool {
		for _, row := range OpenRows(b.Path(".sched")) {
			if row.Task == task && row.Queued() {
				id := fmt.Sprint(row.Owner)
				witness, supervisor = processOf("witness", id), processOf("start", id)
			}
		}
		return witness != 0 && supervisor != 0
	})
	return witness, supervisor
}

// processOf returns the process of sched whose arguments begin with these; 0 for none.
func processOf(args ...string) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		text, _ := os.ReadFile(path)
		words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		if len(words) > len(args) && slices.Equal(words[1:len(args)+1], args) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			return pid
		}
	}
	return 0
}

func ChildrenOf(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			var child int
			fmt.Sscan(word, &child)
			pids = append(pids, child)
		}
	}
	return pids
}

func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
