//go:build linux

package kills_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/schedtest"
)

const stoppable = `
tasks:
  - name: victim
    cron: "* * * * *"
    background: true
    without_overlapping: true
    kill_after: 1m
    retry: {attempts: 3}
    command: |
      echo $SCHED_ATTEMPT >> attempts.txt; echo $$ > command.tmp; mv command.tmp command.pid
      await go
    on_failure: echo $SCHED_OUTCOME $SCHED_EXIT_CODE $SCHED_REASON >> failure.txt
    after: echo $SCHED_OUTCOME >> after.txt
`

func TestABackgroundRunIsStopped(t *testing.T) {
	t.Parallel()
	b := newBox(t, stoppable)
	b.Sched("run")
	command := b.PidIn("command.pid")
	out, code := b.Sched("stop", "victim")
	if code != 0 || !strings.HasPrefix(out, "victim  run ") || !strings.Contains(out, " stopped in ") ||
		!strings.Contains(out, ": sched stop by ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// It has returned when all is over: the hooks have fired, once, and there is no further
	// attempt.
	if schedtest.Alive(command) || b.Read("after.txt") != "stopped\n" || b.Read("attempts.txt") != "1\n" ||
		!strings.HasPrefix(b.Read("failure.txt"), "stopped 143 sched stop by ") {
		t.Errorf("after %q, attempts %q, failure %q", b.Read("after.txt"),
			b.Read("attempts.txt"), b.Read("failure.txt"))
	}
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || *r.ExitCode != 143 || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	if out, code := b.Sched("stop", "victim"); code != 1 || out != "sched: victim is not running\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
	run := b.History("victim")[0].Run
	if out, code := b.Sched("stop", run); code != 1 || !strings.Contains(out, "is not running: it stopped in") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := b.Sched("stop", "victin"); code != 1 || !strings.Contains(out, `hint: did you mean "victim"?`) {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Free("victim")
}

// A command that takes TERM well ends with 0; it was stopped all the same.
func TestACommandThatEndsWellAtTERMWasStopped(t *testing.T) {
	t.Parallel()
	// The shell waits by itself: it runs no trap while another program is in the foreground.
	b := newBox(t, strings.NewReplacer("echo $SCHED_ATTEMPT", "trap 'exit 0' TERM; echo $SCHED_ATTEMPT",
		"await go", "await go & wait").Replace(stoppable))
	b.Sched("run")
	b.PidIn("command.pid")
	if out, code := b.Sched("stop", b.liveRun()); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || *r.ExitCode != 0 || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTheTickGoesOnWithTheNextTask(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(stoppable, "background: true", "background: false", 1)+`
  - name: next
    cron: "* * * * *"
    command: echo next >> next.txt
`)
	tick := b.Command("run")
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	command := b.PidIn("command.pid")
	if out, code := b.Sched("stop", "victim"); code != 0 || !strings.Contains(out, "stopped in") {
		t.Errorf("exit code %d: %s", code, out)
	}
	tick.Wait()
	if code := tick.ProcessState.ExitCode(); code != 1 || schedtest.Alive(command) || b.Read("next.txt") != "next\n" ||
		b.Read("after.txt") != "stopped\n" {
		t.Errorf("exit code %d, next %q, after %q", code, b.Read("next.txt"), b.Read("after.txt"))
	}
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

// The command ends at TERM, and leaves a process of its group that does not.
func TestStopEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: stubborn
    cron: "* * * * *"
    background: true
    kill_after: 200ms
    command: |
      sh -c 'trap "" TERM; echo $$ > child.pid; while :; do sleep 0.05; done' &
      await child.pid
      echo $$ > command.pid
      while :; do sleep 0.05; done
  - name: deaf
    cron: "* * * * *"
    background: true
    kill_after: 200ms
    command: trap '' TERM; echo $$ > deaf.pid; while :; do sleep 0.05; done
`)
	b.Sched("run")
	b.PidIn("command.pid")
	b.PidIn("deaf.pid")
	out, code := b.Sched("stop", "stubborn", "deaf", "--reason", "it hangs")
	if code != 0 || strings.Count(out, ": sched stop by ") != 2 || strings.Count(out, ": it hangs") != 2 ||
		!strings.Contains(out, "; it took KILL\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if schedtest.Alive(b.PidIn("child.pid")) || schedtest.Alive(b.PidIn("deaf.pid")) {
		t.Error("not all of them ended")
	}
}

func TestSeveralRunsOfATaskAreStopped(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(stoppable, "without_overlapping: true", "", 1))
	b.Sched("run")
	b.PidIn("command.pid")
	os.Remove(b.Path("command.pid"))
	b.Sched("run", "--at", schedtest.ThisMinute())
	b.PidIn("command.pid")
	if out, code := b.Sched("stop", "victim"); code != 0 || strings.Count(out, " stopped in ") != 2 {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Outcome("victim", 2)
}

// No command runs between two attempts. The process that waits there looks for a request to stop
// the run.
func TestARunIsStoppedBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"background: true", "background: false"} {
		t.Run(how, func(t *testing.T) {
			b := newBox(t, `
tasks:
  - {name: flaky, cron: "* * * * *", `+how+`, command: echo $SCHED_ATTEMPT >> attempts.txt; exit 3, retry: {attempts: 2, delay: 50s}, after: echo $SCHED_OUTCOME >> after.txt}
`)
			tick := b.Command("run")
			if err := tick.Start(); err != nil {
				t.Fatal(err)
			}
			b.LineIn("attempts.txt")
			if out, code := b.Sched("stop", "flaky"); code != 0 {
				t.Errorf("exit code %d: %s", code, out)
			}
			tick.Wait()
			if r := b.Outcome("flaky", 1); r.Outcome != "stopped" || r.Attempts != 1 ||
				b.Read("after.txt") != "stopped\n" {
				t.Errorf("%+v, after %q", r, b.Read("after.txt"))
			}
		})
	}
}

// When the command has ended there is nothing to stop, while the hooks still run.
func TestARunInItsHooksIsNotStopped(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: hooked, cron: "* * * * *", background: true, command: "true", after: 'echo > hook.txt; await go'}
`)
	b.Sched("run")
	b.LineIn("hook.txt")
	if out, code := b.Sched("stop", "hooked"); code != 1 || !strings.Contains(out, "was not stopped: it succeeded in") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Write("go", "")
	if r := b.Outcome("hooked", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}

// sched stop was killed after it had written down its request, and before its signal. The
// supervisor reads the request.
func TestStopIsKilledBeforeItsSignal(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(stoppable, "without_overlapping: true", "success_codes: [9]", 1))
	b.Sched("run")
	b.PidIn("command.pid")
	run := b.liveRun()
	db, err := state.Open(b.Path(".sched"), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Runs().AskStop(t.Context(), run, state.Stop{By: "nobody", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	b.Write("go", "")
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" || r.Reason != "sched stop by nobody" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

// Nothing of the run lives: there is nothing to stop.
func TestVanishedRunsAreNotStopped(t *testing.T) {
	t.Parallel()
	b, command := unwatched(t)
	syscall.Kill(-command, syscall.SIGKILL) // with what it started
	b.Gone(command)
	if out, code := b.Sched("stop", "victim"); code != 1 || !strings.Contains(out, "its processes vanished") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Sched("run")
}

// A command whose supervisor is dead need not wait for the next tick.
func TestACommandThatNobodyWatchesIsStopped(t *testing.T) {
	t.Parallel()
	b, command := unwatched(t)
	if out, code := b.Sched("stop", "victim"); code != 0 || !strings.Contains(out, "stopped in ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Gone(command)
	if r := b.Outcome("victim", 1); r.Outcome != "stopped" {
		t.Errorf("%+v", r)
	}
}
