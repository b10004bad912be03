//go:build linux

package cmd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sched/schedule/state"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A run of this task says who is who: $PPID of the command is its supervisor, whose parent is the
// witness. It lasts until it is killed, or the file "go" is there.
const victim = `
tasks:
  - name: victim
    cron: "* * * * *"
    background: true
    without_overlapping: true
    kill_after: 1s
    command: |
      echo $$ > command.tmp; echo $PPID > supervisor.pid; mv command.tmp command.pid
      await go
      echo finished the work
    on_failure: echo $SCHED_OUTCOME $SCHED_EXIT_CODE >> failure.txt
    on_success: echo $SCHED_OUTCOME >> success.txt
    after: echo $SCHED_OUTCOME >> after.txt
`

func parent(t *testing.T, pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// free checks that the mutex of the task can be taken: its next run is not skipped.
func (b *box) free(task string) {
	b.Helper()
	b.write("go", "")
	if out, _ := b.sched("run", "--only", task); strings.Contains(out, "skipped") {
		b.Fatalf("the lock of %s stayed:\n%s", task, out)
	}
}

// start starts a run of the victim. Its supervisor has written down which process the command is: a
// command that ends before that is lost with its supervisor.
func start(t *testing.T) (b *box, witness, supervisor, command int) {
	b = newBox(t, victim)
	b.sched("run")
	command = b.pidIn("command.pid")
	supervisor = b.pidIn("supervisor.pid")
	b.untilWrittenDown(command)
	return b, parent(t, supervisor), supervisor, command
}

// untilWrittenDown waits until the row of a run says that the process is its command.
func (b *box) untilWrittenDown(command int) {
	b.until("the process is written down", func() bool {
		return slices.ContainsFunc(openRows(b.path(".sched")),
			func(r state.Row) bool { return r.Attempt.PID == command })
	})
}

func (b *box) untilHookWrittenDown(hook int) {
	b.until("the process of the hook is written down", func() bool {
		db, err := state.OpenRead(b.path(".sched"), state.Patience)
		if err != nil {
			return false
		}
		defer db.Close()
		live, _, _ := db.LiveAndLost(context.Background())
		return slices.ContainsFunc(live, func(r state.Row) bool {
			hooks, _ := db.Hooks(context.Background(), r.ID)
			return slices.ContainsFunc(hooks, func(h state.Hook) bool { return h.PID == hook })
		})
	})
}

func TestTheCommandIsKilled(t *testing.T) {
	t.Parallel()
	b, _, _, command := start(t)
	b.kill(command)
	if r := b.outcome("victim", 1); r.Outcome != "failed" || *r.ExitCode != 137 {
		t.Errorf("outcome %s, exit code %d", r.Outcome, *r.ExitCode)
	}
	if b.count("after.txt") != 1 || b.read("failure.txt") != "failed 137\n" {
		t.Errorf("after %q, failure %q", b.read("after.txt"), b.read("failure.txt"))
	}
	b.free("victim")
}

// The supervisor is hit, and the command does not notice: the witness goes on with the command, as
// its parent.
func TestTheSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	b.kill(supervisor)
	b.gone(supervisor)
	if out, _ := b.sched("run", "--at", thisMinute()); !strings.Contains(out, "skipped: still running") {
		t.Errorf("the run did not keep its mutex:\n%s", out)
	}
	if parent(t, command) != witness {
		t.Errorf("the parent of the command is %d, not its witness %d", parent(t, command), witness)
	}
	b.write("go", "")
	b.until("the run is over", func() bool { return b.count("after.txt") == 1 })
	b.outcome("victim", 2) // the hooks come before the record
	if r := b.history("victim")[1]; r.Outcome != "succeeded" || *r.ExitCode != 0 ||
		r.Attempts != 1 || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	if b.count("success.txt") != 1 || b.count("failure.txt") != 0 {
		t.Errorf("success %q, failure %q", b.read("success.txt"), b.read("failure.txt"))
	}
	b.gone(witness)
	b.free("victim")
}

