// Package schedtest is what the tests of the whole program share: the real sched, built once for
// each package, boxes to run it in, and the commands of the stories.
//
// The tests are in several packages, so that each takes a part of the time that Go gives a package:
//
//	cmd              the stories and what the pages show; flags, help, terminals, crontabs
//	testing/kills    processes that are killed, stopped, and cut off from a disk or a pipe
//	testing/cluster  several servers that share a store
//	testing/work     `sched work`, clocks, and seconds within a minute
//	testing/serve    the HTTP API
package schedtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/cmd"
	"sched/testing/machine"
)

// Binary is the real sched, built once for all tests of a package.
var Binary string

// The tests build sched by themselves. A binary of them that does not link all of it would be the
// same after most changes, and go test would repeat an old result.
var linked = cmd.Main

// Main runs the tests of a package with Binary.
func Main(m *testing.M) {
	if len(os.Args) == 0 {
		linked(nil, nil, nil, nil)
	}
	runManyAtOnce()
	os.Exit(withBinary(m.Run))
}

func withBinary(tests func() int) int {
	dir, err := os.MkdirTemp("", "sched-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777|os.ModeSticky)       // as the folder that it stands for: tests have other users
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each sched with the race detector ends a second later
	// as in the background of a script; what it starts must not inherit that
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	Binary = filepath.Join(dir, "sched")
	// Tasks wait with await, and find it as sched is found.
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, build := range [][]string{
		append(append([]string{"-tags", "schedtest", "-ldflags=-s -w", "-o", Binary}, raceFlags...), "sched"),
		{"-o", filepath.Join(dir, "await"), "sched/testing/await"},
	} {
		if out, err := exec.Command("go", append([]string{"build"}, build...)...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	end, err := endWithUs(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end()
	os.Setenv("TMPDIR", dir)
	return tests()
}

// endWithUs starts a process that ends all processes of the tests, and removes their folder, when
// this process ends, however it ends. end does that now.
func endWithUs(dir string) (end func(), err error) {
	c := exec.Command(filepath.Join(dir, "await"), "--over", dir)
	c.Dir = "/"
	here, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	return func() { here.Close(); c.Wait() }, err
}

// runManyAtOnce lets two parallel tests for each processor run at a time, eight at most, unless
// -parallel says how many: they wait for processes, minutes and leases most of the time. Go runs as
// many packages side by side as there are processors. With the race detector the processes of the
// tests take several times the CPU.
func runManyAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !Race {
		flag.Set("test.parallel", strconv.Itoa(min(2*runtime.GOMAXPROCS(0), 8)))
	}
}

// Kills returns the steps before which a process is killed, each time anew: the first step, and the
// distance between two steps. A full test tries all steps. Otherwise it tries some steps, other
// ones each time.
func Kills(usual int) (first, apart int) {
	apart = machine.Sized(usual, 1)
	return 1 + rand.IntN(apart), apart
}

// Patience bounds every wait of the tests: long for a slow machine, never reached on a good one.
const Patience = 2 * time.Minute

// rest waits between two looks of a poll; begun is when the last look began. It waits 5 ms, or
// longer if the look took longer, because a look runs sched. So a poll takes a quarter of a
// processor at most, and does not slow the other tests.
func rest(begun time.Time) {
	time.Sleep(min(max(5*time.Millisecond, 3*time.Since(begun)), 200*time.Millisecond))
}

// Unhurried runs a story that can fail on a busy machine because processes come too late. It runs a
// slow story again from the beginning, and fails if it was slow each time. Any other mistake fails
// at once.
func Unhurried(t *testing.T, story func(slow func(format string, a ...any))) {
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
