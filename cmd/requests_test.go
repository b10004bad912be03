//go:build linux

package cmd_test

import (
	"database/sql"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

const requested = `
tasks:
  - {name: front, cron: "0 0 29 2 *", command: echo $SCHED_RUN >> ran.txt, on_failure: 'true'}
  - {name: back, cron: "0 0 29 2 *", background: true, without_overlapping: true, command: echo $SCHED_RUN >> ran.txt}
`

// A tick is killed at any moment. Each request has one outcome in the end, and never ran twice.
func TestTicksAreKilledAsTheyAnswerRequests(t *testing.T) {
	t.Parallel()
	b := newBox(t, requested)
	const n = 30
	for i := range n {
		b.sched("trigger", []string{"front", "back"}[i%2])
		tick := b.tickIn(2*time.Minute, "-q")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * time.Millisecond) // not a wait: the moment of the kill
		tick.Process.Kill()
		tick.Wait()
	}
	b.allAnswered(n)
}

func TestManyTicksAtOnceAnswerEachRequestOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t, requested)
	const n = 10
	for range n {
		b.sched("trigger", "front")
	}
	var ticks []*exec.Cmd
	for range 6 {
		tick := b.tickIn(2*time.Minute, "-q")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		ticks = append(ticks, tick)
	}
	for _, tick := range ticks {
		tick.Wait()
	}
	b.allAnswered(n)
	if got := b.count("ran.txt"); got != n {
		t.Errorf("%d of %d ran", got, n)
	}
}

// allAnswered runs ticks until nothing waits, and checks that each of n requests has one outcome
// that is true.
func (b *box) allAnswered(n int) {
	b.Helper()
	b.until("nothing waits or runs", func() bool {
		b.tick(3 * time.Minute)
		out, _ := b.sched("history", "-n", "0")
		return !strings.Contains(out, "waiting") && b.openRuns() == ""
	})
	records, ran := b.history(""), b.read("ran.txt")
	if len(records) != n {
		b.Errorf("%d records of %d requests", len(records), n)
	}
	for _, r := range records {
		times := strings.Count(ran, r.Run)
		if times > 1 || times == 0 && r.Outcome != "lost" {
			b.Errorf("run %s %s (%s), and its command ran %d times", r.Run, r.Outcome, r.Reason, times)
		}
	}
}

// A request stays until it is answered, whatever happens, even if for a while nothing can be
// written in the state folder.
func TestARequestWaitsWhileItCannotBegin(t *testing.T) {
	t.Parallel()
	b := newBox(t, requested)
	b.sched("trigger", "front")
	b.write(".sched/output", "in the way")
	if out := b.tick(2 * time.Minute); !strings.Contains(out, "front waits on, because it cannot begin: ") {
		t.Errorf("nothing was said: %s", out)
	}
	if err := exec.Command("rm", b.path(".sched/output")).Run(); err != nil {
		t.Fatal(err)
	}
	b.tick(2 * time.Minute)
	b.tick(2 * time.Minute)
	if r := b.outcome("front", 1); r.Outcome != "succeeded" || b.count("ran.txt") != 1 {
		t.Errorf("%+v", r)
	}
}

// A retry of several runs asks for all of them or, if the database fails in between, for none.
func TestARetryOfSeveralRunsIsAllOrNone(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: one, cron: "0 0 29 2 *", command: exit 1}
  - {name: two, cron: "0 0 29 2 *", command: exit 1}
`)
	b.sched("run", "--at", "2024-02-29 00:00")
	db, err := sql.Open("sqlite", b.path(".sched/sched.db"))
	if err == nil {
		_, err = db.Exec("CREATE TRIGGER full BEFORE INSERT ON run WHEN NEW.task = 'two' " +
			"BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	out, code := b.sched("retry", "one", "two", "--in", "1h")
	if code != 1 || !strings.Contains(out, "one, two cannot be asked for: ") {
		t.Errorf("%d: %s", code, out)
	}
	if out, _ := b.sched("history"); strings.Contains(out, "waiting") {
		t.Errorf("one of them waits: %s", out)
	}
}
