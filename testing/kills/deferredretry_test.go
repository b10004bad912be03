//go:build linux

package kills_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/schedtest"
)

// An attempt of this task lasts until the file "go" is there, and succeeds if the file "good" is.
const flaky = `
tasks:
  - name: flaky
    cron: "0 0 29 2 *"
    background: true
    without_overlapping: true
    retry: {attempts: 3, delay: 1h}
    command: |
      echo attempt $SCHED_ATTEMPT; echo $SCHED_ATTEMPT >> attempts.txt
      echo $PPID > supervisor.pid; echo $$ > command.tmp; mv command.tmp command.pid
      await go
      [ -e good ]
    before: echo before >> before.txt
    on_failure: echo $SCHED_OUTCOME >> failure.txt
    on_success: echo $SCHED_OUTCOME >> success.txt
    after: echo $SCHED_OUTCOME $SCHED_ATTEMPT >> after.txt
`

// waiting returns a box with a run of flaky whose second attempt is deferred.
func waiting(t *testing.T) *box {
	b := newBox(t, flaky)
	t.Cleanup(func() { // before it settles
		b.Write("go", "")
		if out, _ := b.Sched("history"); strings.Contains(out, "waiting for attempt") {
			b.Sched("stop", "flaky")
		}
	})
	b.Write("go", "")
	b.Sched("run", "--at", schedtest.LeapDay, "--force")
	b.Waits(2)
	return b
}

// again makes the next attempt wait for the file "go".
func (b *box) again() {
	os.Remove(b.Path("go"))
	os.Remove(b.Path("command.pid"))
}

func TestALongWaitForTheNextAttemptIsNoProcess(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if pids := schedtest.Children("", b.Dir); len(pids) != 0 {
		t.Errorf("processes %v wait", pids)
	}
	if out, _ := b.Sched("unlock", "flaky"); out != "nothing is locked\n" {
		t.Errorf("the mutex is not free: %s", out)
	}
	list, _ := b.Sched("list")
	_, until, ok := strings.Cut(list, "waiting for attempt 2 until ")
	if !ok {
		t.Fatalf("sched list:\n%s", list)
	}
	until, _, _ = strings.Cut(until, "  ")
	if out, _ := b.Sched("logs", "flaky"); !strings.Contains(out, "waits for attempt 2, until "+until+"\n") ||
		!strings.Contains(out, "attempt 1\n") {
		t.Errorf("until %s. sched logs:\n%s", until, out)
	}
	slot, _ := time.Parse(time.RFC3339, schedtest.LeapDay)
	if out, _ := b.Sched("history", "flaky"); !strings.Contains(out,
		"\n"+slot.Format("2006-01-02 15:04:05")+"  flaky ") {
		t.Errorf("the slot is not %s in the history:\n%s", schedtest.LeapDay, out)
	}
	if out := b.Tick(50 * time.Minute); out != "" {
		t.Errorf("a tick that comes too early: %s", out)
	}
	if out, _ := b.Sched("run", "--at", "2099-01-01T00:00:00Z", "--force"); out != "" {
		t.Errorf("the tick of a minute that has not come: %s", out)
	}
	if out := b.Tick(2*time.Hour, "--only", "flaky"); !strings.Contains(out,
		"flaky  attempt 2 started in the background") {
		t.Errorf("the tick whose time it is: %s", out)
	}
	b.Waits(3)
	if b.Read("failure.txt")+b.Read("after.txt") != "" {
		t.Errorf("hooks fired between the attempts: %q, %q", b.Read("failure.txt"), b.Read("after.txt"))
	}
	b.Write("good", "")
	b.Tick(4 * time.Hour)
	r := b.Outcome("flaky", 1)
	if r.Outcome != "succeeded" || r.Attempts != 3 || r.Started == nil || r.UserCPU <= 0 && r.Duration <= 0 {
		t.Errorf("%+v", r)
	}
	if out, _ := b.Sched("logs", "flaky"); out != "attempt 1\nsched: attempt 2\nattempt 2\nsched: attempt 3\nattempt 3\n" {
		t.Errorf("sched logs: %q", out)
	}
	if b.Read("before.txt") != "before\n" || b.Read("success.txt") != "succeeded\n" ||
		b.Read("after.txt") != "succeeded 3\n" || b.Read("failure.txt") != "" {
		t.Errorf("before %q, success %q, after %q, failure %q",
			b.Read("before.txt"), b.Read("success.txt"), b.Read("after.txt"), b.Read("failure.txt"))
	}
}

