package schedtest

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts is how the scripts in dir are run.
func Scripts(dir string) testscript.Params {
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
			e.Values["web"] = NewWeb(e.WorkDir)
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
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
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
			alive = alive || filepath.Base(path) == "sched.db" && len(Owned(filepath.Dir(path))) > 0
			return nil
		})
		return alive
	}
	for end := time.Now().Add(Patience / 6); alive() && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
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
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ = os.ReadFile(path)
		if bytes.Contains(text, []byte(args[1])) {
			return
		}
	}
	ts.Fatalf("%s has no %q after %s:\n%s", args[0], args[1], Patience, text)
}

// poll PATTERN PROGRAM ARG... runs a program again and again until its stdout matches.
func poll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: poll PATTERN PROGRAM ARG...")
	}
	pattern := regexp.MustCompile(`(?m)` + args[0])
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		begun := time.Now()
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		rest(begun)
	}
	ts.Fatalf("no match for %s after %s:\n%s", args[0], Patience, ts.ReadFile("stdout"))
}

// released waits until no process looks after a run of this folder any more: the next tick tells
// other servers of all.
func releasedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: released")
	}
	dir := ts.MkAbs(".sched")
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if len(Owned(dir)) == 0 {
			return
		}
	}
	ts.Fatalf("a process looks after a run after %s", Patience)
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
// its place and what it has. redis ahead DURATION stops its clock so far ahead of this one, and 0s
// lets it go on.
func redisCommand(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value("redis").(*miniredis.Miniredis)
	switch {
	case len(args) == 3 && args[0] == "lock":
		ts.Check(m.Set(args[1], args[2]))
	case len(args) == 2 && args[0] == "ahead":
		ahead, err := time.ParseDuration(args[1])
		ts.Check(err)
		m.SetTime(time.Time{})
		if ahead > 0 {
			m.SetTime(time.Now().Add(ahead))
		}
	case neg || len(args) != 1:
		ts.Fatalf("usage: redis up|down|empty, redis lock KEY VALUE, or redis ahead DURATION")
	case args[0] == "down":
		address := m.Addr()
		m.Close()
		for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
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
