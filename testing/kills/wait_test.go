//go:build linux

package kills_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/testing/schedtest"
)

// inQueue starts the first, and then a run of each of the tasks, which waits.
func (b *box) inQueue(tasks ...string) {
	b.Helper()
	b.Says("run", "--only", "first")
	b.PidIn("command.pid")
	for _, task := range tasks {
		b.Says("run", "--only", task)
		b.Waiter(task)
	}
}

// ran waits until so many commands have begun, and checks in which order.
func (b *box) ran(tasks ...string) {
	b.Helper()
	b.Until(fmt.Sprintf("%v have run", tasks), func() bool { return b.Count("order") >= len(tasks) })
	if got := strings.Fields(b.Read("order")); !slices.Equal(got, tasks) {
		b.Errorf("they ran in the order %v, not %v", got, tasks)
	}
	for _, task := range tasks {
		if r := b.Outcome(task, 1); r.Outcome != "succeeded" && task != "first" {
			b.Errorf("%s %s: %s", task, r.Outcome, r.Reason)
		}
	}
}

// The witness of a supervisor that was killed waits on in its place.
func TestARunWaitsOnWhenItsSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+schedtest.InTurn)
	b.inQueue("second", "third")
	witness, supervisor := b.Waiter("second")
	b.Kill(supervisor)
	b.Gone(supervisor)
	b.Until("its witness has taken the run over", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", witness))
		return strings.Contains(string(text), "finish\x00--tick")
	})
	b.Until("it stands in the queue again", func() bool {
		return slices.ContainsFunc(schedtest.OpenRows(b.Path(".sched")),
			func(r state.Row) bool { return r.Task == "second" && r.Queued() }) && b.places() == 2
	})
	b.Write("go", "")
	b.ran("first", "second", "third")
	b.Until("nobody waits any more", func() bool { return b.places() == 0 })
}

// places returns how many runs wait for a mutex or a seat in a process that lives.
func (b *box) places() int {
	db, err := state.OpenRead(b.Path(".sched"), state.Patience)
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
	b := newBox(t, "timezone: UTC\n"+schedtest.InTurn)
	b.inQueue("second")
	running := b.PidIn("supervisor.pid")
	witness, supervisor := b.Waiter("second")
	for _, pid := range []int{witness, supervisor, schedtest.Parent(t, running), running, b.PidIn("command.pid")} {
		b.Kill(pid)
		b.Gone(pid)
	}
	b.Says("finish", "db", "0")
	if r := b.Outcome("first", 1); r.Outcome != "succeeded" {
		t.Errorf("first %s: %s", r.Outcome, r.Reason)
	}
	b.Says("finish", "db", "0") // once more: what is finished stays as it is
	if r := b.History("second"); len(r) != 0 {
		t.Fatalf("second %s: %s", r[0].Outcome, r[0].Reason)
	}
	for _, row := range schedtest.OpenRows(b.Path(".sched")) {
		if row.Task == "second" {
			b.Says("finish", "db", "0", "--run", row.ID)
		}
	}
	if r := b.Outcome("second", 1); r.Outcome != "stopped" || r.ExitCode != nil ||
		r.Reason != "finished by hand while it waited" {
		t.Errorf("second %s: %s", r.Outcome, r.Reason)
	}
	if got := b.Read("order"); got != "first\n" {
		t.Errorf("began:\n%s", got)
	}
}

// If witness and supervisor are gone, the next tick gives the run to another supervisor: nothing is
// lost, and nothing runs twice. Meanwhile its place in the queue blocks nobody.
func TestARunWaitsOnWhenAllThatWatchesItIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+strings.Replace(schedtest.InTurn, `second, cron: "* * * * *"`, `second, cron: "0 0 29 2 *"`, 1))
	b.inQueue()
	b.Says("run", "--only", "second", "--at", "2028-02-29 00:00", "--force")
	witness, supervisor := b.Waiter("second")
	b.Says("run", "--only", "third")
	b.Waiter("third")
	b.Kill(witness)
	b.Kill(supervisor)
	b.Gone(witness)
	b.Gone(supervisor)
	b.Write("go", "")
	b.ran("first", "third")
	if out := b.Says("history", "second"); !strings.Contains(out, "waiting for ") {
		t.Errorf("before the next tick:\n%s", out)
	}
	b.Says("run", "--only", "third") // which leaves it alone
	b.Says("run", "--only", "second")
	b.Until("second has ended", func() bool { r := b.History("second"); return len(r) == 1 && r[0].Outcome == "succeeded" })
	if n := strings.Count(b.Read("order"), "second"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The run that has the mutex dies, with all processes that watch it: the next run in the queue
// starts.
func TestTheNextStartsWhenTheHolderDies(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+schedtest.InTurn)
	b.inQueue("second", "third")
	supervisor := b.PidIn("supervisor.pid")
	for _, pid := range []int{schedtest.Parent(t, supervisor), supervisor, b.PidIn("command.pid")} {
		b.Kill(pid)
	}
	b.Until("both have run", func() bool { return b.Count("order") == 3 })
	if got := b.Read("order"); got != "first\nsecond\nthird\n" {
		t.Errorf("they ran in the order\n%s", got)
	}
	b.Write("go", "")
	b.Says("run", "--only", "first") // finishes the lost one
}