func TestOnFailureFiresAfterTheLastDeferredAttempt(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.Tick(2 * time.Hour)
	b.Waits(3)
	b.Tick(4 * time.Hour)
	if r := b.Outcome("flaky", 1); r.Outcome != "failed" || r.Attempts != 3 {
		t.Errorf("%+v", r)
	}
	if b.Read("failure.txt") != "failed\n" || b.Read("after.txt") != "failed 3\n" {
		t.Errorf("failure %q, after %q", b.Read("failure.txt"), b.Read("after.txt"))
	}
}

// A run of the schedule has the mutex when the wait is over.
func TestAnAttemptWaitsForItsMutexAgain(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.Sched("run", "--at", schedtest.LeapDay, "--force")
	b.PidIn("command.pid")
	for i := range time.Duration(2) {
		if out := b.Tick(2*time.Hour + i*time.Minute); out != "" {
			t.Errorf("the mutex is held: %s", out)
		}
	}
	if out, _ := b.Sched("history"); !strings.Contains(out, "waiting for attempt 2 until its mutex is free") {
		t.Errorf("sched history:\n%s", out)
	}
	b.Write("good", "")
	b.Write("go", "")
	b.Outcome("flaky", 1)
	b.Tick(2*time.Hour + 2*time.Minute)
	b.Outcome("flaky", 2)
	var notes []string
	for _, r := range b.History("flaky") {
		if r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
		notes = append(notes, r.Notes...)
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "attempt 2 had to wait: still running") {
		t.Errorf("notes %q", notes)
	}
}

func TestAnAttemptDoesNotWaitForItsMutexForEver(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.Sched("run", "--at", schedtest.LeapDay, "--force")
	b.PidIn("command.pid")
	b.Tick(2 * time.Hour)
	if out := b.Tick(25 * time.Hour); out != "" {
		t.Errorf("after 23 hours: %s", out)
	}
	if out := b.Tick(27 * time.Hour); !strings.Contains(out, "attempt 2 could not start for 24 hours: still running") {
		t.Errorf("after more than a day: %s", out)
	}
	if r := b.Outcome("flaky", 1); r.Outcome != "failed" || r.Attempts != 1 || b.Read("failure.txt") != "failed\n" {
		t.Errorf("%+v, failure %q", r, b.Read("failure.txt"))
	}
	if out, _ := b.Sched("run", "--at", schedtest.LeapDay, "--force"); !strings.Contains(out, "skipped: still running") {
		t.Errorf("the mutex of the other run was broken: %s", out)
	}
	b.Write("good", "")
}

// The whole tree of a later attempt is killed, as by a power cut.
func TestALaterAttemptIsLost(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.Tick(2 * time.Hour)
	command, supervisor := b.PidIn("command.pid"), b.PidIn("supervisor.pid")
	witness := schedtest.Parent(t, supervisor)
	for _, pid := range []int{witness, supervisor, command} {
		b.Kill(pid)
	}
	for _, pid := range []int{witness, supervisor, command} {
		b.Gone(pid)
	}
	b.Tick(2 * time.Hour)
	if r := b.Outcome("flaky", 1); r.Outcome != "lost" || r.Attempts != 2 || r.ExitCode != nil {
		t.Errorf("%+v", r)
	}
	if b.Read("failure.txt") != "lost\n" || b.Read("attempts.txt") != "1\n2\n" {
		t.Errorf("failure %q, attempts %q", b.Read("failure.txt"), b.Read("attempts.txt"))
	}
}

func TestTheSupervisorOfALaterAttemptIsKilled(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.Tick(2 * time.Hour)
	b.untilWrittenDown(b.PidIn("command.pid")) // a command that is not, and ends, may have succeeded or not
	b.Kill(b.PidIn("supervisor.pid"))
	b.Write("good", "")
	b.Write("go", "")
	if r := b.Outcome("flaky", 1); r.Outcome != "succeeded" || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
	if b.Read("success.txt") != "succeeded\n" || b.Read("before.txt") != "before\n" ||
		b.Read("attempts.txt") != "1\n2\n" {
		t.Errorf("success %q, before %q, attempts %q", b.Read("success.txt"),
			b.Read("before.txt"), b.Read("attempts.txt"))
	}
}

