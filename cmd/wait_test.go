//go:build linux

package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/testing/redistest"
)

// The first has the mutex until the file "go" is there, and the others wait for it.
const inTurn = `
defaults: {background: true, mutex: db, without_overlapping: wait, kill_after: 1s, env: {SHARED: .}}
tasks:
  - name: first
    cron: "* * * * *"
    command: |
      echo $SCHED_TASK >> $SHARED/order; echo $PPID > supervisor.pid; echo $$ > command.tmp; mv command.tmp command.pid
      exec await go
  - {name: second, cron: "* * * * *", command: &order 'echo $SCHED_TASK >> $SHARED/order'}
  - {name: third, cron: "* * * * *", command: *order}
`

// waiter waits until a run of the task stands in the queue, and returns its witness and its
// supervisor.
func (b *box) waiter(task string) (witness, supervisor int) {
	b.Helper()
	b.until(task+" waits", func() bool {
		for _, row := range openRows(b.path(".sched")) {
			if row.Task == task && row.Queued() {
				id := fmt.Sprint(row.Owner)
				witness, supervisor = processOf("witness", id), processOf("start", id)
			}
		}
		return witness != 0 && supervisor != 0
	})
	return witness, supervisor
}

// processOf returns the process of sched whose arguments begin with these; 0 for none.
func processOf(args ...string) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		text, _ := os.ReadFile(path)
		words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		if len(words) > len(args) && slices.Equal(words[1:len(args)+1], args) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			return pid
		}
	}
	return 0
}

// inQueue starts the first, and then a run of each of the tasks, which waits.
func (b *box) inQueue(tasks ...string) {
	b.Helper()
	b.says("run", "--only", "first")
	b.pidIn("command.pid")
	for _, task := range tasks {
		b.says("run", "--only", task)
		b.waiter(task)
	}
}

// ran waits until so many commands have begun, and checks in which order.
func (b *box) ran(tasks ...string) {
	b.Helper()
	b.until(fmt.Sprintf("%v have run", tasks), func() bool { return b.count("order") >= len(tasks) })
	if got := strings.Fields(b.read("order")); !slices.Equal(got, tasks) {
		b.Errorf("they ran in the order %v, not %v", got, tasks)
	}
	for _, task := range tasks {
		if r := b.outcome(task, 1); r.Outcome != "succeeded" && task != "first" {
			b.Errorf("%s %s: %s", task, r.Outcome, r.Reason)
		}
	}
}

// The witness of a supervisor that was killed waits on in its place.
func TestARunWaitsOnWhenItsSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+inTurn)
	b.inQueue("second", "third")
	witness, supervisor := b.waiter("second")
	b.kill(supervisor)
	b.gone(supervisor)
	b.until("its witness has taken the run over", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", witness))
		return strings.Contains(string(text), "finish\x00--tick")
	})
	b.until("it stands in the queue again", func() bool {
		return slices.ContainsFunc(openRows(b.path(".sched")),
			func(r state.Row) bool { return r.Task == "second" && r.Queued() }) && b.places() == 2
	})
	b.write("go", "")
	b.ran("first", "second", "third")
	b.until("nobody waits any more", func() bool { return b.places() == 0 })
}

// places returns how many runs wait for a mutex or a seat in a process that lives.
func (b *box) places() int {
	db, err := state.OpenRead(b.path(".sched"), state.Patience)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rows, err := db.LiveQueue(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return len(rows)
}

// A person said how the lost run of a mutex had ended. Once that was taken for the end of the run
// behind it, which waited and had not started.
func TestARunThatWaitsIsNotFinishedInPlaceOfTheLostOne(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+inTurn)
	b.inQueue("second")
	running := b.pidIn("supervisor.pid")
	witness, supervisor := b.waiter("second")
	for _, pid := range []int{witness, supervisor, parent(t, running), running, b.pidIn("command.pid")} {
		b.kill(pid)
		b.gone(pid)
	}
	b.says("finish", "db", "0")
	if r := b.outcome("first", 1); r.Outcome != "succeeded" {
		t.Errorf("first %s: %s", r.Outcome, r.Reason)
	}
	b.says("finish", "db", "0") // once more: what is finished stays as it is
	if r := b.history("second"); len(r) != 0 {
		t.Fatalf("second %s: %s", r[0].Outcome, r[0].Reason)
	}
	for _, row := range openRows(b.path(".sched")) {
		if row.Task == "second" {
			b.says("finish", "db", "0", "--run", row.ID)
		}
	}
	if r := b.outcome("second", 1); r.Outcome != "stopped" || r.ExitCode != nil ||
		r.Reason != "finished by hand while it waited" {
		t.Errorf("second %s: %s", r.Outcome, r.Reason)
	}
	if got := b.read("order"); got != "first\n" {
		t.Errorf("began:\n%s", got)
	}
}

