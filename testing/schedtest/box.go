package schedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule/state"
)

// A Box is a folder with a schedule, for tests that kill what runs in it.
type Box struct {
	*testing.T
	Dir string
}

func NewBox(t *testing.T, schedule string) *Box {
	t.Helper()
	private, err := os.MkdirTemp("", "sched-box-") // some tests open it to other users, and a folder of its own with it
	b := &Box{t, filepath.Join(private, "box")}
	if err = errors.Join(err, os.Mkdir(b.Dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	b.Write("schedule.yaml", schedule)
	t.Cleanup(func() {
		b.Settle()
		b.Until("the folder is removed: the last process may still write",
			func() bool { return os.RemoveAll(private) == nil })
	})
	return b
}

// Settle waits for the background runs that are still there, so that the folder can be removed.
func (b *Box) Settle() {
	b.Write("go", "")
	b.Until("all runs are finished", func() bool {
		open := b.OpenRuns()
		if b.Failed() && open != "" {
			b.Logf("open runs: %s", open)
			return true
		}
		return open == ""
	})
}

// OpenRuns returns the runs that have not ended, a line each.
func (b *Box) OpenRuns() (open string) {
	for _, row := range OpenRows(b.Path(".sched")) {
		open += fmt.Sprintf("%s of %s is %s, attempt %+v, %s %q\n",
			row.ID, row.Task, row.Phase, row.Attempt, row.Reason, row.Notes)
	}
	return open
}

func (b *Box) Path(name string) string { return filepath.Join(b.Dir, name) }

func (b *Box) Write(name, text string) {
	b.Helper()
	if err := os.WriteFile(b.Path(name), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *Box) Read(name string) string {
	text, err := os.ReadFile(b.Path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Fatal(err)
	}
	return string(text)
}

// Count returns how many lines a file of the box has.
func (b *Box) Count(name string) int { return strings.Count(b.Read(name), "\n") }

// LineIn waits for a line in a file that a task writes, and returns it.
func (b *Box) LineIn(name string) string {
	b.Helper()
	b.Until(name+" has a line", func() bool { return strings.Contains(b.Read(name), "\n") })
	line, _, _ := strings.Cut(b.Read(name), "\n")
	return strings.TrimSpace(line)
}

// PidIn waits for a process id in a file that a task writes.
func (b *Box) PidIn(name string) int {
	b.Helper()
	var pid int
	if _, err := fmt.Sscan(b.LineIn(name), &pid); err != nil {
		b.Fatal(err)
	}
	return pid
}

// Command is sched with the arguments, in the box.
func (b *Box) Command(args ...string) *exec.Cmd {
	c := exec.Command(Binary, args...)
	c.Dir = b.Dir
	c.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "HOME="+b.Dir)
	return c
}

// Sched runs sched to its end, and returns what it printed and its exit code.
func (b *Box) Sched(args ...string) (output string, code int) {
	b.Helper()
	c := b.Command(args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &out, Patience
	err := c.Start()
	if err == nil {
		hangs := time.AfterFunc(2*Patience, func() { c.Process.Kill() })
		err = c.Wait()
		if !hangs.Stop() {
			b.Fatalf("sched %v did not end in %s:\n%s", args, 2*Patience, out.String())
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.Fatalf("sched %v: %v", args, err)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// Says is what a command prints, whatever its exit code.
func (b *Box) Says(args ...string) string {
	b.Helper()
	output, _ := b.Sched(args...)
	return output
}

// TickIn is the tick that comes so long after now.
func (b *Box) TickIn(after time.Duration, args ...string) *exec.Cmd {
	c := b.Command(append([]string{"run"}, args...)...)
	c.Env = append(c.Env, "SCHED_TEST_CLOCK_OFFSET="+after.String())
	return c
}

// Tick runs that tick, and returns what it printed.
func (b *Box) Tick(after time.Duration, args ...string) string {
	b.Helper()
	out, err := b.TickIn(after, args...).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		b.Fatal(err)
	}
	return string(out)
}

// TickAt is `sched run` when its clock shows the time.
func (b *Box) TickAt(clock string) (output string, code int) {
	b.Helper()
	c := b.Command("run")
	c.Env = append(c.Env, "SCHED_TEST_CLOCK="+clock)
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

// ThisMinute is for --at: what was ticked in this minute runs once more.
func ThisMinute() string { return time.Now().UTC().Truncate(time.Minute).Format(time.RFC3339) }

// LeapDay is when flaky is due.
const LeapDay = "2028-02-29T00:00:00Z"

// Slack is what a tick may take longer on a machine that is busy with other tests.
const Slack = 15 * time.Second

// The first has the mutex until the file "go" is there, and the others wait for it.
const InTurn = `
defaults: {background: true, mutex: db, without_overlapping: wait, kill_after: 1s, env: {SHARED: .}}
tasks:
  - name: first
    cron: "* * * * *"
    command: |
      echo $SCHED_TASK >> $SHARED/order; echo $PPID > supervisor.pid; echo $$ > command.tmp; mv command.tmp command.pid
      exec await go
  - {name: second, cron: "* * * * *", command: &order 'echo $SCHED_TASK >> $SHARED/order'}
  - {name: third, cron: "* * * * *", command: *order}
`

// Free checks that the mutex of the task can be taken: its next run is not skipped.
func (b *Box) Free(task string) {
	b.Helper()
	b.Write("go", "")
	if out, _ := b.Sched("run", "--only", task); strings.Contains(out, "skipped") {
		b.Fatalf("the lock of %s stayed:\n%s", task, out)
	}
}

// Waits polls until a run waits for its attempt n, and no process watches any run.
func (b *Box) Waits(n int) {
	b.Helper()
	b.Until(fmt.Sprintf("it waits for attempt %d", n), func() bool {
		out, _ := b.Sched("history")
		return strings.Contains(out, fmt.Sprintf("waiting for attempt %d until ", n)) && b.Unwatched()
	})
}

// Unwatched reports whether no process looks after a run.
func (b *Box) Unwatched() bool { return len(Owned(b.Path(".sched"))) == 0 }

type Record struct {
	Run, Task, Slot, Outcome, Reason, Output, Server string
	Started                                          *string
	ExitCode                                         *int `json:"exit_code"`
	Attempts                                         int
	Duration                                         float64
	UserCPU                                          float64 `json:"user_cpu"`
	PeakMemory                                       int64   `json:"peak_memory"`
	Notes                                            []string
	Values                                           map[string]float64
}

// History returns the records of a task, or of all for "", newest first.
func (b *Box) History(task string) []Record {
	b.Helper()
	args := []string{"history", "--json", "-n", "0"}
	if task != "" {
		args = append(args, task)
	}
	c := b.Command(args...)
	out, err := c.Output()
	if err != nil {
		b.Fatalf("sched history: %v", err)
	}
	var records []Record
	if err := json.Unmarshal(out, &records); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return records
}

// Outcome waits until the task has n records, and returns the newest.
func (b *Box) Outcome(task string, n int) Record {
	b.Helper()
	var records []Record
	b.Until(fmt.Sprintf("%s has %d records", task, n), func() bool {
		records = b.History(task)
		return len(records) >= n
	})
	if len(records) != n {
		b.Fatalf("%s has %d records, not %d: %+v", task, len(records), n, records)
	}
	return records[0]
}

// Outcomes are the outcomes of a task, newest first.
func (b *Box) Outcomes(task string) (all []string) {
	b.Helper()
	for _, r := range b.History(task) {
		all = append(all, r.Slot[11:16]+" "+r.Outcome)
	}
	return all
}

// HookForked reports whether the newest run of the task has a hook whose process is known. A finish
// that is killed before that fires the hook once more.
func (b *Box) HookForked(task string) bool {
	db, err := state.OpenRead(b.Path(".sched"), state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	live, _, _ := db.LiveAndLost(context.Background())
	for _, row := range live {
		hooks, _ := db.Hooks(context.Background(), row.ID)
		if row.Task == task && slices.ContainsFunc(hooks, func(h state.Hook) bool { return h.PID != 0 }) {
			return true
		}
	}
	return false
}

// HasUnpublished reports whether an ended run waits to be told to the other servers.
func (b *Box) HasUnpublished() bool {
	db, err := state.OpenRead(b.Path(".sched"), state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	waiting, err := db.Runs().Unpublished(context.Background(), 1)
	return err == nil && len(waiting) > 0
}

// OpenRows returns the runs of a state folder that have begun and not ended.
func OpenRows(dir string) []state.Row {
	live, lost := rowsOf(dir)
	return slices.DeleteFunc(append(live, lost...), state.Row.Pending)
}

// Owned returns the live runs of a state folder that a process looks after.
func Owned(dir string) []state.Row {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil
	}
	defer db.Close()
	live, _, _ := db.LiveAndLost(context.Background())
	return slices.DeleteFunc(live, func(r state.Row) bool { return r.Owner == 0 || !db.Owners().Alive(r.Owner) })
}

// rowsOf returns the runs of a state folder that have not ended: see state.DB.LiveAndLost.
func rowsOf(dir string) (live, lost []state.Row) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil, nil
	}
	defer db.Close()
	live, lost, _ = db.LiveAndLost(context.Background())
	return live, lost
}

// Until waits for the condition, and fails the test when it does not come.
func (b *Box) Until(what string, condition func() bool) {
	b.Helper()
	b.untilWith(rest, what, condition)
}

// UntilAtOnce is until for a condition that holds only for a moment: it looks again without a rest.
func (b *Box) UntilAtOnce(what string, condition func() bool) {
	b.Helper()
	b.untilWith(func(time.Time) {}, what, condition)
}

func (b *Box) untilWith(rest func(begun time.Time), what string, condition func() bool) {
	b.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		begun := time.Now()
		if condition() {
			return
		}
		rest(begun)
	}
	b.Fatalf("not after %s: %s\n%s", Patience, what, b.OpenRuns())
}

func (b *Box) Kill(pid int) {
	b.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		b.Fatalf("kill %d: %v", pid, err)
	}
}

// Gone waits until a process is no more.
func (b *Box) Gone(pid int) {
	b.Helper()
	b.Until(fmt.Sprintf("process %d is gone", pid), func() bool { return !Alive(pid) })
}

// SmallDisk returns the folder of a disk of that size, which is easily filled.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", dir).Run(); err != nil {
		t.Skip("a small file system needs root")
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir
}
