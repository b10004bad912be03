//go:build linux

package kills_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/schedtest"
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

// start starts a run of the victim. Its supervisor has written down which process the command is: a
// command that ends before that is lost with its supervisor.
func start(t *testing.T) (b *box, witness, supervisor, command int) {
	b = newBox(t, victim)
	b.Sched("run")
	command = b.PidIn("command.pid")
	supervisor = b.PidIn("supervisor.pid")
	b.untilWrittenDown(command)
	return b, schedtest.Parent(t, supervisor), supervisor, command
}

// unwatched starts a run of the victim, and kills all that watches its command.
func unwatched(t *testing.T) (b *box, command int) {
	b, witness, supervisor, command := start(t)
	b.Kill(witness)
	b.Kill(supervisor)
	b.Gone(witness)
	b.Gone(supervisor)
	return b, command
}

// untilWrittenDown waits until the row of a run says that the process is its command.
func (b *box) untilWrittenDown(command int) {
	b.Until("the process is written down", func() bool {
		return slices.ContainsFunc(schedtest.OpenRows(b.Path(".sched")),
			func(r state.Row) bool { return r.Attempt.PID == command })
	})
}

func (b *box) untilHookWrittenDown(hook int) {
	b.Until("the process of the hook is written down", func() bool {
		db, err := state.OpenRead(b.Path(".sched"), state.Patience)
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
	b.Kill(command)
	if r := b.Outcome("victim", 1); r.Outcome != "failed" || *r.ExitCode != 137 {
		t.Errorf("outcome %s, exit code %d", r.Outcome, *r.ExitCode)
	}
	if b.Count("after.txt") != 1 || b.Read("failure.txt") != "failed 137\n" {
		t.Errorf("after %q, failure %q", b.Read("after.txt"), b.Read("failure.txt"))
	}
	b.Free("victim")
}

// The supervisor is hit, and the command does not notice: the witness goes on with the command, as
// its parent.
func TestTheSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	b.Kill(supervisor)
	b.Gone(supervisor)
	if out, _ := b.Sched("run", "--at", schedtest.ThisMinute()); !strings.Contains(out, "skipped: still running") {
		t.Errorf("the run did not keep its mutex:\n%s", out)
	}
	if schedtest.Parent(t, command) != witness {
		t.Errorf("the parent of the command is %d, not its witness %d", schedtest.Parent(t, command), witness)
	}
	b.Write("go", "")
	b.Until("the run is over", func() bool { return b.Count("after.txt") == 1 })
	b.Outcome("victim", 2) // the hooks come before the record
	if r := b.History("victim")[1]; r.Outcome != "succeeded" || *r.ExitCode != 0 ||
		r.Attempts != 1 || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	if b.Count("success.txt") != 1 || b.Count("failure.txt") != 0 {
		t.Errorf("success %q, failure %q", b.Read("success.txt"), b.Read("failure.txt"))
	}
	b.Gone(witness)
	b.Free("victim")
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
		os.Remove(b.Path("go"))
		b.Sched("run", "--at", "2026-01-01T00:00:00Z", "--only", task)
		// The supervisor may have crashed before it wrote down the process, which its witness then
		// looks for.
		if task == "before" {
			b.untilHookWrittenDown(b.PidIn("hook.pid"))
		} else {
			b.untilWrittenDown(b.PidIn("command.pid"))
		}
		b.Write("go", "")
		if r := b.Outcome(task, 1); r.Outcome != "failed" || r.ExitCode == nil || *r.ExitCode != 3+i {
			t.Errorf("%s: %+v", task, r)
		}
	}
	if b.Read("after.txt") != "failed code=3\nfailed code=4\n" || b.Read("before.txt") != "first\nsecond\nthird\n" {
		t.Errorf("after %q, before %q", b.Read("after.txt"), b.Read("before.txt"))
	}
	traces, _ := filepath.Glob(b.Path(".sched/locks/owner-*"))
	if len(traces) != 2 || !strings.Contains(b.Read(strings.TrimPrefix(traces[0], b.Dir+"/")), "SIGABRT") {
		t.Errorf("traces: %q", traces)
	}
}

