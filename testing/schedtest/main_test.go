//go:build linux

package schedtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

// lives names a file for the folder of the tests. Then the test below lives until it is killed.
const lives = "SCHED_TEST_LIVES"

func TestLives(t *testing.T) {
	if os.Getenv(lives) == "" {
		t.Skip("a process of TestNothingIsLeftOfTestsThatAreKilled")
	}
	b := NewBox(t, `tasks:
  - {name: waits, cron: "* * * * *", background: true, command: touch waits; await go}
  - {name: sleeps, cron: "* * * * *", background: true, command: touch sleeps; exec env -i sleep 1000}
`)
	b.Sched("run")
	if err := b.Command("work").Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"waits", "sleeps", ".sched/work"} {
		b.Until(name+" is there", func() bool { return Exists(b.Path(name)) })
	}
	os.WriteFile(os.Getenv(lives), []byte(filepath.Dir(Binary)+"\n"), 0o644)
	time.Sleep(Patience) // until it is killed
}

// A run of the tests is killed. All of its processes end: sched, what watches its runs, and their
// commands, also those that have no environment. Its folder is removed.
func TestNothingIsLeftOfTestsThatAreKilled(t *testing.T) {
	t.Parallel()
	b := NewBox(t, "tasks: []\n")
	c := exec.Command(os.Args[0], "-test.run=^TestLives$")
	c.Env = append(os.Environ(), lives+"="+b.Path("dir"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	dir := b.LineIn("dir")
	if n := len(processesIn(dir)); n < 6 { // work, two commands, their supervisor and its witness, what ends them
		t.Errorf("only %d processes live", n)
	}
	c.Process.Kill()
	c.Wait()
	b.Until("nothing is left", func() bool { return len(processesIn(dir)) == 0 && !Exists(dir) })
}

// processesIn returns the processes that have a folder in their arguments, or work in it.
func processesIn(dir string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		args, _ := os.ReadFile(process + "/cmdline")
		cwd, _ := os.Readlink(process + "/cwd")
		if strings.Contains(string(args), dir) || strings.HasPrefix(cwd, dir) {
			pids = append(pids, filepath.Base(process))
		}
	}
	return pids
}