// Without its witness the supervisor still defers the next attempt, and the run is not lost.
func TestTheWitnessIsKilledBeforeAnAttemptIsDeferred(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.Tick(2 * time.Hour)
	b.PidIn("command.pid")
	supervisor := b.PidIn("supervisor.pid")
	witness := schedtest.Parent(t, supervisor)
	b.Kill(witness)
	b.Gone(witness)
	b.Write("go", "")
	b.Gone(supervisor)
	b.Waits(3)
	if out := b.Tick(150 * time.Minute); out != "" {
		t.Errorf("it was not left alone: %s", out)
	}
	b.Write("good", "")
	b.Tick(4 * time.Hour)
	if r := b.Outcome("flaky", 1); r.Outcome != "succeeded" || r.Attempts != 3 {
		t.Errorf("%+v", r)
	}
}

// Everything is killed between the note that an attempt starts and its start: no one can know
// whether it started, so it does not start again.
func TestAllIsKilledAsALaterAttemptStarts(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	row := schedtest.OpenRows(b.Path(".sched"))[0]
	db, err := state.Open(b.Path(".sched"), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := db.Owners().Enroll(t.Context(), state.Tick)
	if err != nil {
		t.Fatal(err)
	}
	killed := db.Owners().Owned(owner)
	attempt := state.Attempt{Number: 2, At: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)}
	if err := errors.Join(killed.Apply(t.Context(), state.Take(), &row), killed.Apply(t.Context(), state.Start(attempt), &row), owner.Close(),
		db.Close()); err != nil {
		t.Fatal(err)
	}
	b.Tick(0)
	if r := b.Outcome("flaky", 1); r.Outcome != "lost" || r.Attempts != 2 || r.Started == nil ||
		strings.HasPrefix(*r.Started, "2026-01-01T01") {
		t.Errorf("%+v", r)
	}
	if b.Read("failure.txt") != "lost\n" || b.Read("attempts.txt") != "1\n" {
		t.Errorf("failure %q, attempts %q", b.Read("failure.txt"), b.Read("attempts.txt"))
	}
}

// Ticks that are killed at any moment, and two at once, start an attempt once.
func TestTicksAreKilledAsTheyGoOnWithAnAttempt(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.Write("good", "")
	for delay := time.Duration(0); delay < 40*time.Millisecond; delay += 2 * time.Millisecond {
		first, second := b.TickIn(2*time.Hour), b.TickIn(2*time.Hour)
		for _, tick := range []*exec.Cmd{first, second} {
			if err := tick.Start(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(delay) // not a wait: the moment of the kill
		first.Process.Kill()
		first.Wait()
		second.Wait()
		b.Until("nobody watches the run", b.Unwatched)
		if b.Count("attempts.txt") > 1 {
			break
		}
	}
	b.Tick(2 * time.Hour)
	if r := b.Outcome("flaky", 1); r.Attempts != 2 || r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
	if b.Read("attempts.txt") != "1\n2\n" || b.Count("after.txt") != 1 {
		t.Errorf("attempts %q, after %q", b.Read("attempts.txt"), b.Read("after.txt"))
	}
}

func TestARunThatWaitsIsFinishedByHand(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if out, code := b.Sched("finish", "flaky"); code != 0 || !strings.Contains(out, "failed in") ||
		!strings.Contains(out, "finished by hand before attempt 2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Tick(2 * time.Hour)
	if r := b.Outcome("flaky", 1); r.Outcome != "failed" || r.Attempts != 1 || *r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
	if b.Read("failure.txt") != "failed\n" || b.Read("attempts.txt") != "1\n" {
		t.Errorf("failure %q, attempts %q", b.Read("failure.txt"), b.Read("attempts.txt"))
	}
}

func TestARunThatWaitsIsStopped(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if out, code := b.Sched("retry", b.liveRun()); code != 1 || !strings.Contains(out, "waits for its attempt 2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := b.Sched("stop", "flaky"); code != 0 || !strings.Contains(out, "stopped in") ||
		!strings.Contains(out, ": sched stop by ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Tick(2 * time.Hour)
	if r := b.Outcome("flaky", 1); r.Outcome != "stopped" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	if b.Read("failure.txt") != "stopped\n" || b.Read("attempts.txt") != "1\n" {
		t.Errorf("failure %q, attempts %q", b.Read("failure.txt"), b.Read("attempts.txt"))
	}
}

// liveRun returns the id of the run that has not ended.
func (b *box) liveRun() string {
	runs := schedtest.OpenRows(b.Path(".sched"))
	if len(runs) != 1 {
		b.Fatalf("%d runs", len(runs))
	}
	return runs[0].ID
}