// A supervisor that crashes ends with exit code 2, as when it gets no thread (here SIGABRT does
// it). The exit code is not its command's: a task with this success code once succeeded so. The
// trace stays in the file of the supervisor.
func TestTheSupervisorCrashes(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
defaults: {background: true, success_codes: [0, 2], after: 'echo $SCHED_OUTCOME code=$SCHED_EXIT_CODE >> after.txt'}
tasks:
  - {name: before, cron: "0 0 1 1 *", before: [echo first >> before.txt, "echo $$ > hook.pid; kill -ABRT $PPID; await go; echo second >> before.txt", echo third >> before.txt], command: exit 3}
  - {name: during, cron: "0 0 1 1 *", command: 'echo $$ > command.pid; kill -ABRT $PPID; await go; exit 4'}
`)
	for i, task := range []string{"before", "during"} {
		os.Remove(b.path("go"))
		b.sched("run", "--at", "2026-01-01T00:00:00Z", "--only", task)
		// The supervisor may have crashed before it wrote down the process, which its witness then
		// looks for.
		if task == "before" {
			b.untilHookWrittenDown(b.pidIn("hook.pid"))
		} else {
			b.untilWrittenDown(b.pidIn("command.pid"))
		}
		b.write("go", "")
		if r := b.outcome(task, 1); r.Outcome != "failed" || r.ExitCode == nil || *r.ExitCode != 3+i {
			t.Errorf("%s: %+v", task, r)
		}
	}
	if b.read("after.txt") != "failed code=3\nfailed code=4\n" || b.read("before.txt") != "first\nsecond\nthird\n" {
		t.Errorf("after %q, before %q", b.read("after.txt"), b.read("before.txt"))
	}
	traces, _ := filepath.Glob(b.path(".sched/locks/owner-*"))
	if len(traces) != 2 || !strings.Contains(b.read(strings.TrimPrefix(traces[0], b.dir+"/")), "SIGABRT") {
		t.Errorf("traces: %q", traces)
	}
}

// The command ends after its supervisor was killed, and before its witness looks. The witness finds
// its exit code all the same.
func TestTheCommandEndsAfterItsSupervisorWasKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	syscall.Kill(witness, syscall.SIGSTOP)
	b.kill(supervisor)
	b.gone(supervisor)
	b.write("go", "")
	b.gone(command)
	syscall.Kill(witness, syscall.SIGCONT)
	if r := b.outcome("victim", 1); r.Outcome != "succeeded" || *r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	if b.read("after.txt") != "succeeded\n" {
		t.Errorf("after %q", b.read("after.txt"))
	}
}

// The supervisor goes on without its witness, to the end.
func TestTheWitnessIsKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, _ := start(t)
	b.kill(witness)
	b.gone(witness)
	b.write("go", "")
	if r := b.outcome("victim", 1); r.Outcome != "succeeded" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	b.gone(supervisor)
	if b.count("after.txt") != 1 || b.count("failure.txt") != 0 || b.count("success.txt") != 1 {
		t.Errorf("after %q, failure %q, success %q", b.read("after.txt"), b.read("failure.txt"), b.read("success.txt"))
	}
	b.free("victim")
}

func TestTheWholeTreeIsKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	for _, pid := range []int{witness, supervisor, command} {
		b.kill(pid)
	}
	for _, pid := range []int{witness, supervisor, command} {
		b.gone(pid)
	}
	// The next tick, in a minute in which nothing is due, tells the truth and fires the hooks,
	// once.
	b.write("schedule.yaml", strings.Replace(victim, `"* * * * *"`, `"0 0 1 1 *"`, 1))
	out, _ := b.sched("run", "--at", "2026-03-03T03:03:00Z")
	if !strings.Contains(out, "victim  lost: ") {
		t.Errorf("the tick did not say that the run was lost:\n%s", out)
	}
	b.sched("run", "--at", "2026-03-03T03:04:00Z")
	if r := b.outcome("victim", 1); r.Outcome != "lost" || r.ExitCode != nil {
		t.Errorf("%+v", r)
	}
	if b.read("failure.txt") != "lost\n" || b.read("after.txt") != "lost\n" {
		t.Errorf("after %q, failure %q", b.read("after.txt"), b.read("failure.txt"))
	}
	b.write("schedule.yaml", victim)
	b.free("victim")
}

// Without witness and supervisor nobody watches the command that lives on; the next tick ends it.
func TestOnlyTheCommandSurvives(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	b.kill(witness)
	b.kill(supervisor)
	b.gone(witness)
	b.gone(supervisor)
	if out, _ := b.sched("run", "--at", thisMinute()); !strings.Contains(out, "skipped: still running") {
		t.Errorf("a living command did not keep its lock:\n%s", out)
	}
	b.gone(command)
	b.until("the run is lost", func() bool { return b.read("after.txt") == "lost\n" })
	b.free("victim")
}

// A living command is found by the id of its run, even if it has only the lock of the run open, or
// not even the lock. The mutex is not free while the command lives, and no second copy starts
// beside it.
func TestOnlyACommandThatPrintsElsewhereSurvives(t *testing.T) {
	t.Parallel()
	for _, redirection := range []string{">> log 2>&1", ">> log 2>&1 3>&-"} {
		b := newBox(t, `
tasks:
  - name: job
    cron: "* * * * *"
    background: true
    without_overlapping: true
    command: |
      echo $PPID > supervisor.pid; echo $$ > command.pid
      exec sh -c 'trap "" TERM; mkdir alone || echo two copies >> copies.txt; while [ ! -e go ]; do sleep 0.02; done; rmdir alone' `+redirection+`
    kill_after: 200ms
    after: rmdir alone; echo $SCHED_OUTCOME $SCHED_REASON >> after.txt
`)
		b.sched("run")
		supervisor, command := b.pidIn("supervisor.pid"), b.pidIn("command.pid")
		witness := parent(t, supervisor)
		b.until("it prints elsewhere", func() bool { _, err := os.Stat(b.path("alone")); return err == nil })
		b.kill(witness)
		b.kill(supervisor)
		b.gone(witness)
		b.gone(supervisor)
		if out, _ := b.sched("run", "--at", thisMinute()); !strings.Contains(out, "skipped: still running") {
			t.Errorf("%s: a living command did not keep its mutex:\n%s", redirection, out)
		}
		b.gone(command)
		b.until("the lost run is finished", func() bool { return b.count("after.txt") == 1 })
		if b.read("after.txt") != "lost nobody watched it any more, so what was left of its command was ended\n" {
			t.Errorf("%s: after %q", redirection, b.read("after.txt"))
		}
		b.free("job")
		if b.read("copies.txt") != "" {
			t.Errorf("%s: two copies ran at once", redirection)
		}
	}
}

func TestTheTickIsKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1)+`
  - name: next
    cron: "* * * * *"
    command: echo never
`)
	tick := b.command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.pidIn("command.pid")
	b.kill(tick.Process.Pid)
	tick.Wait()
	b.sched("run", "--only", "next") // the next tick
	b.gone(command)
	if r := b.outcome("victim", 1); r.Outcome != "lost" {
		t.Errorf("%+v", r)
	}
	if b.read("after.txt") != "lost\n" || b.count("failure.txt") != 1 {
		t.Errorf("after %q, failure %q", b.read("after.txt"), b.read("failure.txt"))
	}
	b.free("victim")
}

// A finish that dies while a hook runs has fired it: the finish that comes after it goes on with
// the next one.
func TestFinishIsKilledBetweenTwoHooks(t *testing.T) {
	t.Parallel()
	finishIsKilledBetweenTwoHooks(t, "")
}

// A finish that was killed is continued in the same way if the hooks may not write into the file of
// the run themselves.
func TestFinishIsKilledBetweenTwoHooksOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	finishIsKilledBetweenTwoHooks(t, "user: daemon")
}

func finishIsKilledBetweenTwoHooks(t *testing.T, user string) {
	b := newBox(t, `
tasks:
  - name: hooked
    cron: "* * * * *"
    background: true
    `+user+`
    command: "true"
    after:
      - echo $PPID > finish.pid; echo one >> hooks.txt; sleep 3
      - echo two >> hooks.txt
`)
	os.Chmod(filepath.Dir(b.dir), 0o711)
	os.Chmod(b.dir, 0o777|os.ModeSticky)
	b.sched("run")
	finish := b.pidIn("finish.pid")
	b.until("finish has written the process of its hook down", func() bool { return b.hookForked("hooked") })
	b.kill(finish)
	b.gone(finish)
	b.write("schedule.yaml", "tasks: []\n")
	b.sched("run")
	if got := b.read("hooks.txt"); got != "one\ntwo\n" {
		t.Errorf("hooks.txt: %q", got)
	}
	b.sched("run")
	if got := b.read("hooks.txt"); got != "one\ntwo\n" {
		t.Errorf("hooks fired twice: %q", got)
	}
}

// A finish that was stopped when its parent ended gets a SIGHUP, and goes on.
func TestAHangupDoesNotEndAFinish(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: hooked
    cron: "* * * * *"
    background: true
    command: "true"
    after:
      - kill -STOP $PPID; kill -HUP $PPID; kill -CONT $PPID; echo one >> hooks.txt
      - echo two >> hooks.txt
`)
	b.sched("run")
	if r := b.outcome("hooked", 1); r.Outcome != "succeeded" || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	b.settle()
	if got := b.read("hooks.txt"); got != "one\ntwo\n" {
		t.Errorf("hooks.txt: %q", got)
	}
}

