package cmd_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"sched/schedule/state"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"sched/cmd"
)

// binary is the real sched, built once for all tests of this package.
var binary string

// The tests build sched by themselves. A binary of them that does not link all of it would be the
// same after most changes, and go test would repeat an old result.
var linked = cmd.Main

func TestMain(m *testing.M) {
	if len(os.Args) == 0 {
		linked(nil, nil, nil, nil)
	}
	runManyAtOnce()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sched-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		os.Chmod(dir, 0o711)                     // some tests run it as another user
		os.Setenv("GORACE", "atexit_sleep_ms=0") // or each sched with the race detector ends a second later
		// as in the background of a script; what it starts must not inherit that
		if signal.Ignored(os.Interrupt) {
			signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		}
		binary = filepath.Join(dir, "sched")
		// Tasks wait with await, and find it as sched is found.
		os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		for _, build := range [][]string{
			append(append([]string{"-tags", "schedtest", "-o", binary}, raceFlags...), "sched"),
			{"-o", filepath.Join(dir, "await"), "sched/testing/await"},
		} {
			if out, err := exec.Command("go", append([]string{"build"}, build...)...).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// runManyAtOnce lets more parallel tests run at a time than there are processors, unless -parallel
// says how many: they wait for processes, minutes and leases most of the time. With the race
// detector these processes take several times the CPU.
func runManyAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && len(raceFlags) == 0 {
		flag.Set("test.parallel", strconv.Itoa(6*runtime.GOMAXPROCS(0)))
	}
}

// full says that the tests do all that they can, as in CI, and not only what a minute or two allow.
var full = os.Getenv("SCHED_TEST_FULL") != ""

// sized is how much a test does of what could go on for long.
func sized(usual, all int) int {
	if full {
		return all
	}
	return usual
}

// kills returns the steps before which a process is killed, each time anew: the first step, and the
// distance between two steps. A full test tries all steps. Otherwise it tries some steps, other
// ones each time.
func kills(usual int) (first, apart int) {
	apart = sized(usual, 1)
	return 1 + rand.IntN(apart), apart
}

// TestScripts runs the scripts in testdata: each is a story that a user could type.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata"))
}

// scripts is how the scripts in dir are run.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			// Other users find their way into the folder.
			if err := errors.Join(os.Chmod(filepath.Dir(e.WorkDir), 0o711), os.Chmod(e.WorkDir, 0o755)); err != nil {
				return err
			}
			e.Values["redis"] = miniredis.NewMiniRedis()
			e.Values["web"] = newWeb(e.WorkDir)
			e.Values["post"] = &post{dir: e.WorkDir, addr: "127.0.0.1:0"}
			e.Defer(func() { settle(e) })
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "namespaces":
				return exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"capture":    capture,
			"eventually": eventually,
			"poll":       poll,
			"released":   releasedCommand,
			"query":      queryCommand,
			"covered":    coveredCommand,
			"lines":      lines,
			"tick":       tick,
			"redis":      redisCommand,
			"nonroot":    nonroot,
			"terminal":   onTerminal,
			"web":        webCommand,
			"post":       postCommand,
		},
	}
}

// coveredCommand makes a minute the last that a tick covered: covered MINUTE. With `never` no tick
// ever came, so the next one finds no gap.
func coveredCommand(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(".sched")+"/sched.db?_busy_timeout=10000")
	ts.Check(err)
	defer db.Close()
	if args[0] == "never" {
		_, err = db.Exec("DELETE FROM meta WHERE key = 'covered'")
		ts.Check(err)
		return
	}
	minute, err := time.Parse(time.RFC3339, args[0])
	ts.Check(err)
	_, err = db.Exec("UPDATE meta SET value = ? WHERE key = 'covered'", minute.UnixMicro())
	ts.Check(err)
}

// queryCommand waits until a database answers a query with one value: query WANT SQL [FOLDER].
func queryCommand(ts *testscript.TestScript, _ bool, args []string) {
	folder := ".sched"
	if len(args) > 2 {
		folder = args[2]
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(folder)+"/sched.db?mode=ro&_busy_timeout=10000")
	ts.Check(err)
	defer db.Close()
	got := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err = db.QueryRow(args[1]).Scan(&got)
		if err == nil && got == args[0] {
			return
		}
	}
	ts.Fatalf("%s: %s, want %s: %v", args[1], got, args[0], err)
}

