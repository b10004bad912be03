//go:build linux

package cmd_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/redistest"
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

// leapDay is when flaky is due.
const leapDay = "2028-02-29T00:00:00Z"

// tickIn is the tick that comes so long after now.
func (b *box) tickIn(after time.Duration, args ...string) *exec.Cmd {
	c := b.command(append([]string{"run"}, args...)...)
	c.Env = append(c.Env, "SCHED_TEST_CLOCK_OFFSET="+after.String())
	return c
}

// tick runs that tick, and returns what it printed.
func (b *box) tick(after time.Duration, args ...string) string {
	b.Helper()
	out, err := b.tickIn(after, args...).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		b.Fatal(err)
	}
	return string(out)
}

// waits polls until a run waits for its attempt n, and no process watches any run.
func (b *box) waits(n int) {
	b.Helper()
	b.until(fmt.Sprintf("it waits for attempt %d", n), func() bool {
		out, _ := b.sched("history")
		return strings.Contains(out, fmt.Sprintf("waiting for attempt %d until ", n)) && b.unwatched()
	})
}

// unwatched reports whether no process looks after a run.
func (b *box) unwatched() bool { return len(owned(b.path(".sched"))) == 0 }

// waiting returns a box with a run of flaky whose second attempt is deferred.
func waiting(t *testing.T) *box {
	b := newBox(t, flaky)
	t.Cleanup(func() { // before it settles
		b.write("go", "")
		if out, _ := b.sched("history"); strings.Contains(out, "waiting for attempt") {
			b.sched("stop", "flaky")
		}
	})
	b.write("go", "")
	b.sched("run", "--at", leapDay, "--force")
	b.waits(2)
	return b
}

// again makes the next attempt wait for the file "go".
func (b *box) again() {
	os.Remove(b.path("go"))
	os.Remove(b.path("command.pid"))
}

func TestALongWaitForTheNextAttemptIsNoProcess(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if pids := children("", b.dir); len(pids) != 0 {
		t.Errorf("processes %v wait", pids)
	}
	if out, _ := b.sched("unlock", "flaky"); out != "nothing is locked\n" {
		t.Errorf("the mutex is not free: %s", out)
	}
	list, _ := b.sched("list")
	_, until, ok := strings.Cut(list, "waiting for attempt 2 until ")
	if !ok {
		t.Fatalf("sched list:\n%s", list)
	}
	until, _, _ = strings.Cut(until, "  ")
	if out, _ := b.sched("logs", "flaky"); !strings.Contains(out, "waits for attempt 2, until "+until+"\n") ||
		!strings.Contains(out, "attempt 1\n") {
		t.Errorf("until %s. sched logs:\n%s", until, out)
	}
	slot, _ := time.Parse(time.RFC3339, leapDay)
	if out, _ := b.sched("history", "flaky"); !strings.Contains(out,
		"\n"+slot.Format("2006-01-02 15:04:05")+"  flaky ") {
		t.Errorf("the slot is not %s in the history:\n%s", leapDay, out)
	}
	if out := b.tick(50 * time.Minute); out != "" {
		t.Errorf("a tick that comes too early: %s", out)
	}
	if out, _ := b.sched("run", "--at", "2099-01-01T00:00:00Z", "--force"); out != "" {
		t.Errorf("the tick of a minute that has not come: %s", out)
	}
	if out := b.tick(2*time.Hour, "--only", "flaky"); !strings.Contains(out,
		"flaky  attempt 2 started in the background") {
		t.Errorf("the tick whose time it is: %s", out)
	}
	b.waits(3)
	if b.read("failure.txt")+b.read("after.txt") != "" {
		t.Errorf("hooks fired between the attempts: %q, %q", b.read("failure.txt"), b.read("after.txt"))
	}
	b.write("good", "")
	b.tick(4 * time.Hour)
	r := b.outcome("flaky", 1)
	if r.Outcome != "succeeded" || r.Attempts != 3 || r.Started == nil || r.UserCPU <= 0 && r.Duration <= 0 {
		t.Errorf("%+v", r)
	}
	if out, _ := b.sched("logs", "flaky"); out != "attempt 1\nattempt 2\nattempt 3\n" {
		t.Errorf("sched logs: %q", out)
	}
	if b.read("before.txt") != "before\n" || b.read("success.txt") != "succeeded\n" ||
		b.read("after.txt") != "succeeded 3\n" || b.read("failure.txt") != "" {
		t.Errorf("before %q, success %q, after %q, failure %q",
			b.read("before.txt"), b.read("success.txt"), b.read("after.txt"), b.read("failure.txt"))
	}
}