// The row of a run is gone with the database. Its process adds it again, and hooks fire as ever.
func TestHooksFireThoughTheDatabaseIsGone(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: hooked
    cron: "* * * * *"
    command: rm .sched/sched.db*
    on_success: echo $SCHED_OUTCOME >> hooks.txt
    after: echo after >> hooks.txt
`)
	b.sched("run")
	if got := b.read("hooks.txt"); got != "succeeded\nafter\n" {
		t.Errorf("hooks.txt: %q", got)
	}
}

func TestADaemonLeftBehindKeepsNoLock(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: starter
    cron: "* * * * *"
    background: true
    without_overlapping: true
    command: sleep 300 & echo $! > daemon.pid
    after: echo done >> after.txt
`)
	b.sched("run")
	daemon := b.pidIn("daemon.pid")
	defer syscall.Kill(daemon, syscall.SIGKILL)
	b.until("finish came", func() bool { return b.count("after.txt") == 1 })
	b.outcome("starter", 1)
	if !alive(daemon) {
		t.Fatal("the daemon was ended with its task")
	}
	if out, _ := b.sched("run", "--at", thisMinute()); strings.Contains(out, "skipped") {
		t.Errorf("the daemon keeps the lock:\n%s", out)
	}
	b.until("the second run finished", func() bool { return b.count("after.txt") == 2 })
	syscall.Kill(b.pidIn("daemon.pid"), syscall.SIGKILL)
}