// settle lets go of the tasks that wait for the file "go", and waits for the runs that are still
// there, so that the folder of the script can be removed.
func settle(e *testscript.Env) {
	os.WriteFile(filepath.Join(e.WorkDir, "go"), nil, 0o644)
	alive := func() (alive bool) {
		filepath.WalkDir(e.WorkDir, func(path string, _ fs.DirEntry, _ error) error {
			alive = alive || filepath.Base(path) == "sched.db" && len(owned(filepath.Dir(path))) > 0
			return nil
		})
		return alive
	}
	for end := time.Now().Add(patience / 6); alive() && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
}

// exits CODE PROGRAM ARG... runs a program, and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	code := "0"
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, not %s", code, args[0])
	}
}

// nonroot CODE PROGRAM ARG... is exits for a user that is not root. If we are root it is daemon, to
// whom it gives the folder of the script.
func nonroot(ts *testscript.TestScript, neg bool, args []string) {
	if os.Geteuid() == 0 {
		ts.Check(ts.Exec("chown", "-R", "daemon", ts.Getenv("WORK")))
		args = append([]string{args[0], "setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"}, args[1:]...)
	}
	exits(ts, neg, args)
}

// capture NAME PATTERN sets a variable to what the group of the pattern matched in the last stdout.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	found := regexp.MustCompile(`(?m)` + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// patience bounds every wait of the tests: long for a slow machine, never reached on a good one.
const patience = 2 * time.Minute

// rest waits between two looks of a poll; begun is when the last look began. It waits 5 ms, or
// longer if the look took longer, because a look runs sched. So a poll takes a quarter of a
// processor at most, and does not slow the other tests.
func rest(begun time.Time) {
	time.Sleep(min(max(5*time.Millisecond, 3*time.Since(begun)), 200*time.Millisecond))
}

// eventually FILE [TEXT] waits until the file has the text, or a line.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 1 {
		args = append(args, "\n")
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: eventually FILE [TEXT]")
	}
	path := ts.MkAbs(args[0])
	var text []byte
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ = os.ReadFile(path)
		if bytes.Contains(text, []byte(args[1])) {
			return
		}
	}
	ts.Fatalf("%s has no %q after %s:\n%s", args[0], args[1], patience, text)
}

// poll PATTERN PROGRAM ARG... runs a program again and again until its stdout matches.
func poll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: poll PATTERN PROGRAM ARG...")
	}
	pattern := regexp.MustCompile(`(?m)` + args[0])
	for end := time.Now().Add(patience); time.Now().Before(end); {
		begun := time.Now()
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		rest(begun)
	}
	ts.Fatalf("no match for %s after %s:\n%s", args[0], patience, ts.ReadFile("stdout"))
}

// released waits until no process looks after a run of this folder any more: the next tick tells
// other servers of all.
func releasedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: released")
	}
	dir := ts.MkAbs(".sched")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if len(owned(dir)) == 0 {
			return
		}
	}
	ts.Fatalf("a process looks after a run after %s", patience)
}

// tick AFTER ARG... runs the tick that comes so long after now.
func tick(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: tick AFTER ARG...")
	}
	ts.Setenv("SCHED_TEST_CLOCK_OFFSET", args[0])
	err := ts.Exec("sched", append([]string{"run"}, args[1:]...)...)
	ts.Setenv("SCHED_TEST_CLOCK_OFFSET", "")
	ts.Check(err)
}

