//go:build linux

package cmd_test

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
)

// finishes returns the processes of this box that finish a run.
func (b *box) finishes() (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		args := strings.Split(string(text), "\x00")
		if len(args) < 2 || args[0] != binary || args[1] != "finish" {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(line), "environ"))
		if strings.Contains(string(environ), "SCHED_STATE="+b.path(".sched")+"\x00") {
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
	for _, line := range strings.Split(b.read("web.log"), "\n") {
		if _, path, some := strings.Cut(line, " "); some {
			told[path]++
		}
	}
	return told
}

// undelivered returns how many notifications wait.
func (b *box) undelivered() int {
	db, err := state.OpenRead(b.path(".sched"), state.Patience)
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
	w := newWeb(b.dir)
	if err := w.up(); err != nil {
		t.Fatal(err)
	}
	defer w.down()
	defer w.letGo()
	schedule := fmt.Sprintf(`
tasks:
  - name: hooked
    cron: "* * * * *"
    background: true
    command: "true"
    after: [{webhook: "http://%[1]s/ok"}, {webhook: "http://%[1]s/hang"}, echo >> hooks.txt]
`, w.addr)
	b.write("schedule.yaml", schedule)
	b.sched("run")
	b.until("both were asked", func() bool { return len(b.told()) == 2 })
	b.until("the first was delivered", func() bool { return b.undelivered() == 1 })
	finish := b.finishes()
	if len(finish) != 1 {
		t.Fatalf("processes that finish: %v", finish)
	}
	b.kill(finish[0])
	b.gone(finish[0])
	if r := b.outcome("hooked", 1); r.Outcome != "succeeded" {
		t.Errorf("the record waited for the server: %+v", r)
	}
	b.write("schedule.yaml", "tasks: []\n")
	tick := b.command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.until("it is asked again", func() bool { return b.told()["/hang"] == 2 })
	w.letGo()
	tick.Wait()
	b.sched("run")
	if got := b.told(); got["/ok"] != 1 || got["/hang"] != 2 || b.undelivered() != 0 || b.count("hooks.txt") != 1 {
		t.Errorf("%v, hooks %d, %d wait", got, b.count("hooks.txt"), b.undelivered())
	}
}

// Many runs end, and each finish is killed at a random moment. Each run is told; only the message
// that a killed finish was sending at that moment may be sent twice. The test runs alone: on a busy
// machine a finish was over before it was seen.
func TestFinishIsKilledAnywhereAndNothingIsLost(t *testing.T) {
	unhurried(t, func(slow func(string, ...any)) { finishIsKilledAnywhere(t, slow) })
}

func finishIsKilledAnywhere(t *testing.T, slow func(string, ...any)) {
	const runs = 40
	b := newBox(t, "")
	w := newWeb(b.dir)
	if err := w.up(); err != nil {
		t.Fatal(err)
	}
	defer w.down()
	schedule := "tasks:\n"
	for i := range runs {
		schedule += fmt.Sprintf(`  - name: task-%[1]d
    cron: "* * * * *"
    background: true
    command: "true"
    on_success: {webhook: "http://%[2]s/ok/%[1]d/a"}
    after: [{webhook: "http://%[2]s/ok/%[1]d/b"}, {webhook: "http://%[2]s/ok/%[1]d/c", at_most: 1 per 1h}]
`, i, w.addr)
	}
	b.write("schedule.yaml", schedule)
	over := make(chan struct{})
	go func() { defer close(over); b.command("run").Run() }()
	random, seen, killed := rand.New(rand.NewPCG(1, 2)), map[int]bool{}, 0
	b.untilAtOnce("all have ended", func() bool {
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
	b.write("schedule.yaml", "tasks: []\n")
	b.until("all is told", func() bool {
		b.sched("run")
		return b.openRuns() == "" && len(b.told()) == 3*runs
	})
	b.sched("run")
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
		if strings.Contains(string(environ), "SCHED_STATE="+b.path(".sched")+"\x00") {
			return true
		}
	}
	return false
}

// A run that began when there was room ends on a full disk: what it has to tell is told all the
// same.
func TestTheDiskFillsUpBeforeSomebodyIsTold(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "1m")
	b := newBox(t, "")
	w := newWeb(b.dir)
	if err := w.up(); err != nil {
		t.Fatal(err)
	}
	defer w.down()
	b.write("schedule.yaml", fmt.Sprintf(`
state_dir: %[1]s/state
tasks:
  - name: back
    cron: "* * * * *"
    background: true
    command: echo began >> began.txt; await go; exit 3
    on_failure: [{webhook: "http://%[2]s/ok/a"}, {webhook: "http://%[2]s/ok/b", at_most: 1 per 1h}]
`, dir, w.addr))
	b.sched("run")
	b.lineIn("began.txt")
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	b.write("go", "")
	b.until("both are told", func() bool { return len(b.told()) == 2 })
	os.Remove(filler)
	b.write("schedule.yaml", "state_dir: "+dir+"/state\ntasks: []\n")
	b.until("the history has the run", func() bool {
		b.sched("run")
		return len(b.history("back")) == 1
	})
	if got := b.told(); got["/ok/a"] != 1 || got["/ok/b"] != 1 {
		t.Errorf("told: %v", got)
	}
}