// A daemon that has shed the id of its run is not found, and has the lock of the run. The finish of
// the lost run breaks that lock.
func TestALostRunWithADaemonKeepsNoLock(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: starter
    cron: "* * * * *"
    background: true
    without_overlapping: true
    command: env -u SCHED_RUN setsid sleep 300 & echo $! > daemon.pid; echo $$ > command.pid; echo $PPID > supervisor.pid; sleep 300
    after: echo $SCHED_OUTCOME >> after.txt
`)
	b.sched("run")
	command, daemon, supervisor := b.pidIn("command.pid"), b.pidIn("daemon.pid"), b.pidIn("supervisor.pid")
	defer syscall.Kill(daemon, syscall.SIGKILL)
	witness := parent(t, supervisor)
	b.kill(witness)
	b.kill(supervisor)
	b.gone(witness)
	b.gone(supervisor)
	b.sched("run", "--at", thisMinute())
	b.until("the lost run is finished", func() bool { return b.read("after.txt") == "lost\n" })
	b.gone(command)
	os.Remove(b.path("command.pid"))
	if out, _ := b.sched("run", "--at", thisMinute()); strings.Contains(out, "skipped") {
		t.Fatalf("a lost run keeps its lock:\n%s", out)
	}
	b.kill(b.pidIn("command.pid"))
	for _, pid := range children("sleep 300", b.dir) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// children returns the processes with the command line that have the folder as their own.
func children(line, dir string) (pids []int) {
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

// Cron waits until nobody has its pipe open. A tick that only forks closes the pipe at once.
func TestBackgroundTasksDoNotKeepThePipeOfCron(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: long
    cron: "* * * * *"
    background: true
    command: echo started >> started.txt; await go
`)
	tick := b.command("run")
	out, err := tick.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	tick.Stderr = tick.Stdout
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		buf := make([]byte, 4096)
		for {
			if _, err := out.Read(buf); err != nil {
				return
			}
		}
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("the pipe stayed open while the task ran")
	}
	b.lineIn("started.txt")
	b.write("go", "")
	b.outcome("long", 1)
	tick.Wait()
}