// The command ends after its supervisor was killed, and before its witness looks. The witness finds
// its exit code all the same.
func TestTheCommandEndsAfterItsSupervisorWasKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	syscall.Kill(witness, syscall.SIGSTOP)
	b.Kill(supervisor)
	b.Gone(supervisor)
	b.Write("go", "")
	b.Gone(command)
	syscall.Kill(witness, syscall.SIGCONT)
	if r := b.Outcome("victim", 1); r.Outcome != "succeeded" || *r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	if b.Read("after.txt") != "succeeded\n" {
		t.Errorf("after %q", b.Read("after.txt"))
	}
}

// The supervisor goes on without its witness, to the end.
func TestTheWitnessIsKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, _ := start(t)
	b.Kill(witness)
	b.Gone(witness)
	b.Write("go", "")
	if r := b.Outcome("victim", 1); r.Outcome != "succeeded" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	b.Gone(supervisor)
	if b.Count("after.txt") != 1 || b.Count("failure.txt") != 0 || b.Count("success.txt") != 1 {
		t.Errorf("after %q, failure %q, success %q", b.Read("after.txt"), b.Read("failure.txt"), b.Read("success.txt"))
	}
	b.Free("victim")
}

func TestTheWholeTreeIsKilled(t *testing.T) {
	t.Parallel()
	b, witness, supervisor, command := start(t)
	for _, pid := range []int{witness, supervisor, command} {
		b.Kill(pid)
	}
	for _, pid := range []int{witness, supervisor, command} {
		b.Gone(pid)
	}
	// The next tick, in a minute in which nothing is due, tells the truth and fires the hooks,
	// once.
	b.Write("schedule.yaml", strings.Replace(victim, `"* * * * *"`, `"0 0 1 1 *"`, 1))
	out, _ := b.Sched("run")
	if !strings.Contains(out, "victim  lost: ") {
		t.Errorf("the tick did not say that the run was lost:\n%s", out)
	}
	b.Sched("run", "--at", "2026-03-03T03:04:00Z")
	if r := b.Outcome("victim", 1); r.Outcome != "lost" || r.ExitCode != nil {
		t.Errorf("%+v", r)
	}
	if b.Read("failure.txt") != "lost\n" || b.Read("after.txt") != "lost\n" {
		t.Errorf("after %q, failure %q", b.Read("after.txt"), b.Read("failure.txt"))
	}
	b.Write("schedule.yaml", victim)
	b.Free("victim")
}

