//go:build linux

package kills_test

import (
	"database/sql"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"sched/testing/machine"
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
	n := machine.Sized(10, 30)
	for i := range n {
		b.Sched("trigger", []string{"front", "back"}[i%2])
		tick := b.TickIn(2*time.Minute, "-q")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*30/n) * time.Millisecond) // not a wait: the moment of the kill
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
		b.Sched("trigger", "front")
	}
	var ticks []*exec.Cmd
	for range 6 {
		tick := b.TickIn(2*time.Minute, "-q")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		ticks = append(ticks, tick)
	}
	for _, tick := range ticks {
		tick.Wait()
	}
	b.allAnswered(n)
	if got := b.Count("ran.txt"); got != n {
		t.Errorf("%d of %d ran", got, n)
	}
}

// allAnswered runs ticks until nothing waits, and checks that each of n requests has one outcome
// that is true.
func (b *box) allAnswered(n int) {
	b.Helper()
	b.Until("nothing waits or runs", func() bool {
		b.Tick(3 * time.Minute)
		out, _ := b.Sched("history", "-n", "0")
		return !strings.Contains(out, "waiting") && b.OpenRuns() == ""
	})
	records, ran := b.History(""), b.Read("ran.txt")
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
	b.Sched("trigger", "front")
	b.Write(".sched/output", "in the way")
	if out := b.Tick(2 * time.Minute); !strings.Contains(out, "front waits on, because it cannot begin: ") {
		t.Errorf("nothing was said: %s", out)
	}
	if err := exec.Command("rm", b.Path(".sched/output")).Run(); err != nil {
		t.Fatal(err)
	}
	b.Tick(2 * time.Minute)
	b.Tick(2 * time.Minute)
	if r := b.Outcome("front", 1); r.Outcome != "succeeded" || b.Count("ran.txt") != 1 {
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
	b.Sched("run", "--at", "2024-02-29 00:00")
	db, err := sql.Open("sqlite", b.Path(".sched/sched.db"))
	if err == nil {
		_, err = db.Exec("CREATE TRIGGER full BEFORE INSERT ON run WHEN NEW.task = 'two' " +
			"BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	out, code := b.Sched("retry", "one", "two", "--in", "1h")
	if code != 1 || !strings.Contains(out, "one, two cannot be asked for: ") {
		t.Errorf("%d: %s", code, out)
	}
	if out, _ := b.Sched("history"); strings.Contains(out, "waiting") {
		t.Errorf("one of them waits: %s", out)
	}
}