func TestSIGTERMStopsTheRunningTaskAndStartsNoOther(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1)+`
  - name: next
    cron: "* * * * *"
    command: echo never > next.txt
`)
	tick := b.command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.pidIn("command.pid")
	tick.Process.Signal(syscall.SIGTERM)
	tick.Wait()
	if code := tick.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if alive(command) {
		t.Error("the command lives on")
	}
	if r := b.outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "by SIGTERM" {
		t.Errorf("%+v", r)
	}
	if r := b.outcome("next", 1); r.Outcome != "skipped" || b.read("next.txt") != "" {
		t.Errorf("%+v", r)
	}
	if b.read("after.txt") != "stopped\n" {
		t.Errorf("after %q", b.read("after.txt"))
	}
	b.free("victim")
}

// A command that ignores TERM is killed after kill_after, with all that it started. A tick whose
// copy of an output goes to a named pipe without a reader ends soon after SIGTERM, and the finish
// of such a run leaves the tasks after it alone: by itself the copy ends after 30 s.
func TestSIGTERMEndsTheCopyToAPipeWithoutAReader(t *testing.T) {
	t.Parallel()
	users := []string{""}
	if os.Geteuid() == 0 {
		users = append(users, "user: daemon, ")
	}
	for _, user := range users {
		b := newBox(t, `
tasks:
  - {name: piped, `+user+`cron: "* * * * *", command: echo hello, output: pipe, after: echo $SCHED_OUTCOME >> after.txt}
  - {name: next, cron: "* * * * *", command: echo never > next.txt}
`)
		if err := syscall.Mkfifo(b.path("pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		b.write("after.txt", "")
		for _, name := range []string{"pipe", "after.txt"} {
			os.Chmod(b.path(name), 0o666)
		}
		for _, name := range []string{".", ".."} { // which the user enters
			os.Chmod(b.path(name), 0o755)
		}
		tick := b.command("run")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		b.until("the command has ended", func() bool { return strings.Contains(b.openRuns(), "is finishing") })
		began := time.Now()
		tick.Process.Signal(syscall.SIGTERM)
		tick.Wait()
		if took := time.Since(began); tick.ProcessState.ExitCode() != 143 || took > 20*time.Second {
			t.Errorf("exit code %d after %s", tick.ProcessState.ExitCode(), took)
		}
		r := b.outcome("piped", 1)
		if note := "output: stopped (by SIGTERM)"; r.Outcome != "succeeded" || !slices.Contains(r.Notes, note) {
			t.Errorf("%+v", r)
		}
		if b.read("after.txt") != "succeeded\n" || b.read("next.txt") != "" {
			t.Errorf("after %q, next %q", b.read("after.txt"), b.read("next.txt"))
		}
	}
}

// In these tests a timeout is long enough for a command to begin, and for what it starts, on a
// machine that is busy.
func TestTimeoutEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: stubborn
    cron: "* * * * *"
    timeout: 3s
    kill_after: 200ms
    command: |
      trap '' TERM
      sh -c 'trap "" TERM; echo $$ > child.pid; while :; do sleep 0.05; done' &
      while :; do sleep 0.05; done
    on_failure: echo $SCHED_OUTCOME $SCHED_EXIT_CODE > failure.txt
`)
	if _, code := b.sched("run"); code != 1 {
		t.Errorf("exit code %d", code)
	}
	b.gone(b.pidIn("child.pid"))
	if r := b.outcome("stubborn", 1); r.Outcome != "timed out" || r.Reason != "after 3s" {
		t.Errorf("%+v", r)
	}
	if got := b.read("failure.txt"); got != "timed out 137\n" {
		t.Errorf("failure.txt: %q", got)
	}
}

// A command that waits in the kernel does not end by KILL. It is left behind: the next task of the
// foreground queue starts, and the run has an end. Here a tracer keeps the command from being
// waited for, which looks the same to its parent.
func TestACommandThatSurvivesKILLIsLeftBehind(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("it waits five seconds for the command")
	}
	b := newBox(t, `
defaults: {kill_after: 100ms, without_overlapping: true}
tasks:
  - {name: stuck, cron: "* * * * *", timeout: 3s, command: "echo $$ > command.pid; exec sleep 300", after: 'echo $SCHED_OUTCOME code=$SCHED_EXIT_CODE >> after.txt'}
  - {name: next, cron: "* * * * *", command: echo next >> next.txt}
`)
	tick := b.command("run", "--at", "2026-01-01T00:00:00Z")
	var out strings.Builder
	tick.Stdout, tick.Stderr = &out, &out
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.pidIn("command.pid")
	released := make(chan struct{})
	traced := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: a tracer is a thread, and what it traces is free when it ends
		traced <- trace(command)
		<-released
	}()
	defer close(released)
	if err := <-traced; err != nil {
		b.kill(command)
		tick.Wait()
		t.Skip("no right to trace it: ", err)
	}
	tick.Wait()
	note := fmt.Sprintf("process %d survived KILL (it may wait for a disk), and was left behind", command)
	if r := b.outcome("stuck", 1); r.Outcome != "timed out" || r.ExitCode != nil || !slices.Contains(r.Notes, note) {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(out.String(), note) {
		t.Errorf("the tick said\n%s", out.String())
	}
	if b.read("next.txt") != "next\n" || b.read("after.txt") != "timed out code=\n" {
		t.Errorf("next %q, after %q", b.read("next.txt"), b.read("after.txt"))
	}
}

// trace makes this thread the tracer of a process (ptrace(2), PTRACE_SEIZE), which goes on.
func trace(pid int) error {
	const seize = 0x4206
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, seize, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// A timeout also ends the processes that the command started in a session of their own, even if
// they ignore TERM. If a command ends by itself, the processes that it leaves behind are daemons,
// and stay.
func TestTimeoutEndsWhatHasASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
defaults: {kill_after: 300ms}
tasks:
  - {name: slow, cron: "* * * * *", timeout: 3s, command: "setsid sh -c 'echo $$ > polite.pid; exec sleep 300' & setsid sh -c 'trap \"\" TERM; echo $$ > deaf.pid; while :; do sleep 0.1; done' & sleep 300"}
  - {name: starter, cron: "* * * * *", command: "setsid sh -c 'echo $$ > daemon.pid; exec sleep 300' & while [ ! -s daemon.pid ]; do sleep 0.01; done"}
`)
	b.sched("run")
	if r := b.outcome("slow", 1); r.Outcome != "timed out" || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"polite.pid", "deaf.pid"} {
		if pid := b.pidIn(name); alive(pid) {
			t.Errorf("%s lives on", name)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	daemon := b.pidIn("daemon.pid")
	if !alive(daemon) {
		t.Error("the daemon of a run that went well was ended")
	}
	syscall.Kill(daemon, syscall.SIGKILL)
}

// The runs of a sched inside a task do not belong to the task's processes: they go on when it times
// out.
func TestTimeoutLeavesTheRunsOfASchedInsideAlone(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: outer, cron: "* * * * *", timeout: 10s, kill_after: 1s, command: "`+binary+` run -c inner.yaml --at 2026-01-01T00:00:00Z; sleep 60"}
`)
	b.write("inner.yaml", `
tasks:
  - {name: inner, cron: "* * * * *", background: true, command: 'env | grep ^SCHED_ > variables.txt; await go', after: echo $SCHED_OUTCOME >> after.txt}
`)
	b.sched("run")
	if r := b.outcome("outer", 1); r.Outcome != "timed out" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(b.read("variables.txt"), "SCHED_TASK=inner\n") || b.read("after.txt") != "" {
		t.Errorf("variables %q, after %q", b.read("variables.txt"), b.read("after.txt"))
	}
	b.write("go", "")
	b.until("the inner run is finished", func() bool { return b.read("after.txt") == "succeeded\n" })
	b.until("nobody looks after it any more", func() bool {
		return len(owned(b.path(".sched/inner"))) == 0
	})
}

func TestABackgroundTaskDoesNotWaitForAForegroundTask(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: slow
    cron: "* * * * *"
    command: await go
  - name: quick
    cron: "* * * * *"
    background: true
    command: echo here > quick.txt
`)
	tick := b.command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.lineIn("quick.txt") // while slow runs
	b.write("go", "")
	if err := tick.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A run does what the schedule said at its start. Later the schedule may be edited, broken or