// Without witness and supervisor nobody watches the command that lives on; the next tick ends it.
func TestOnlyTheCommandSurvives(t *testing.T) {
	t.Parallel()
	b, command := unwatched(t)
	if out, _ := b.Sched("run", "--at", schedtest.ThisMinute()); !strings.Contains(out, "skipped: still running") {
		t.Errorf("a living command did not keep its lock:\n%s", out)
	}
	b.Gone(command)
	b.Until("the run is lost", func() bool { return b.Read("after.txt") == "lost\n" })
	b.Free("victim")
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
		b.Sched("run")
		supervisor, command := b.PidIn("supervisor.pid"), b.PidIn("command.pid")
		witness := schedtest.Parent(t, supervisor)
		b.Until("it prints elsewhere", func() bool { _, err := os.Stat(b.Path("alone")); return err == nil })
		b.Kill(witness)
		b.Kill(supervisor)
		b.Gone(witness)
		b.Gone(supervisor)
		if out, _ := b.Sched("run", "--at", schedtest.ThisMinute()); !strings.Contains(out, "skipped: still running") {
			t.Errorf("%s: a living command did not keep its mutex:\n%s", redirection, out)
		}
		b.Gone(command)
		b.Until("the lost run is finished", func() bool { return b.Count("after.txt") == 1 })
		if b.Read("after.txt") != "lost nobody watched it any more, so what was left of its command was ended\n" {
			t.Errorf("%s: after %q", redirection, b.Read("after.txt"))
		}
		b.Free("job")
		if b.Read("copies.txt") != "" {
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
	tick := b.Command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.PidIn("command.pid")
	b.Kill(tick.Process.Pid)
	tick.Wait()
	b.Sched("run", "--only", "next") // the next tick
	b.Gone(command)
	if r := b.Outcome("victim", 1); r.Outcome != "lost" {
		t.Errorf("%+v", r)
	}
	if b.Read("after.txt") != "lost\n" || b.Count("failure.txt") != 1 {
		t.Errorf("after %q, failure %q", b.Read("after.txt"), b.Read("failure.txt"))
	}
	b.Free("victim")
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
	os.Chmod(filepath.Dir(b.Dir), 0o711)
	os.Chmod(b.Dir, 0o777|os.ModeSticky)
	b.Sched("run")
	finish := b.PidIn("finish.pid")
	b.Until("finish has written the process of its hook down", func() bool { return b.HookForked("hooked") })
	b.Kill(finish)
	b.Gone(finish)
	b.Write("schedule.yaml", "tasks: []\n")
	b.Sched("run")
	if got := b.Read("hooks.txt"); got != "one\ntwo\n" {
		t.Errorf("hooks.txt: %q", got)
	}
	b.Sched("run")
	if got := b.Read("hooks.txt"); got != "one\ntwo\n" {
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
	b.Sched("run")
	if r := b.Outcome("hooked", 1); r.Outcome != "succeeded" || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	b.Settle()
	if got := b.Read("hooks.txt"); got != "one\ntwo\n" {
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
    command: rm -f .sched/sched.db*
    on_success: echo $SCHED_OUTCOME >> hooks.txt
    after: echo after >> hooks.txt
`)
	b.Sched("run")
	if got := b.Read("hooks.txt"); got != "succeeded\nafter\n" {
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
	b.Sched("run")
	daemon := b.PidIn("daemon.pid")
	defer syscall.Kill(daemon, syscall.SIGKILL)
	b.Until("finish came", func() bool { return b.Count("after.txt") == 1 })
	b.Outcome("starter", 1)
	if !schedtest.Alive(daemon) {
		t.Fatal("the daemon was ended with its task")
	}
	if out, _ := b.Sched("run", "--at", schedtest.ThisMinute()); strings.Contains(out, "skipped") {
		t.Errorf("the daemon keeps the lock:\n%s", out)
	}
	b.Until("the second run finished", func() bool { return b.Count("after.txt") == 2 })
	syscall.Kill(b.PidIn("daemon.pid"), syscall.SIGKILL)
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
	b.Sched("run")
	command, daemon, supervisor := b.PidIn("command.pid"), b.PidIn("daemon.pid"), b.PidIn("supervisor.pid")
	defer syscall.Kill(daemon, syscall.SIGKILL)
	witness := schedtest.Parent(t, supervisor)
	b.Kill(witness)
	b.Kill(supervisor)
	b.Gone(witness)
	b.Gone(supervisor)
	b.Sched("run", "--at", schedtest.ThisMinute())
	b.Until("the lost run is finished", func() bool { return b.Read("after.txt") == "lost\n" })
	b.Gone(command)
	os.Remove(b.Path("command.pid"))
	if out, _ := b.Sched("run", "--at", schedtest.ThisMinute()); strings.Contains(out, "skipped") {
		t.Fatalf("a lost run keeps its lock:\n%s", out)
	}
	b.Kill(b.PidIn("command.pid"))
	for _, pid := range schedtest.Children("sleep 300", b.Dir) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
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
	tick := b.Command("run")
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
	case <-time.After(schedtest.Patience):
		t.Error("the pipe stayed open while the task ran")
	}
	b.LineIn("started.txt")
	b.Write("go", "")
	b.Outcome("long", 1)
	tick.Wait()
}

func TestSIGTERMStopsTheRunningTaskAndStartsNoOther(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(victim, "background: true", "background: false", 1)+`
  - name: next
    cron: "* * * * *"
    command: echo never > next.txt
`)
	tick := b.Command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.PidIn("command.pid")
	tick.Process.Signal(syscall.SIGTERM)
	tick.Wait()
	if code := tick.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if schedtest.Alive(command) {
		t.Error("the command lives on")
	}
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "by SIGTERM" {
		t.Errorf("%+v", r)
	}
	if r := b.Outcome("next", 1); r.Outcome != "skipped" || b.Read("next.txt") != "" {
		t.Errorf("%+v", r)
	}
	if b.Read("after.txt") != "stopped\n" {
		t.Errorf("after %q", b.Read("after.txt"))
	}
	b.Free("victim")
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
		if err := syscall.Mkfifo(b.Path("pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		b.Write("after.txt", "")
		for _, name := range []string{"pipe", "after.txt"} {
			os.Chmod(b.Path(name), 0o666)
		}
		for _, name := range []string{".", ".."} { // which the user enters
			os.Chmod(b.Path(name), 0o755)
		}
		tick := b.Command("run")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		b.Until("the command has ended", func() bool { return strings.Contains(b.OpenRuns(), "is finishing") })
		began := time.Now()
		tick.Process.Signal(syscall.SIGTERM)
		tick.Wait()
		if took := time.Since(began); tick.ProcessState.ExitCode() != 143 || took > machine.Within(20*time.Second) {
			t.Errorf("exit code %d after %s", tick.ProcessState.ExitCode(), took)
		}
		r := b.Outcome("piped", 1)
		if note := "output: stopped (by SIGTERM)"; r.Outcome != "succeeded" || !slices.Contains(r.Notes, note) {
			t.Errorf("%+v", r)
		}
		if b.Read("after.txt") != "succeeded\n" || b.Read("next.txt") != "" {
			t.Errorf("after %q, next %q", b.Read("after.txt"), b.Read("next.txt"))
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
	if _, code := b.Sched("run"); code != 1 {
		t.Errorf("exit code %d", code)
	}
	b.Gone(b.PidIn("child.pid"))
	if r := b.Outcome("stubborn", 1); r.Outcome != "timed out" || r.Reason != "after 3s" {
		t.Errorf("%+v", r)
	}
	if got := b.Read("failure.txt"); got != "timed out 137\n" {
		t.Errorf("failure.txt: %q", got)
	}
}

// A command that waits in the kernel does not end by KILL. It is left behind: the next task of the
// foreground queue starts, and the run has an end. Here a tracer keeps the command from being
// waited for, which looks the same to its parent.
func TestACommandThatSurvivesKILLIsLeftBehind(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	b := newBox(t, `
defaults: {kill_after: 100ms, without_overlapping: true}
tasks:
  - {name: stuck, cron: "* * * * *", timeout: 3s, command: "echo $$ > command.pid; exec sleep 300", after: 'echo $SCHED_OUTCOME code=$SCHED_EXIT_CODE >> after.txt'}
  - {name: next, cron: "* * * * *", command: echo next >> next.txt}
`)
	tick := b.Command("run", "--at", "2026-01-01T00:00:00Z")
	var out strings.Builder
	tick.Stdout, tick.Stderr = &out, &out
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.PidIn("command.pid")
	released := make(chan struct{})
	traced := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: a tracer is a thread, and what it traces is free when it ends
		traced <- trace(command)
		<-released
	}()
	defer close(released)
	if err := <-traced; err != nil {
		b.Kill(command)
		tick.Wait()
		t.Skip("no right to trace it: ", err)
	}
	tick.Wait()
	note := fmt.Sprintf("process %d survived KILL (it may wait for a disk), and was left behind", command)
	if r := b.Outcome("stuck", 1); r.Outcome != "timed out" || r.ExitCode != nil || !slices.Contains(r.Notes, note) {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(out.String(), note) {
		t.Errorf("the tick said\n%s", out.String())
	}
	if b.Read("next.txt") != "next\n" || b.Read("after.txt") != "timed out code=\n" {
		t.Errorf("next %q, after %q", b.Read("next.txt"), b.Read("after.txt"))
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
	b.Sched("run")
	if r := b.Outcome("slow", 1); r.Outcome != "timed out" || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"polite.pid", "deaf.pid"} {
		if pid := b.PidIn(name); schedtest.Alive(pid) {
			t.Errorf("%s lives on", name)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	daemon := b.PidIn("daemon.pid")
	if !schedtest.Alive(daemon) {
		t.Error("the daemon of a run that went well was ended")
	}
	syscall.Kill(daemon, syscall.SIGKILL)
}

// The runs of a sched inside a task do not belong to the task's processes: they go on when it times
// out.
func TestTimeoutLeavesTheRunsOfASchedInsideAlone(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	b := newBox(t, `
tasks:
  - {name: outer, cron: "* * * * *", timeout: 10s, kill_after: 1s, command: "`+schedtest.Binary+` run -c inner.yaml --at 2026-01-01T00:00:00Z; sleep 60"}
`)
	b.Write("inner.yaml", `
tasks:
  - {name: inner, cron: "* * * * *", background: true, command: 'env | grep ^SCHED_ > variables.txt; await go', after: echo $SCHED_OUTCOME >> after.txt}
`)
	b.Sched("run")
	if r := b.Outcome("outer", 1); r.Outcome != "timed out" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(b.Read("variables.txt"), "SCHED_TASK=inner\n") || b.Read("after.txt") != "" {
		t.Errorf("variables %q, after %q", b.Read("variables.txt"), b.Read("after.txt"))
	}
	b.Write("go", "")
	b.Until("the inner run is finished", func() bool { return b.Read("after.txt") == "succeeded\n" })
	b.Until("nobody looks after it any more", func() bool {
		return len(schedtest.Owned(b.Path(".sched/inner"))) == 0
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
	tick := b.Command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	b.LineIn("quick.txt") // while slow runs
	b.Write("go", "")
	if err := tick.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A run does what the schedule said at its start. Later the schedule may be edited, broken or
// deleted.
func TestTheScheduleChangesWhileARunLives(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *box){
		"edited":  func(b *box) { b.Write("schedule.yaml", strings.ReplaceAll(victim, "after.txt", "other.txt")) },
		"broken":  func(b *box) { b.Write("schedule.yaml", "tasks: [") },
		"deleted": func(b *box) { os.Remove(b.Path("schedule.yaml")) },
	} {
		t.Run(name, func(t *testing.T) {
			b, _, supervisor, _ := start(t)
			change(b)
			b.Write("go", "")
			b.Gone(supervisor)
			b.Until("the hook it started with has fired", func() bool { return b.Read("after.txt") == "succeeded\n" })
			if b.Read("other.txt") != "" {
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
	if out, code := b.Sched("run"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	info, err := os.Stat(b.Outcome("loud", 1).Output)
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
	out, code := b.Sched("run")
	// to root, and to others
	said := strings.Count(out, "operation not permitted") + strings.Count(out, "permission denied")
	if code != 1 || strings.Count(out, "the state folder cannot be written") != 1 || said != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.Until("both tasks and the hook ran", func() bool { return b.Count("ran.txt") == 3 })
}

func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := schedtest.SmallDisk(t, "4m")
	b := newBox(t, `
state_dir: `+dir+`/state
tasks:
  - {name: front, cron: "* * * * *", command: echo front >> ran.txt, without_overlapping: true}
  - {name: back, cron: "* * * * *", command: echo back >> ran.txt, background: true, after: echo after >> ran.txt}
`)
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	out, code := b.Sched("run")
	if code != 1 || strings.Count(out, "the state folder cannot be written") != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.Until("both tasks and the hook ran", func() bool { return b.Count("ran.txt") == 3 })

	// When there is room again, everything works as ever. Nothing is known of the runs of the
	// meantime, and no hook fires again.
	os.Remove(filler)
	if out, code := b.Sched("run", "--at", "2026-01-01T00:00:00Z"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for _, task := range []string{"front", "back"} {
		if r := b.Outcome(task, 1); r.Outcome != "succeeded" {
			t.Errorf("%s: %+v", task, r)
		}
	}
	b.Settle()
	if got := strings.Count(b.Read("ran.txt"), "after"); got != 2 {
		t.Errorf("after-hooks: %d\n%s", got, b.Read("ran.txt"))
	}
}

// Runs begin while the disk has room, and end when it has no room left. Some files have a page with
// room for the last event of the run, and some do not: the tasks have snapshots of many sizes.
func TestTheDiskFillsUpWhileRunsLive(t *testing.T) {
	t.Parallel()
	dir := schedtest.SmallDisk(t, "4m")
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
	b.Sched("run")
	b.Until("all have begun", func() bool { return b.Count("began.txt") == n })
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	b.Write("go", "")
	b.Until("all have ended", func() bool { return b.Count("after.txt") == n })

	// When there is room again the history has them all.
	os.Remove(filler)
	b.Write("schedule.yaml", "state_dir: "+dir+"/state\ntasks: []\n")
	b.Until("the history has them all", func() bool {
		b.Sched("run")
		return len(b.History("")) == n
	})
	for _, r := range b.History("") {
		if r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
	}
	if got := strings.Count(b.Read("after.txt"), "succeeded\n"); got != n {
		t.Errorf("hooks:\n%s", b.Read("after.txt"))
	}
}

func TestACorruptHistoryIsSetAside(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: front, cron: "* * * * *", command: echo hello}
`)
	b.Sched("run")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(b.Path(".sched/sched.db" + suffix))
	}
	b.Write(".sched/sched.db", strings.Repeat("this is not a database ", 1000))
	out, code := b.Sched("run", "--at", schedtest.ThisMinute())
	if code != 0 || !strings.Contains(out, "sched.db.damaged-") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.Outcome("front", 1)
}

// A power cut can leave an empty file of a run. The tick that forked the run cannot know; so the
// next tick says it, once. Nothing else suffers.
func TestTheNextTickTellsOfAFailedBackgroundRun(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: back, cron: "* * * * *", command: exit 3, background: true}
`)
	b.Sched("run", "-q")
	b.Outcome("back", 1) // to look at the history does not swallow the message
	b.Write("schedule.yaml", "tasks: []\n")
	if out, code := b.Sched("run", "-q"); code != 0 || !strings.Contains(out, "back  failed in") {
		t.Errorf("exit code %d, output %q", code, out)
	}
	if out, _ := b.Sched("run", "-q"); out != "" {
		t.Errorf("it was told twice: %q", out)
	}
}

func TestAThousandBackgroundRuns(t *testing.T) {
	machine.Turn(t)
	machine.Slow(t)
	var schedule strings.Builder
	schedule.WriteString("tasks:\n")
	const n = 1000
	for i := range n {
		fmt.Fprintf(&schedule, "  - {name: task-%d, cron: '* * * * *', background: true, without_overlapping: true, command: 'true', after: 'echo >> after.txt'}\n", i)
	}
	b := newBox(t, schedule.String())
	b.Sched("run", "-q")
	end := time.Now().Add(2 * time.Minute)
	for b.Count("after.txt") < n && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
	b.Until("every run is in the history", func() bool { return len(b.History("")) == n })
	for _, r := range b.History("") {
		if r.Outcome != "succeeded" || len(r.Notes) > 0 {
			t.Fatalf("%+v", r)
		}
	}
	if got := b.Count("after.txt"); got != n {
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
	b.Write("held", "")
	c := exec.Command("/bin/sh", "-c", `exec 9>held 7<held; exec "$0" run`, schedtest.Binary)
	c.Dir, c.Env = b.Dir, b.Command().Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command, supervisor := b.PidIn("command.pid"), b.PidIn("supervisor.pid")
	for _, pid := range []int{command, supervisor, schedtest.Parent(t, supervisor)} {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if len(fds) == 0 {
			t.Fatalf("process %d has nothing open", pid)
		}
		for _, fd := range fds {
			if path, _ := os.Readlink(fd); path == b.Path("held") {
				t.Errorf("process %d has the caller's descriptor %s", pid, filepath.Base(fd))
			}
		}
	}
	for _, name := range []string{"front.fds", "hook.fds"} {
		if fds := b.Read(name); fds == "" || strings.Contains(fds, "/held") {
			t.Errorf("%s:\n%s", name, fds)
		}
	}
}