// redis up|down starts a Redis for the script, whose URL is in $REDIS_URL, or stops it. It keeps
// its place and what it has.
func redisCommand(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value("redis").(*miniredis.Miniredis)
	switch {
	case len(args) == 3 && args[0] == "lock":
		ts.Check(m.Set(args[1], args[2]))
	case neg || len(args) != 1:
		ts.Fatalf("usage: redis up|down|empty, or redis lock KEY VALUE")
	case args[0] == "down":
		address := m.Addr()
		m.Close()
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			c.Close() // a process that another test just starts has what this one has open, until it has begun
		}
	case args[0] == "empty":
		m.FlushAll()
	case ts.Getenv("REDIS_URL") != "":
		ts.Check(m.Start())
	default:
		// The port is outside of the range from which the kernel takes ports for others
		// (ip_local_port_range in ip(7)), so a server that is down comes back to its own port.
		var err error
		for range 100 {
			if err = m.StartAddr(fmt.Sprint("127.0.0.1:", 20000+rand.IntN(10000))); err == nil {
				break
			}
		}
		ts.Check(err)
		ts.Defer(m.Close)
		ts.Setenv("REDIS_URL", "redis://"+m.Addr())
	}
}

// lines FILE N checks that the file has N lines.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if n := fmt.Sprint(bytes.Count(text, []byte("\n"))); n != args[1] {
		ts.Fatalf("%s has %s lines, not %s:\n%s", args[0], n, args[1], text)
	}
}

// A box is a folder with a schedule, for tests that kill what runs in it.
type box struct {
	*testing.T
	dir string
}