// deleted.
func TestTheScheduleChangesWhileARunLives(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *box){
		"edited":  func(b *box) { b.write("schedule.yaml", strings.ReplaceAll(victim, "after.txt", "other.txt")) },
		"broken":  func(b *box) { b.write("schedule.yaml", "tasks: [") },
		"deleted": func(b *box) { os.Remove(b.path("schedule.yaml")) },
	} {
		t.Run(name, func(t *testing.T) {
			b, _, supervisor, _ := start(t)
			change(b)
			b.write("go", "")
			b.gone(supervisor)
			b.until("the hook it started with has fired", func() bool { return b.read("after.txt") == "succeeded\n" })
			if b.read("other.txt") != "" {
				t.Error("the hook of the new schedule fired")
			}
		})
	}
}

func TestTwoHundredMegabytesOfOutput(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: loud
    cron: "* * * * *"
    command: head -c 200000000 /dev/zero
    output: {limit: 1GB}
`)
	if out, code := b.sched("run"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	info, err := os.Stat(b.outcome("loud", 1).Output)
	if err != nil || info.Size() != 200000000 {
		t.Errorf("%v, %v", info, err)
	}
}

// A folder in which nobody can write, not even root.
func TestTheStateFolderCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
state_dir: /sys/sched
tasks:
  - {name: front, cron: "* * * * *", command: echo front >> ran.txt, without_overlapping: true}
  - {name: back, cron: "* * * * *", command: echo back >> ran.txt, background: true, after: echo after >> ran.txt}
`)
	out, code := b.sched("run")
	// to root, and to others
	said := strings.Count(out, "operation not permitted") + strings.Count(out, "permission denied")
	if code != 1 || strings.Count(out, "the state folder cannot be written") != 1 || said != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.until("both tasks and the hook ran", func() bool { return b.count("ran.txt") == 3 })
}