// If witness and supervisor are gone, the next tick gives the run to another supervisor: nothing is
// lost, and nothing runs twice. Meanwhile its place in the queue blocks nobody.
func TestARunWaitsOnWhenAllThatWatchesItIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+strings.Replace(inTurn, `second, cron: "* * * * *"`, `second, cron: "0 0 29 2 *"`, 1))
	b.inQueue()
	b.says("run", "--only", "second", "--at", "2028-02-29 00:00", "--force")
	witness, supervisor := b.waiter("second")
	b.says("run", "--only", "third")
	b.waiter("third")
	b.kill(witness)
	b.kill(supervisor)
	b.gone(witness)
	b.gone(supervisor)
	b.write("go", "")
	b.ran("first", "third")
	if out := b.says("history", "second"); !strings.Contains(out, "waiting for ") {
		t.Errorf("before the next tick:\n%s", out)
	}
	b.says("run", "--only", "third") // which leaves it alone
	b.says("run", "--only", "second")
	b.until("second has ended", func() bool { r := b.history("second"); return len(r) == 1 && r[0].Outcome == "succeeded" })
	if n := strings.Count(b.read("order"), "second"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The run that has the mutex dies, with all processes that watch it: the next run in the queue
// starts.
func TestTheNextStartsWhenTheHolderDies(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+inTurn)
	b.inQueue("second", "third")
	supervisor := b.pidIn("supervisor.pid")
	for _, pid := range []int{parent(t, supervisor), supervisor, b.pidIn("command.pid")} {
		b.kill(pid)
	}
	b.until("both have run", func() bool { return b.count("order") == 3 })
	if got := b.read("order"); got != "first\nsecond\nthird\n" {
		t.Errorf("they ran in the order\n%s", got)
	}
	b.write("go", "")
	b.says("run", "--only", "first") // finishes the lost one
}

// A run that is asked to stop while nothing watches it is stopped by sched stop itself.
func TestARunThatWaitsIsStoppedThoughNobodyWatchesIt(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+inTurn)
	b.inQueue("second")
	witness, supervisor := b.waiter("second")
	b.kill(witness)
	b.kill(supervisor)
	b.gone(witness)
	b.gone(supervisor)
	b.says("stop", "second")
	if r := b.outcome("second", 1); r.Outcome != "stopped" || !strings.HasPrefix(r.Reason, "sched stop by ") {
		t.Errorf("it %s: %s", r.Outcome, r.Reason)
	}
	b.write("go", "")
}

// The supervisor is told to end, as by `sched work`: the run ends as stopped.
func TestARunThatWaitsEndsWithSchedWork(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+inTurn)
	b.inQueue("second")
	_, supervisor := b.waiter("second")
	process, _ := os.FindProcess(supervisor)
	process.Signal(os.Interrupt)
	if r := b.outcome("second", 1); r.Outcome != "stopped" || !strings.HasPrefix(r.Reason, "while it waited: ") {
		t.Errorf("it %s: %s", r.Outcome, r.Reason)
	}
	b.write("go", "")
}

// A run also needs a seat. It stands in the queue for seats only when its mutex is free, so it
// keeps no seat empty.
func TestARunThatWaitsForItsMutexIsNotInTheWayOfThoseThatNeedASeat(t *testing.T) {
	t.Parallel()
	b := newBox(t, `timezone: UTC
pools: {few: 1}
defaults: {background: true, pool: few, without_overlapping: wait}
tasks:
  - name: first
    cron: "* * * * *"
    pool: false
    mutex: db
    command: "echo first >> order; echo $$ > command.tmp; mv command.tmp command.pid; exec await go"
  - {name: second, cron: "* * * * *", mutex: db, command: &order 'echo $SCHED_TASK >> order'}
  - {name: third, cron: "* * * * *", command: *order}
`)
	b.inQueue("second")
	b.says("run", "--only", "third")
	b.until("third has run", func() bool { return b.read("order") == "first\nthird\n" })
	b.write("go", "")
	b.ran("first", "third", "second")
}