// A run that is asked to stop while nothing watches it is stopped by sched stop itself.
func TestARunThatWaitsIsStoppedThoughNobodyWatchesIt(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+schedtest.InTurn)
	b.inQueue("second")
	witness, supervisor := b.Waiter("second")
	b.Kill(witness)
	b.Kill(supervisor)
	b.Gone(witness)
	b.Gone(supervisor)
	b.Says("stop", "second")
	if r := b.Outcome("second", 1); r.Outcome != "stopped" || !strings.HasPrefix(r.Reason, "sched stop by ") {
		t.Errorf("it %s: %s", r.Outcome, r.Reason)
	}
	b.Write("go", "")
}

// The supervisor is told to end, as by `sched work`: the run ends as stopped.
func TestARunThatWaitsEndsWithSchedWork(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+schedtest.InTurn)
	b.inQueue("second")
	_, supervisor := b.Waiter("second")
	b.Until("the supervisor has the run, and catches signals", func() bool {
		folder := fmt.Sprintf("/proc/%d/fd", supervisor)
		open, _ := os.ReadDir(folder)
		return slices.ContainsFunc(open, func(file os.DirEntry) bool {
			path, _ := os.Readlink(folder + "/" + file.Name())
			return strings.Contains(path, "/output/second/")
		})
	})
	process, _ := os.FindProcess(supervisor)
	process.Signal(os.Interrupt)
	if r := b.Outcome("second", 1); r.Outcome != "stopped" || !strings.HasPrefix(r.Reason, "while it waited: ") {
		t.Errorf("it %s: %s", r.Outcome, r.Reason)
	}
	b.Write("go", "")
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
	b.Says("run", "--only", "third")
	b.Until("third has run", func() bool { return b.Read("order") == "first\nthird\n" })
	b.Write("go", "")
	b.ran("first", "third", "second")
}

// The supervisor of a run that waits is killed at random moments around the end of the holder: the
// command runs once, or the run is lost.
func TestAWaitIsKilledWhileItEnds(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 20, 60, 100, 140, 200} {
		b := newBox(t, "timezone: UTC\n"+schedtest.InTurn)
		b.inQueue("second")
		_, supervisor := b.Waiter("second")
		b.Write("go", "")
		time.AfterFunc(after*time.Millisecond, func() {
			if process, err := os.FindProcess(supervisor); err == nil {
				process.Kill()
			}
		})
		r := b.Outcome("second", 1)
		ran := strings.Count(b.Read("order"), "second")
		succeeded := r.Outcome == "succeeded" && ran == 1
		// Between the start and the record of its pid nobody knows whether the command runs.
		isLost := r.Outcome == "lost" && r.Reason == "nobody knows whether its command started: the process that was to start it is gone"
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
	b.Write("good", "")
	db := state.At(b.Path(".sched"), state.Patience)
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
	b.Tick(2 * time.Hour)
	if got := b.Read("attempts.txt"); got != "1\n" {
		t.Errorf("attempts:\n%s", got)
	}
	end := state.Ending{Result: state.Result{Outcome: outcome.Skipped, Ended: time.Now()}}
	if err := own.Apply(t.Context(), state.End(end), &waiter); err != nil {
		t.Fatal(err)
	}
	b.Tick(2 * time.Hour)
	r := b.Outcome("flaky", 1)
	if r.Outcome != "succeeded" || len(r.Notes) != 1 ||
		!strings.HasPrefix(r.Notes[0], "attempt 2 had to wait: other waits for mutex flaky since ") {
		t.Errorf("it %s: %q", r.Outcome, r.Notes)
	}
}