func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "4m")
	b := newBox(t, `
state_dir: `+dir+`/state
tasks:
  - {name: front, cron: "* * * * *", command: echo front >> ran.txt, without_overlapping: true}
  - {name: back, cron: "* * * * *", command: echo back >> ran.txt, background: true, after: echo after >> ran.txt}
`)
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	out, code := b.sched("run")
	if code != 1 || strings.Count(out, "the state folder cannot be written") != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.until("both tasks and the hook ran", func() bool { return b.count("ran.txt") == 3 })

	// When there is room again, everything works as ever. Nothing is known of the runs of the
	// meantime, and no hook fires again.
	os.Remove(filler)
	if out, code := b.sched("run", "--at", "2026-01-01T00:00:00Z"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for _, task := range []string{"front", "back"} {
		if r := b.outcome(task, 1); r.Outcome != "succeeded" {
			t.Errorf("%s: %+v", task, r)
		}
	}
	b.settle()
	if got := strings.Count(b.read("ran.txt"), "after"); got != 2 {
		t.Errorf("after-hooks: %d\n%s", got, b.read("ran.txt"))
	}
}

// Runs begin while the disk has room, and end when it has no room left. Some files have a page with
// room for the last event of the run, and some do not: the tasks have snapshots of many sizes.
func TestTheDiskFillsUpWhileRunsLive(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "4m")
	const n = 16
	schedule := "state_dir: " + dir + "/state\ntasks:\n"
	for i := range n {
		schedule += fmt.Sprintf(`  - name: back-%d
    cron: "* * * * *"
    background: true
    env: {PADDING: "%s"}
    command: echo began >> began.txt; await go
    after: echo $SCHED_OUTCOME >> after.txt
`, i, strings.Repeat("x", 256*i))
	}
	b := newBox(t, schedule)
	b.sched("run")
	b.until("all have begun", func() bool { return b.count("began.txt") == n })
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	b.write("go", "")
	b.until("all have ended", func() bool { return b.count("after.txt") == n })

	// When there is room again the history has them all.
	os.Remove(filler)
	b.write("schedule.yaml", "state_dir: "+dir+"/state\ntasks: []\n")
	b.until("the history has them all", func() bool {
		b.sched("run")
		return len(b.history("")) == n
	})
	for _, r := range b.history("") {
		if r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
	}
	if got := strings.Count(b.read("after.txt"), "succeeded\n"); got != n {
		t.Errorf("hooks:\n%s", b.read("after.txt"))
	}
}