func TestOnFailureFiresAfterTheLastDeferredAttempt(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.tick(2 * time.Hour)
	b.waits(3)
	b.tick(4 * time.Hour)
	if r := b.outcome("flaky", 1); r.Outcome != "failed" || r.Attempts != 3 {
		t.Errorf("%+v", r)
	}
	if b.read("failure.txt") != "failed\n" || b.read("after.txt") != "failed 3\n" {
		t.Errorf("failure %q, after %q", b.read("failure.txt"), b.read("after.txt"))
	}
}

// A run of the schedule has the mutex when the wait is over.
func TestAnAttemptWaitsForItsMutexAgain(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.sched("run", "--at", leapDay, "--force")
	b.pidIn("command.pid")
	for i := range time.Duration(2) {
		if out := b.tick(2*time.Hour + i*time.Minute); out != "" {
			t.Errorf("the mutex is held: %s", out)
		}
	}
	if out, _ := b.sched("history"); !strings.Contains(out, "waiting for attempt 2 until its mutex is free") {
		t.Errorf("sched history:\n%s", out)
	}
	b.write("good", "")
	b.write("go", "")
	b.outcome("flaky", 1)
	b.tick(2*time.Hour + 2*time.Minute)
	b.outcome("flaky", 2)
	var notes []string
	for _, r := range b.history("flaky") {
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
	b.sched("run", "--at", leapDay, "--force")
	b.pidIn("command.pid")
	b.tick(2 * time.Hour)
	if out := b.tick(25 * time.Hour); out != "" {
		t.Errorf("after 23 hours: %s", out)
	}
	if out := b.tick(27 * time.Hour); !strings.Contains(out, "attempt 2 could not start for 24 hours: still running") {
		t.Errorf("after more than a day: %s", out)
	}
	if r := b.outcome("flaky", 1); r.Outcome != "failed" || r.Attempts != 1 || b.read("failure.txt") != "failed\n" {
		t.Errorf("%+v, failure %q", r, b.read("failure.txt"))
	}
	if out, _ := b.sched("run", "--at", leapDay, "--force"); !strings.Contains(out, "skipped: still running") {
		t.Errorf("the mutex of the other run was broken: %s", out)
	}
	b.write("good", "")
}

// The whole tree of a later attempt is killed, as by a power cut.
func TestALaterAttemptIsLost(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.tick(2 * time.Hour)
	command, supervisor := b.pidIn("command.pid"), b.pidIn("supervisor.pid")
	witness := parent(t, supervisor)
	for _, pid := range []int{witness, supervisor, command} {
		b.kill(pid)
	}
	for _, pid := range []int{witness, supervisor, command} {
		b.gone(pid)
	}
	b.tick(2 * time.Hour)
	if r := b.outcome("flaky", 1); r.Outcome != "lost" || r.Attempts != 2 || r.ExitCode != nil {
		t.Errorf("%+v", r)
	}
	if b.read("failure.txt") != "lost\n" || b.read("attempts.txt") != "1\n2\n" {
		t.Errorf("failure %q, attempts %q", b.read("failure.txt"), b.read("attempts.txt"))
	}
}

func TestTheSupervisorOfALaterAttemptIsKilled(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.tick(2 * time.Hour)
	b.untilWrittenDown(b.pidIn("command.pid")) // a command that is not, and ends, may have succeeded or not
	b.kill(b.pidIn("supervisor.pid"))
	b.write("good", "")
	b.write("go", "")
	if r := b.outcome("flaky", 1); r.Outcome != "succeeded" || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
	if b.read("success.txt") != "succeeded\n" || b.read("before.txt") != "before\n" ||
		b.read("attempts.txt") != "1\n2\n" {
		t.Errorf("success %q, before %q, attempts %q", b.read("success.txt"),
			b.read("before.txt"), b.read("attempts.txt"))
	}
}

// Without its witness the supervisor still defers the next attempt, and the run is not lost.
func TestTheWitnessIsKilledBeforeAnAttemptIsDeferred(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.again()
	b.tick(2 * time.Hour)
	b.pidIn("command.pid")
	supervisor := b.pidIn("supervisor.pid")
	witness := parent(t, supervisor)
	b.kill(witness)
	b.gone(witness)
	b.write("go", "")
	b.gone(supervisor)
	b.waits(3)
	if out := b.tick(150 * time.Minute); out != "" {
		t.Errorf("it was not left alone: %s", out)
	}
	b.write("good", "")
	b.tick(4 * time.Hour)
	if r := b.outcome("flaky", 1); r.Outcome != "succeeded" || r.Attempts != 3 {
		t.Errorf("%+v", r)
	}
}

// Everything is killed between the note that an attempt starts and its start: no one can know
// whether it started, so it does not start again.
func TestAllIsKilledAsALaterAttemptStarts(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	row := openRows(b.path(".sched"))[0]
	db, err := state.Open(b.path(".sched"), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := db.Owners().Enroll(t.Context(), state.Tick)
	if err != nil {
		t.Fatal(err)
	}
	killed := db.Owners().Owned(owner)
	attempt := state.Attempt{Number: 2, At: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)}
	if err := errors.Join(killed.Take(t.Context(), row), killed.Start(t.Context(), row.ID, attempt), owner.Close(),
		db.Close()); err != nil {
		t.Fatal(err)
	}
	b.tick(0)
	if r := b.outcome("flaky", 1); r.Outcome != "lost" || r.Attempts != 2 || r.Started == nil ||
		strings.HasPrefix(*r.Started, "2026-01-01T01") {
		t.Errorf("%+v", r)
	}
	if b.read("failure.txt") != "lost\n" || b.read("attempts.txt") != "1\n" {
		t.Errorf("failure %q, attempts %q", b.read("failure.txt"), b.read("attempts.txt"))
	}
}

// Ticks that are killed at any moment, and two at once, start an attempt once.
func TestTicksAreKilledAsTheyGoOnWithAnAttempt(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.write("good", "")
	for delay := time.Duration(0); delay < 40*time.Millisecond; delay += 2 * time.Millisecond {
		first, second := b.tickIn(2*time.Hour), b.tickIn(2*time.Hour)
		for _, tick := range []*exec.Cmd{first, second} {
			if err := tick.Start(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(delay) // not a wait: the moment of the kill
		first.Process.Kill()
		first.Wait()
		second.Wait()
		b.until("nobody watches the run", b.unwatched)
		if b.count("attempts.txt") > 1 {
			break
		}
	}
	b.tick(2 * time.Hour)
	if r := b.outcome("flaky", 1); r.Attempts != 2 || r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
	if b.read("attempts.txt") != "1\n2\n" || b.count("after.txt") != 1 {
		t.Errorf("attempts %q, after %q", b.read("attempts.txt"), b.read("after.txt"))
	}
}

func TestARunThatWaitsIsFinishedByHand(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if out, code := b.sched("finish", "flaky"); code != 0 || !strings.Contains(out, "failed in") ||
		!strings.Contains(out, "finished by hand before attempt 2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.tick(2 * time.Hour)
	if r := b.outcome("flaky", 1); r.Outcome != "failed" || r.Attempts != 1 || *r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
	if b.read("failure.txt") != "failed\n" || b.read("attempts.txt") != "1\n" {
		t.Errorf("failure %q, attempts %q", b.read("failure.txt"), b.read("attempts.txt"))
	}
}

func TestARunThatWaitsIsStopped(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if out, code := b.sched("retry", b.liveRun()); code != 1 || !strings.Contains(out, "waits for its attempt 2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := b.sched("stop", "flaky"); code != 0 || !strings.Contains(out, "stopped in") ||
		!strings.Contains(out, ": sched stop by ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.tick(2 * time.Hour)
	if r := b.outcome("flaky", 1); r.Outcome != "stopped" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	if b.read("failure.txt") != "stopped\n" || b.read("attempts.txt") != "1\n" {
		t.Errorf("failure %q, attempts %q", b.read("failure.txt"), b.read("attempts.txt"))
	}
}

// liveRun returns the id of the run that has not ended.
func (b *box) liveRun() string {
	runs := openRows(b.path(".sched"))
	if len(runs) != 1 {
		b.Fatalf("%d runs", len(runs))
	}
	return runs[0].ID
}

// The server whose attempt failed is off when the next one is due. It makes that attempt when it is
// back, and no other server does.
func TestARetryStaysOnItsServer(t *testing.T) {
	t.Parallel()
	servers := newServers(t, 2, redistest.Start(t).URL, `
tasks:
  - name: flaky
    cron: "0 0 29 2 *"
    background: true
    one_server: true
    without_overlapping: true
    retry: {attempts: 2, delay: 1h}
    command: "echo $SCHED_ATTEMPT $PWD >> $SHARED/attempts; [ $SCHED_ATTEMPT = 2 ]"
`)
	first, other := servers[0], servers[1]
	first.tick("--at", leapDay, "--force")
	first.waits(2)
	for _, s := range servers {
		s.env = append(s.env, "SCHED_TEST_CLOCK_OFFSET=2h")
	}
	for range 2 {
		if out, _, _ := other.tick(); strings.Contains(out, "flaky") {
			t.Errorf("web-2: %s", out)
		}
	}
	if out, _, _ := first.tick(); !strings.Contains(out, "flaky  attempt 2 started in the background") {
		t.Errorf("web-1: %s", out)
	}
	first.until("it has ended", func() bool { return first.unwatched() && len(first.linesOf("attempts")) == 2 })
	if got := first.linesOf("attempts"); !slices.Equal(got, []string{"1 " + first.dir, "2 " + first.dir}) {
		t.Errorf("attempts %q", got)
	}
}
