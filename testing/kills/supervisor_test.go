//go:build linux

package kills_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/schedtest"
)

// company is a schedule of background tasks of all kinds, due together. Each command waits for the
// file "go", and ends with the number of its task. These tasks differ:
//   - late1 to late5 never end, and have a timeout,
//   - again1 to again5 fail at first, and wait then in their second attempt,
//   - waits1 to waits5 fail at first, and their second attempt comes six seconds later,
//   - first1 to first5 wait in a hook before the command.
func company() string {
	var all strings.Builder
	all.WriteString("defaults: {background: true, without_overlapping: true, kill_after: 1s, after: 'echo $SCHED_TASK $SCHED_OUTCOME $SCHED_EXIT_CODE >> after.txt'}\ntasks:\n")
	add := func(name, rest, command string) {
		fmt.Fprintf(&all, "  - name: %s\n    cron: '* * * * *'\n%s    command: |\n      echo $PPID > supervisor.pid; echo $SCHED_TASK $SCHED_ATTEMPT >> started.txt\n      %s\n", name, rest, command)
	}
	const wait = "await go; "
	for n := 1; n <= 30; n++ {
		add(fmt.Sprint("job", n), "", fmt.Sprint(wait, "exit ", n))
	}
	for n := 1; n <= 5; n++ {
		add(fmt.Sprint("late", n), "    timeout: 6s\n", "exec sleep 60")
		add(fmt.Sprint("again", n), "    retry: {attempts: 2, delay: 10ms}\n",
			fmt.Sprint("[ $SCHED_ATTEMPT = 2 ] || exit 1; ", wait, "exit ", 50+n))
		add(fmt.Sprint("waits", n), "    retry: {attempts: 2, delay: 6s}\n",
			fmt.Sprint("[ $SCHED_ATTEMPT = 2 ] || exit 1; exit ", 60+n))
		add(fmt.Sprint("first", n), "    before: ['echo $SCHED_TASK >> before.txt; "+wait+"', 'echo second >> before.txt']\n", fmt.Sprint("exit ", 70+n))
	}
	return all.String()
}

// expected is what company comes to.
func expected() (all []string) {
	for n := 1; n <= 30; n++ {
		all = append(all, fmt.Sprintf("job%d failed %d", n, n))
	}
	for n := 1; n <= 5; n++ {
		all = append(all, fmt.Sprintf("late%d timed out 143", n), fmt.Sprintf("again%d failed %d", n, 50+n),
			fmt.Sprintf("waits%d failed %d", n, 60+n), fmt.Sprintf("first%d failed %d", n, 70+n))
	}
	slices.Sort(all)
	return all
}