// Runs wait on several servers, in no order that anybody promises, and all of them run. A server
// that died is in nobody's way.
func TestRunsWaitOnSeveralServersAndADeadOneIsInNobodysWay(t *testing.T) {
	t.Parallel()
	s := newServers(t, 3, redistest.Start(t).URL, strings.NewReplacer(", env: {SHARED: .}", "", `second, cron: "* * * * *"`, `second, cron: "0 0 29 2 *"`).Replace(inTurn))
	leapDay := []string{"--only", "second", "--at", "2028-02-29 00:00", "--force"}
	s[0].tick("--only", "first")
	s[0].pids()
	s[1].tick(leapDay...)
	s[1].waiter("second")
	s[2].tick("--only", "third")
	s[2].waiter("third")
	s[0].tick(leapDay...)
	witness, supervisor := s[0].waiter("second")
	s[0].tick("--only", "third")
	s[0].waiter("third")
	for _, pid := range []int{witness, supervisor} {
		s[0].kill(pid)
		s[0].gone(pid)
	}
	s[0].write("go", "")
	s[0].until("four commands have begun", func() bool { return len(s[0].linesOf("order")) >= 4 })
	got := s[0].linesOf("order")
	slices.Sort(got)
	if !slices.Equal(got, []string{"first", "second", "third", "third"}) {
		t.Errorf("these ran: %v", got)
	}
	s[0].tick("--only", "second") // the server is back, and its run waits on
	s[0].until("the last has run", func() bool { return strings.Count(strings.Join(s[0].linesOf("order"), " "), "second") == 2 })
	s[0].until("it has ended", func() bool { r := s[0].history("second"); return len(r) == 1 && r[0].Outcome == "succeeded" })
}

// The supervisor of a run that waits is killed at random moments around the end of the holder: the
// command runs once, or the run is lost.
func TestAWaitIsKilledWhileItEnds(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 20, 60, 100, 140, 200} {
		b := newBox(t, "timezone: UTC\n"+inTurn)
		b.inQueue("second")
		_, supervisor := b.waiter("second")
		b.write("go", "")
		time.AfterFunc(after*time.Millisecond, func() {
			if process, err := os.FindProcess(supervisor); err == nil {
				process.Kill()
			}
		})
		r := b.outcome("second", 1)
		ran := strings.Count(b.read("order"), "second")
		succeeded := r.Outcome == "succeeded" && ran == 1
		// Between the start and the record of its pid nobody knows whether the command runs.
		isLost := r.Outcome == "lost" && r.Reason == "sched was killed before the command started, or right after"
		if !succeeded && (!isLost || ran > 1) {
			t.Errorf("killed after %d ms it ran %d times and %s: %s", after, ran, r.Outcome, r.Reason)
		}
	}
}

// A deferred retry does not wait in a queue, so it overtakes nobody in it, though its mutex is free
// at the moment.
func TestADeferredRetryDoesNotOvertakeTheRunsThatWait(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	b.write("good", "")
	db := state.At(b.path(".sched"), state.Patience)
	t.Cleanup(func() { db.Close() })
	waiter := state.Row{ID: outcome.NewID(), Task: "other", Mutex: "flaky", Origin: "a test",
		Wait: state.Wait{For: state.ForMutex, Since: time.Now()}}
	self := db.Self(state.Supervisor) // an owner that is forgotten is dead, as soon as its file is collected
	t.Cleanup(self.Close)
	own, err := self.Owned(t.Context())
	if err == nil {
		err = own.Begin(t.Context(), waiter)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.tick(2 * time.Hour)
	if got := b.read("attempts.txt"); got != "1\n" {
		t.Errorf("attempts:\n%s", got)
	}
	if err := own.End(t.Context(), waiter.ID,
		state.End{Result: state.Result{Outcome: outcome.Skipped, Ended: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	b.tick(2 * time.Hour)
	r := b.outcome("flaky", 1)
	if r.Outcome != "succeeded" || len(r.Notes) != 1 ||
		!strings.HasPrefix(r.Notes[0], "attempt 2 had to wait: other waits for mutex flaky since ") {
		t.Errorf("it %s: %q", r.Outcome, r.Notes)
	}
}