func TestACorruptHistoryIsSetAside(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: front, cron: "* * * * *", command: echo hello}
`)
	b.sched("run")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(b.path(".sched/sched.db" + suffix))
	}
	b.write(".sched/sched.db", strings.Repeat("this is not a database ", 1000))
	out, code := b.sched("run", "--at", thisMinute())
	if code != 0 || !strings.Contains(out, "sched.db.damaged-") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.outcome("front", 1)
}

// A power cut can leave an empty file of a run. The tick that forked the run cannot know; so the
// next tick says it, once. Nothing else suffers.
func TestTheNextTickTellsOfAFailedBackgroundRun(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: back, cron: "* * * * *", command: exit 3, background: true}
`)
	b.sched("run", "-q")
	b.outcome("back", 1) // to look at the history does not swallow the message
	b.write("schedule.yaml", "tasks: []\n")
	if out, code := b.sched("run", "--at", thisMinute(), "-q"); code != 0 || !strings.Contains(out, "back  failed in") {
		t.Errorf("exit code %d, output %q", code, out)
	}
	if out, _ := b.sched("run", "--at", thisMinute(), "-q"); out != "" {
		t.Errorf("it was told twice: %q", out)
	}
}

func TestAThousandBackgroundRuns(t *testing.T) {
	if !full {
		t.Skip("takes a while")
	}
	var schedule strings.Builder
	schedule.WriteString("tasks:\n")
	const n = 1000
	for i := range n {
		fmt.Fprintf(&schedule, "  - {name: task-%d, cron: '* * * * *', background: true, without_overlapping: true, command: 'true', after: 'echo >> after.txt'}\n", i)
	}
	b := newBox(t, schedule.String())
	b.sched("run", "-q")
	end := time.Now().Add(2 * time.Minute)
	for b.count("after.txt") < n && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
	b.until("every run is in the history", func() bool { return len(b.history("")) == n })
	for _, r := range b.history("") {
		if r.Outcome != "succeeded" || len(r.Notes) > 0 {
			t.Fatalf("%+v", r)
		}
	}
	if got := b.count("after.txt"); got != n {
		t.Errorf("%d after-hooks", got)
	}
}

// A crontab line with flock(1) and a background task: the lock was held as long as the run lived,
// so no tick ran meanwhile.
func TestDescriptorsOfTheCallerAreNotForRuns(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.ReplaceAll(victim, "name: victim", "name: victim\n    before: ls -l /proc/self/fd > hook.fds")+`
  - name: front
    cron: "* * * * *"
    command: ls -l /proc/self/fd > front.fds
`)
	b.write("held", "")
	c := exec.Command("/bin/sh", "-c", `exec 9>held 7<held; exec "$0" run`, binary)
	c.Dir, c.Env = b.dir, b.command().Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command, supervisor := b.pidIn("command.pid"), b.pidIn("supervisor.pid")
	for _, pid := range []int{command, supervisor, parent(t, supervisor)} {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if len(fds) == 0 {
			t.Fatalf("process %d has nothing open", pid)
		}
		for _, fd := range fds {
			if path, _ := os.Readlink(fd); path == b.path("held") {
				t.Errorf("process %d has the caller's descriptor %s", pid, filepath.Base(fd))
			}
		}
	}
	for _, name := range []string{"front.fds", "hook.fds"} {
		if fds := b.read(name); fds == "" || strings.Contains(fds, "/held") {
			t.Errorf("%s:\n%s", name, fds)
		}
	}
}