func newBox(t *testing.T, schedule string) *box {
	t.Helper()
	private, err := os.MkdirTemp("", "sched-box-") // some tests open it to other users, and a folder of its own with it
	b := &box{t, filepath.Join(private, "box")}
	if err = errors.Join(err, os.Mkdir(b.dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	b.write("schedule.yaml", schedule)
	t.Cleanup(func() {
		b.settle()
		b.until("the folder is removed: the last process may still write",
			func() bool { return os.RemoveAll(private) == nil })
	})
	return b
}

// smallDisk returns the folder of a disk of that size, which is easily filled.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", dir).Run(); err != nil {
		t.Skip("a small file system needs root")
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir
}

// settle waits for the background runs that are still there, so that the folder can be removed.
func (b *box) settle() {
	b.write("go", "")
	b.until("all runs are finished", func() bool {
		open := b.openRuns()
		if b.Failed() && open != "" {
			b.Logf("open runs: %s", open)
			return true
		}
		return open == ""
	})
}

// openRuns returns the runs that have not ended, a line each.
func (b *box) openRuns() (open string) {
	for _, row := range openRows(b.path(".sched")) {
		open += fmt.Sprintf("%s of %s is %s, attempt %+v, %s %q\n",
			row.ID, row.Task, row.Phase, row.Attempt, row.Reason, row.Notes)
	}
	return open
}

// thisMinute is for --at: what was ticked in this minute runs once more.
func thisMinute() string { return time.Now().UTC().Truncate(time.Minute).Format(time.RFC3339) }

// hasUnpublished reports whether an ended run waits to be told to the other servers.
func (b *box) hasUnpublished() bool {
	db, err := state.OpenRead(b.path(".sched"), state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	waiting, err := db.Runs().Unpublished(context.Background(), 1)
	return err == nil && len(waiting) > 0
}

// hookForked reports whether the newest run of the task has a hook whose process is known. A finish
// that is killed before that fires the hook once more.
func (b *box) hookForked(task string) bool {
	db, err := state.OpenRead(b.path(".sched"), state.Patience)
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

// openRows returns the runs of a state folder that have begun and not ended.
func openRows(dir string) []state.Row {
	live, lost := rowsOf(dir)
	return slices.DeleteFunc(append(live, lost...), state.Row.Pending)
}

// owned returns the live runs of a state folder that a process looks after.
func owned(dir string) []state.Row {
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

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

func (b *box) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *box) read(name string) string {
	text, err := os.ReadFile(b.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Fatal(err)
	}
	return string(text)
}

// command is sched with the arguments, in the box.
func (b *box) command(args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir = b.dir
	c.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "HOME="+b.dir)
	return c
}

// sched runs sched to its end, and returns what it printed and its exit code.
func (b *box) sched(args ...string) (output string, code int) {
	b.Helper()
	c := b.command(args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &out, patience
	err := c.Start()
	if err == nil {
		hangs := time.AfterFunc(2*patience, func() { c.Process.Kill() })
		err = c.Wait()
		if !hangs.Stop() {
			b.Fatalf("sched %v did not end in %s:\n%s", args, 2*patience, out.String())
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.Fatalf("sched %v: %v", args, err)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// unhurried runs a story that can fail on a busy machine because processes come too late. It runs a
// slow story again from the beginning, and fails if it was slow each time. Any other mistake fails
// at once.
func unhurried(t *testing.T, story func(slow func(format string, a ...any))) {
	t.Helper()
	for try := 1; ; try++ {
		var slow []string
		story(func(format string, a ...any) { slow = append(slow, fmt.Sprintf(format, a...)) })
		if len(slow) == 0 || t.Failed() {
			return
		}
		if try == 5 {
			t.Fatalf("slow five times; at last:\n%s", strings.Join(slow, "\n"))
		}
		t.Logf("slow, and so told again:\n%s", strings.Join(slow, "\n"))
	}
}

// until waits for the condition, and fails the test when it does not come.
func (b *box) until(what string, condition func() bool) {
	b.Helper()
	b.untilWith(rest, what, condition)
}

// untilAtOnce is until for a condition that holds only for a moment: it looks again without a rest.
func (b *box) untilAtOnce(what string, condition func() bool) {
	b.Helper()
	b.untilWith(func(time.Time) {}, what, condition)
}

func (b *box) untilWith(rest func(begun time.Time), what string, condition func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		begun := time.Now()
		if condition() {
			return
		}
		rest(begun)
	}
	b.Fatalf("not after %s: %s\n%s", patience, what, b.openRuns())
}

// lineIn waits for a line in a file that a task writes, and returns it.
func (b *box) lineIn(name string) string {
	b.Helper()
	b.until(name+" has a line", func() bool { return strings.Contains(b.read(name), "\n") })
	line, _, _ := strings.Cut(b.read(name), "\n")
	return strings.TrimSpace(line)
}

// pidIn waits for a process id in a file that a task writes.
func (b *box) pidIn(name string) int {
	b.Helper()
	var pid int
	if _, err := fmt.Sscan(b.lineIn(name), &pid); err != nil {
		b.Fatal(err)
	}
	return pid
}

func (b *box) kill(pid int) {
	b.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		b.Fatalf("kill %d: %v", pid, err)
	}
}

// gone waits until a process is no more.
func (b *box) gone(pid int) {
	b.Helper()
	b.until(fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
}

// alive reports whether a thread of the process is left: the first may be a zombie while another
// still has the files of all, and with them the locks.
func alive(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(threads, func(thread string) bool {
		stat, err := os.ReadFile(thread)
		return err == nil && !strings.Contains(string(stat), ") Z ") && !strings.Contains(string(stat), ") X ")
	})
}

type record struct {
	Run, Task, Slot, Outcome, Reason, Output, Server string
	Started                                          *string
	ExitCode                                         *int `json:"exit_code"`
	Attempts                                         int
	Duration                                         float64
	UserCPU                                          float64 `json:"user_cpu"`
	PeakMemory                                       int64   `json:"peak_memory"`
	Notes                                            []string
}

// history returns the records of a task, or of all for "", newest first.
func (b *box) history(task string) []record {
	b.Helper()
	args := []string{"history", "--json", "-n", "0"}
	if task != "" {
		args = append(args, task)
	}
	c := b.command(args...)
	out, err := c.Output()
	if err != nil {
		b.Fatalf("sched history: %v", err)
	}
	var records []record
	if err := json.Unmarshal(out, &records); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return records
}

// outcome waits until the task has n records, and returns the newest.
func (b *box) outcome(task string, n int) record {
	b.Helper()
	var records []record
	b.until(fmt.Sprintf("%s has %d records", task, n), func() bool {
		records = b.history(task)
		return len(records) >= n
	})
	if len(records) != n {
		b.Fatalf("%s has %d records, not %d: %+v", task, len(records), n, records)
	}
	return records[0]
}

// count returns how many lines a file of the box has.
func (b *box) count(name string) int { return strings.Count(b.read(name), "\n") }
