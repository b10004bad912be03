//go:build linux

package kills_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/schedtest"
)

// finishes returns the processes of this box that finish a run.
func (b *box) finishes() (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		args := strings.Split(string(text), "\x00")
		if len(args) < 2 || args[0] != schedtest.Binary || args[1] != "finish" {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(line), "environ"))
		if strings.Contains(string(environ), "SCHED_STATE="+b.Path(".sched")+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// runsOfFinish returns the runs that a process finishes.
func runsOfFinish(pid int) (runs []string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(text), "\x00")
	for i, arg := range args[:len(args)-1] {
		if arg == "--run" {
			runs = append(runs, args[i+1])
		}
	}
	return runs
}

// told returns how often each path of the web was asked for.
func (b *box) told() map[string]int {
	told := map[string]int{}
	for _, line := range strings.Split(b.Read("web.log"), "\n") {
		if _, path, some := strings.Cut(line, " "); some {
			told[path]++
		}
	}
	return told
}

// undelivered returns how many notifications wait.
func (b *box) undelivered() int {
	db, err := state.OpenRead(b.Path(".sched"), state.Patience)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	n, err := db.Messages().Waiting(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// While a server hangs, finish is killed. The next tick sends what finish could not send, and
// nothing else again.
func TestFinishIsKilledWhileItSends(t *testing.T) {
	t.Parallel()
	b := newBox(t, "")
	w := schedtest.NewWeb(b.Dir)
	if err := w.Up(); err != nil {
		t.Fatal(err)
	}
	defer w.Down()
	defer w.LetGo()
	schedule := fmt.Sprintf(`
tasks:
  - name: hooked
    cron: "* * * * *"
    background: true
    command: "true"
    after: [{webhook: "http://%[1]s/ok"}, {webhook: "http://%[1]s/hang"}, echo >> hooks.txt]
`, w.Addr)
	b.Write("schedule.yaml", schedule)
	b.Sched("run")
	b.Until("both were asked", func() bool { return len(b.told()) == 2 })
	b.Until("the first was delivered", func() bool { return b.undelivered() == 1 })
	finish := b.finishes()
	if len(finish) != 1 {
		t.Fatalf("processes that finish: %v", finish)
	}
	b.Kill(finish[0])
	b.Gone(finish[0])
	if r := b.Outcome("hooked", 1); r.Outcome != "succeeded" {
		t.Errorf("the record waited for the server: %+v", r)
	}
	b.Write("schedule.yaml", "tasks: []\n")
	tick := b.Command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.Until("it is asked again", func() bool { return b.told()["/hang"] == 2 })
	w.LetGo()
	tick.Wait()
	b.Sched("run")
	if got := b.told(); got["/ok"] != 1 || got["/hang"] != 2 || b.undelivered() != 0 || b.Count("hooks.txt") != 1 {
		t.Errorf("%v, hooks %d, %d wait", got, b.Count("hooks.txt"), b.undelivered())
	}
}

// Many runs end, and each finish is killed at a random moment. Each run is told; only the message
// that a killed finish was sending at that moment may be sent twice. The test runs alone: on a busy
// machine a finish was over before it was seen.
func TestFinishIsKilledAnywhereAndNothingIsLost(t *testing.T) {
	schedtest.Unhurried(t, func(slow func(string, ...any)) { finishIsKilledAnywhere(t, slow) })
}

func finishIsKilledAnywhere(t *testing.T, slow func(string, ...any)) {
	const runs = 40
	b := newBox(t, "")
	w := schedtest.NewWeb(b.Dir)
	if err := w.Up(); err != nil {
		t.Fatal(err)
	}
	defer w.Down()
	schedule := "tasks:\n"
	for i := range runs {
		schedule += fmt.Sprintf(`  - name: task-%[1]d
    cron: "* * * * *"
    background: true
    command: "true"
    on_success: {webhook: "http://%[2]s/ok/%[1]d/a"}
    after: [{webhook: "http://%[2]s/ok/%[1]d/b"}, {webhook: "http://%[2]s/ok/%[1]d/c", at_most: 1 per 1h}]
`, i, w.Addr)
	}
	b.Write("schedule.yaml", schedule)
	over := make(chan struct{})
	go func() { defer close(over); b.Command("run").Run() }()
	random, seen, killed := rand.New(rand.NewPCG(1, 2)), map[int]bool{}, 0
	b.UntilAtOnce("all have ended", func() bool {
		for _, pid := range b.finishes() {
			if p, err := os.FindProcess(pid); err == nil && !seen[pid] {
				seen[pid] = true
				killed += len(runsOfFinish(pid))
				// at a moment of chance
				time.AfterFunc(time.Duration(random.IntN(15))*time.Millisecond, func() { p.Kill() })
			}
		}
		select {
		case <-over:
			return !b.alive()
		default:
			return false
		}
	})
	b.Write("schedule.yaml", "tasks: []\n")
	b.Until("all is told", func() bool {
		b.Sched("run")
		return b.OpenRuns() == "" && len(b.told()) == 3*runs
	})
	b.Sched("run")
	told, twice := b.told(), 0
	for path, n := range told {
		if n > 1 {
			twice++
		}
		if n > 2 {
			t.Errorf("%s was told %d times", path, n)
		}
	}
	t.Logf("%d of %d killed, %d told twice", killed, runs, twice)
	if killed == 0 {
		slow("nothing was killed")
	}
	if twice > 3*killed {
		t.Errorf("%d killed, %d told twice", killed, twice)
	}
}

// alive reports whether a process of a background run is left.
func (b *box) alive() bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, line := range lines {
		environ, _ := os.ReadFile(line)
		if strings.Contains(string(environ), "SCHED_STATE="+b.Path(".sched")+"\x00") {
			return true
		}
	}
	return false
}

// A run that began when there was room ends on a full disk: what it has to tell is told all the
// same.
func TestTheDiskFillsUpBeforeSomebodyIsTold(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	dir := schedtest.SmallDisk(t, "1m")
	b := newBox(t, "")
	w := schedtest.NewWeb(b.Dir)
	if err := w.Up(); err != nil {
		t.Fatal(err)
	}
	defer w.Down()
	b.Write("schedule.yaml", fmt.Sprintf(`
state_dir: %[1]s/state
tasks:
  - name: back
    cron: "* * * * *"
    background: true
    command: echo began >> began.txt; await go; exit 3
    on_failure: [{webhook: "http://%[2]s/ok/a"}, {webhook: "http://%[2]s/ok/b", at_most: 1 per 1h}]
`, dir, w.Addr))
	b.Sched("run")
	b.LineIn("began.txt")
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	b.Write("go", "")
	b.Until("both are told", func() bool { return len(b.told()) == 2 })
	os.Remove(filler)
	b.Write("schedule.yaml", "state_dir: "+dir+"/state\ntasks: []\n")
	b.Until("the history has the run", func() bool {
		b.Sched("run")
		return len(b.History("back")) == 1
	})
	if got := b.told(); got["/ok/a"] != 1 || got["/ok/b"] != 1 {
		t.Errorf("told: %v", got)
	}
}
