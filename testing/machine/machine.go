// Package machine lets the tests of all packages share a machine, which may be slow or busy: it has
// their turns, their bounds, and what an ordinary run leaves out.
package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Full says that the tests do all that they can, as in CI, and not only what a minute or two allow.
var Full = os.Getenv("SCHED_TEST_FULL") != ""

// Slow skips a test that takes long, and is not the only one of its mechanism, unless all tests
// run.
func Slow(t testing.TB) {
	t.Helper()
	if !Full {
		t.Skip("it takes long: SCHED_TEST_FULL=1 runs it")
	}
}

// Sized is how much a test does of what could go on for long.
func Sized(usual, all int) int {
	if Full {
		return all
	}
	return usual
}

// taking is the file whose lock the process of a test has that has its turn.
var taking = filepath.Join(os.TempDir(), fmt.Sprintf("sched-test-turn-%d", os.Getuid()))

// longest is how long a test waits for its turn. Then it goes on beside the others.
const longest = 3 * time.Minute

// having is the test of this process that has its turn; "" for none.
var (
	mu     sync.Mutex
	having string
)

// Turn waits until no other test has its turn, in any package, and then has it until its end, with
// its parts. Tests that start dozens of processes, or that use both processors for seconds, take
// turns: side by side they would make each other late. The kernel ends a turn with the process of
// the test.
//
// A test whose parts run in parallel leaves Turn to them: they may wait for tests that wait for a
// turn.
func Turn(t testing.TB) {
	t.Helper()
	file, err := os.OpenFile(taking, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		if having != "" && strings.HasPrefix(t.Name()+"/", having+"/") {
			mu.Unlock()
			file.Close()
			return
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			having = t.Name()
			mu.Unlock()
			break
		}
		mu.Unlock()
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		file.Close()
		if having == t.Name() {
			having = ""
		}
	})
}

// usual is how long a fork takes on a machine for which the bounds of the tests are made.
const usual = time.Millisecond

// Within stretches a bound by as much as a fork takes longer than usual on this machine, now, or by
// the number of processes that want each processor. A test that asks for an answer within a time
// asks when the time is over: then the machine is as busy as it was.
func Within(bound time.Duration) time.Duration {
	var slowest time.Duration
	for range 9 {
		begun := time.Now()
		exec.Command("true").Run()
		slowest = max(slowest, time.Since(begun))
	}
	var load float64 // of the last minute
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(text), &load)
	}
	times := max(1, float64(slowest)/float64(usual), load/float64(runtime.NumCPU()))
	return time.Duration(times * float64(bound))
}
