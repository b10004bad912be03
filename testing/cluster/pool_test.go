//go:build linux

package cluster_test

import (
	"strings"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// Two tasks of a pool with one seat. The second also has a mutex. They last until the file "go" is
// there.
const pooled = `
pools: {db: 1}
defaults: {pool: db, background: true, kill_after: 1s}
tasks:
  - name: long
    cron: "* * * * *"
    command: &wait |
      echo $PPID > supervisor.pid; echo $$ > command.tmp; mv command.tmp command.pid
      exec await go
  - {name: other, cron: "* * * * *", without_overlapping: true, command: *wait}
`

// The servers of a store share the seats of a pool. The seat of a dead server is free within a
// lease. A run keeps its seat without its supervisor.
func TestServersShareThePoolAndADeadOneLeavesNoSeatTaken(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	s := newServers(t, 2, redistest.Start(t).URL, pooled)
	s[0].tick("--only", "other")
	witness, supervisor, command := s[0].pids()

	skipped := func() {
		t.Helper()
		out, code, _ := s[1].tick("--only", "long")
		if !strings.Contains(out, "skipped: pool db is full (1 of 1): other since ") ||
			!strings.Contains(out, "on web-1") || code != 0 {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	}
	skipped()
	if out, _ := s[1].sched("why", "long"); !strings.Contains(out, "pool db is full (1 of 1): other since ") {
		t.Errorf("why does not know who has the seat:\n%s", out)
	}
	if out, _ := s[1].sched("run", "--dry-run", "--only", "long"); !strings.Contains(out,
		"would be skipped: pool db is full") {
		t.Errorf("a dry run does not know who has the seat:\n%s", out)
	}
	s[0].Kill(supervisor)
	s[0].Gone(supervisor)
	// the lease is one of 5 s
	for begun := time.Now(); time.Since(begun) < 7*time.Second; time.Sleep(200 * time.Millisecond) {
		skipped()
	}
	for _, pid := range []int{witness, command} {
		s[0].Kill(pid)
	}
	if took := s[1].takesOver(); took > 5*time.Second+machine.Within(5*time.Second) {
		t.Errorf("it took %s", took)
	}
	// It comes back: its run is lost, and the seat stays with the other.
	s[0].tick()
	if out, _, _ := s[0].tick("--only", "long"); !strings.Contains(out, "pool db is full") ||
		!strings.Contains(out, "on web-2") {
		t.Errorf("finishing the lost run freed the seat of the other:\n%s", out)
	}
}

// On one machine the kernel has the seat: it is free as soon as nothing of the run lives, and not
// before.
func TestASeatLivesAsLongAsTheProcessesOfItsRun(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\n"+pooled)
	b.Says("run", "--only", "other")
	command, supervisor := b.PidIn("command.pid"), b.PidIn("supervisor.pid")
	b.Kill(schedtest.Parent(t, supervisor))
	b.Kill(supervisor)
	b.Gone(supervisor)
	if out := b.Says("run", "--only", "long"); !strings.Contains(out, "pool db is full (1 of 1): other since ") {
		t.Errorf("the command lives, and its seat is free:\n%s", out)
	}
	b.Kill(command)
	b.Until("the seat is free", func() bool {
		out := b.Says("run", "--only", "long")
		return strings.Contains(out, "long") && strings.Contains(out, "started in the background")
	})
	b.Write("go", "")
	b.Until("it has ended", func() bool { return strings.Contains(b.Says("history", "long"), "succeeded") })
	b.Until("no seat is taken", func() bool { return !strings.Contains(b.Says("status"), "pool db") })
}

// A retry that a later tick comes back to gives its seat back meanwhile, and takes a seat again.
func TestADeferredRetryTakesItsSeatAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t, `timezone: UTC
pools: {db: 1}
defaults: {pool: db, background: true}
tasks:
  - {name: flaky, cron: "0 0 29 2 *", retry: {attempts: 2, delay: 2m}, without_overlapping: true, command: "exec test -e good"}
  - {name: long, cron: "0 0 29 2 *", command: "echo $$ > command.tmp; mv command.tmp command.pid; exec await go"}
`)
	b.Says("run", "--at", "2028-02-29 00:00", "--force", "--only", "flaky")
	b.Waits(2)
	b.Says("run", "--at", "2028-02-29 00:00", "--force", "--only", "long")
	b.PidIn("command.pid") // which has the seat now
	b.Write("good", "")
	b.Tick(4 * time.Minute)
	if out := b.Says("history", "flaky"); !strings.Contains(out,
		"waiting for attempt 2 until its mutex, or a seat of pool db, is free") {
		t.Errorf("it does not wait for its seat:\n%s", out)
	}
	b.Write("go", "")
	b.Until("long has ended", func() bool { return strings.Contains(b.Says("history", "long"), "succeeded") })
	b.Until("the second attempt succeeds", func() bool {
		b.Tick(5 * time.Minute)
		return strings.Contains(b.Says("history", "flaky"), "succeeded")
	})
}

// A command inherits both locks, by way of the process that becomes it, too.
func TestTheCommandInheritsItsMutexAndItsSeat(t *testing.T) {
	t.Parallel()
	b := newBox(t, `timezone: UTC
pools: {db: 1}
tasks:
- group: all
  pool: db
  without_overlapping: true
  command: "readlink /proc/$$/fd/3 /proc/$$/fd/4 >> $SCHED_TASK; [ ! -e /proc/$$/fd/5 ]"
  tasks:
  - {name: plain, cron: "* * * * *"}
  - {name: nice, cron: "* * * * *", nice: 1}
  - {name: back, cron: "* * * * *", background: true}
`)
	for _, task := range []string{"plain", "nice", "back"} {
		b.Says("run", "--only", task)
		b.Until(task+" succeeds", func() bool { return strings.Contains(b.Says("history", task), "succeeded") })
		if got := b.Read(task); !strings.Contains(got, "/locks/"+task+".lock\n") ||
			!strings.HasSuffix(got, "/locks/db#1.lock\n") {
			t.Errorf("%s inherits %q", task, got)
		}
	}
}