// together starts company, and returns when each of its commands waits, or waits for its next
// attempt.
func together(t *testing.T) *box {
	machine.Turn(t)
	b := newBox(t, company())
	t.Cleanup(func() { // what a failed test leaves would slow down the next ones
		for _, pid := range schedtest.Children("", b.Dir) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	b.Sched("run")
	b.Until("all have started", func() bool { return b.Count("started.txt") == 50 && b.Count("before.txt") == 5 })
	b.Until("that is written down", func() bool {
		return !slices.ContainsFunc(schedtest.OpenRows(b.Path(".sched")), func(r state.Row) bool {
			starts := r.Phase == state.Running && r.Attempt.PID == 0 // it is about to
			retried := strings.HasPrefix(r.Task, "waits") || strings.HasPrefix(r.Task, "again")
			return starts || retried && !r.BetweenAttempts() && r.Attempt.Number < 2
		})
	})
	return b
}

// allWell checks the outcomes of company when all of it is over.
func (b *box) allWell(witness int) {
	b.Helper()
	b.Until("all is over", func() bool { return b.Count("after.txt") >= 50 })
	b.Gone(witness)
	outcomes := strings.Split(strings.TrimSpace(b.Read("after.txt")), "\n")
	slices.Sort(outcomes)
	if want := expected(); !slices.Equal(outcomes, want) {
		b.Errorf("outcomes\n%s\nand not\n%s", strings.Join(outcomes, "\n"), strings.Join(want, "\n"))
	}
	if b.Count("started.txt") != 60 || b.Count("before.txt") != 10 {
		b.Errorf("%d commands were started, and %d hooks before them", b.Count("started.txt"), b.Count("before.txt"))
	}
	for _, r := range b.History("") {
		if r.ExitCode == nil {
			b.Errorf("%s %s: %s", r.Task, r.Outcome, r.Reason)
		}
		if strings.HasPrefix(r.Task, "late") && (r.Duration < 5.9 || r.Duration > 20) {
			b.Errorf("%s, with a timeout of 6 s, took %.1f s", r.Task, r.Duration)
		}
		if len(r.Notes) > 0 || strings.HasPrefix(r.Task, "again") && r.Attempts != 2 {
			b.Errorf("%+v", r)
		}
	}
	if out, _ := b.Sched("unlock", "--all"); out != "nothing is locked\n" {
		b.Errorf("locks stayed: %s", out)
	}
	// A finish removes its own after the last hook has written.
	b.Until("no file of an owner stays", func() bool {
		files, _ := filepath.Glob(b.Path(".sched/locks/owner-*"))
		return len(files) == 0
	})
}

func TestASupervisorOfFiftyCommandsIsKilled(t *testing.T) {
	t.Parallel()
	b := together(t)
	supervisor := b.PidIn("supervisor.pid")
	witness := schedtest.Parent(t, supervisor)
	b.Kill(supervisor)
	b.Gone(supervisor)
	b.Write("go", "")
	b.allWell(witness)
}

// A supervisor that stands still sees no command end. Then it goes on, or is killed. Each run has
// its own exit code all the same, and a run that took too long has timed out.
func TestASupervisorThatStandsStill(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	for _, signal := range []syscall.Signal{syscall.SIGCONT, syscall.SIGKILL} {
		b := together(t)
		supervisor := b.PidIn("supervisor.pid")
		witness := schedtest.Parent(t, supervisor)
		syscall.Kill(supervisor, syscall.SIGSTOP)
		b.Until("it stands still", func() bool { return standsStill(supervisor) })
		b.Write("go", "")
		b.Until("the commands have ended", func() bool { return len(schedtest.Children("sleep 0.05", b.Dir)) == 0 })
		if n := b.Count("after.txt"); n != 0 {
			b.Errorf("%d runs were finished by nobody", n)
		}
		syscall.Kill(supervisor, signal)
		b.allWell(witness)
	}
}

// A command that ended before the supervisor was killed has ended by itself, even if its timeout
// passed while nobody looked. A command that the supervisor was about to end has timed out, though
// it ends with a code of its own.
func TestWhatEndedUnderAKilledSupervisorWithATimeout(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	const wait = "await go; "
	b := newBox(t, `
defaults: {background: true, after: 'echo $SCHED_TASK $SCHED_OUTCOME $SCHED_EXIT_CODE >> after.txt'}
tasks:
  - {name: ended, cron: "* * * * *", timeout: 15s, command: "echo $PPID > supervisor.pid; `+wait+`exit 7"}
  - {name: late, cron: "* * * * *", timeout: 2s, kill_after: 10m, command: "trap 'touch term' TERM; `+wait+`exit 9"}
`)
	begun := time.Now()
	b.Sched("run")
	supervisor := b.PidIn("supervisor.pid")
	b.Until("the late one was told to end", func() bool { _, err := os.Stat(b.Path("term")); return err == nil })
	syscall.Kill(supervisor, syscall.SIGSTOP)
	b.Until("it stands still", func() bool { return standsStill(supervisor) })
	b.Write("go", "")
	b.Until("both have ended, and their timeouts are over", func() bool {
		return time.Since(begun) > 17*time.Second && len(schedtest.Children("sleep 0.05", b.Dir)) == 0
	})
	b.Kill(supervisor)
	b.Until("both runs are finished", func() bool { return b.Count("after.txt") == 2 })
	for _, want := range []string{"ended failed 7\n", "late timed out 9\n"} {
		if got := b.Read("after.txt"); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// The disk gets full after runs have begun, and before their commands start. The starts are known
// all the same: nothing starts twice when the supervisor is killed.
func TestTheDiskIsFullWhenCommandsStart(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	dir := schedtest.SmallDisk(t, "4m")
	const n = 16
	schedule := "state_dir: " + dir + "/state\ntasks:\n"
	for i := range n { // with files of many sizes: some have a page with room for one more event, some have not
		schedule += fmt.Sprintf(`  - name: back-%d
    cron: "* * * * *"
    background: true
    env: {PADDING: "%s"}
    before: echo before >> before.txt; await full; cat /dev/zero 2>/dev/null >> %s/filler; true
    command: echo $PPID > supervisor.pid; echo began >> began.txt; await go
    after: echo $SCHED_OUTCOME >> after.txt
`, i, strings.Repeat("x", 256*i), dir)
	}
	b := newBox(t, schedule)
	b.Sched("run") // hands all of them over, and is gone when the disk gets full: else it would run some itself
	b.Write("full", "")
	b.Until("all have begun", func() bool { return b.Count("began.txt") == n })
	supervisor := b.PidIn("supervisor.pid")
	witness := schedtest.Parent(t, supervisor)
	b.Kill(supervisor)
	b.Gone(supervisor)
	b.Until("the witness watches all commands", func() bool { return watches(witness) >= n })
	b.Write("go", "")
	b.Until("all have ended", func() bool { return b.Count("after.txt") >= n })
	if before, began := b.Count("before.txt"), b.Count("began.txt"); before != n || began != n {
		t.Errorf("%d hooks and %d commands were started, and not %d", before, began, n)
	}
	if after := b.Read("after.txt"); strings.Count(after, "succeeded\n") != n {
		t.Error(after)
	}
}

// watches returns how many descriptors a process has that stand for others (pidfd_open(2)).
func watches(pid int) (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if target, _ := os.Readlink(file); strings.Contains(target, "pidfd") {
			n++
		}
	}
	return n
}

// standsStill reports whether no thread of a process runs.
func standsStill(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return !slices.ContainsFunc(threads, func(thread string) bool {
		stat, err := os.ReadFile(thread)
		return err == nil && !strings.Contains(string(stat), ") T ")
	})
}

// A process that a command leaves behind becomes a child of the witness. When it ends it is no
// zombie for the time in which other commands run.
func TestTheWitnessTakesAwayWhatOrphansLeave(t *testing.T) {
	t.Parallel()
	b := newBox(t, victim+`
  - name: parent
    cron: "* * * * *"
    background: true
    command: sleep 0.2 & echo $! > orphan.pid
`)
	b.Sched("run")
	orphan, witness := b.PidIn("orphan.pid"), schedtest.Parent(t, b.PidIn("supervisor.pid"))
	b.Until("it is no zombie", func() bool { _, err := os.Stat(fmt.Sprintf("/proc/%d", orphan)); return err != nil })
	b.Write("go", "")
	if r := b.Outcome("victim", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
	b.Gone(witness)
}

// All processes that saw the commands start are gone. The next tick ends the commands, and finishes
// their runs.
func TestAllWhoWatchedFiftyCommandsAreKilled(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	b := together(t)
	supervisor := b.PidIn("supervisor.pid")
	witness := schedtest.Parent(t, supervisor)
	b.Kill(supervisor)
	b.Gone(supervisor)
	b.Until("the witness is a supervisor", func() bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", witness))
		return strings.Contains(string(line), "--tick")
	})
	b.Kill(witness)
	b.Gone(witness)
	b.Write("schedule.yaml", "tasks: []\n")
	b.Until("the runs are lost", func() bool {
		b.Sched("run")
		return b.Count("after.txt") >= 50
	})
	for line := range strings.Lines(b.Read("after.txt")) {
		// for its next attempt, which it got
		waited := strings.HasPrefix(line, "waits") && strings.Contains(line, " failed ")
		if !strings.HasSuffix(line, " lost\n") && !waited {
			t.Error(line)
		}
	}
	if len(schedtest.Children("sleep", b.Dir)) > 0 {
		t.Errorf("commands live on: %v", schedtest.Children("sleep", b.Dir))
	}
}

// The hooks and the mail of one run delay no other: a hook that hangs, an output on a named pipe
// without a reader, a command that ignores TERM.
func TestARunThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	b := newBox(t, `
mail: {url: "smtp://`+silent.Addr().String()+`", from: sched@example.com}
defaults: {background: true}
tasks:
  - {name: hook, cron: "* * * * *", command: "true", after: sleep 600}
  - {name: mail, cron: "* * * * *", command: "true", after: {mail: someone@example.com}}
  - {name: pipe, cron: "* * * * *", command: echo text, output: {file: pipe}}
  - {name: deaf, cron: "* * * * *", command: "trap '' TERM; while :; do sleep 0.1; done", timeout: 100ms, kill_after: 10m}
  - {name: quick, cron: "* * * * *", command: sleep 0.3, after: echo done >> after.txt}
`)
	if err := syscall.Mkfifo(b.Path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	b.Sched("run")
	b.Until("the other one is over", func() bool { return b.Count("after.txt") == 1 })
	if took := time.Since(begun); took > 25*time.Second { // the copy to the pipe is given up after 30 s
		t.Errorf("it took %s", took)
	}
	for _, pid := range schedtest.Children("sleep", b.Dir) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, task := range []string{"deaf"} {
		b.Sched("stop", task)
	}
	silent.Close()
	// or it waits for a copy that was given up
	reader, err := os.OpenFile(b.Path("pipe"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	b.Settle()
}

// A process may have 128 descriptors, too few for sixty runs: several supervisors share them.
func TestMoreRunsThanOneSupervisorMayHave(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	var tasks strings.Builder
	tasks.WriteString("tasks:\n")
	for n := range 60 {
		fmt.Fprintf(&tasks, "  - {name: job%d, cron: '* * * * *', background: true, without_overlapping: true, command: 'echo $PPID >> supervisors.txt; await go', after: echo $SCHED_OUTCOME >> after.txt}\n", n)
	}
	b := newBox(t, tasks.String())
	c := b.Command("run")
	c.Args = []string{"sh", "-c", `ulimit -n 128; exec "$0" run`, c.Path}
	c.Path = "/bin/sh"
	if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), "started in the background") != 60 {
		t.Fatalf("%v\n%s", err, out)
	}
	b.Until("all run", func() bool { return b.Count("supervisors.txt") == 60 })
	of := map[string]int{}
	for line := range strings.Lines(b.Read("supervisors.txt")) {
		of[line]++
	}
	if len(of) != 8 { // (128 - 64) / 8 runs each
		t.Errorf("there are %d supervisors: %v", len(of), of)
	}
	b.Write("go", "")
	b.Until("all are over", func() bool { return b.Count("after.txt") == 60 })
	if after := b.Read("after.txt"); strings.Count(after, "succeeded\n") != 60 {
		t.Error(after)
	}
}

// A tick that has other things to do reads none of what the supervisor says to it: the runs of a
// minute go on nevertheless.
func TestATickThatReadsNoAnswersDelaysNoRun(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	b := newBox(t, `
tasks:
  - {name: reading, cron: "* * * * *", command: 'await go'}
  - group: often
    every: second
    background: true
    command: echo >> started.txt
    after: echo $SCHED_OUTCOME >> after.txt
    tasks: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}]
`)
	const all = 7 * 60
	c := b.Command("run", "--at", time.Now().UTC().Format(time.RFC3339)) // which waits for no second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer b.Write("go", "")
	b.Until("all are over while the tick waits", func() bool { return b.Count("after.txt") == all })
	if after := b.Read("after.txt"); strings.Count(after, "succeeded\n") != all || b.Count("started.txt") != all {
		t.Errorf("%d were started, and ended so:\n%s", b.Count("started.txt"), after)
	}
}

// Slots of later seconds of the minute go to the supervisor that is there already. If that
// supervisor is killed with its witness, the next slot starts another one.
func TestSlotsOfLaterSecondsHaveTheSameSupervisor(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: often, cron: "54-59 * * * * *", background: true, command: echo $PPID >> supervisors.txt}
`)
	_, end := b.Begin("2026-01-01T10:00:53Z")
	b.Until("three of six have run", func() bool { return b.Count("supervisors.txt") == 3 && b.OpenRuns() == "" })
	supervisor := b.PidIn("supervisors.txt")
	witness := schedtest.Parent(t, supervisor)
	b.Kill(witness)
	b.Kill(supervisor)
	end()
	b.Until("all have run", func() bool { return b.Count("supervisors.txt") == 6 })
	pids := strings.Fields(b.Read("supervisors.txt"))
	if slices.Sort(pids); len(slices.Compact(slices.Clone(pids))) != 2 || pids[0] != pids[2] || pids[3] != pids[5] {
		t.Errorf("supervisors: %v", pids)
	}
}
