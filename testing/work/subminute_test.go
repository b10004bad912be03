//go:build linux

package work_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// slots returns the outcome of each slot of a task in the first minute of these tests, by its
// second. A missing slot, or a slot with two records, fails the test.
func (b *box) slots(task string, every int) map[int]schedtest.Record {
	b.Helper()
	all := map[int]schedtest.Record{}
	for _, r := range b.History(task) {
		at, err := time.Parse(time.RFC3339, r.Slot)
		if err != nil {
			b.Fatal(err)
		}
		if _, twice := all[at.Second()]; twice {
			b.Errorf("%s has two records of %s", task, r.Slot)
		}
		all[at.Second()] = r
	}
	if len(all) != 60/every {
		b.Errorf("%s has %d records, not %d", task, len(all), 60/every)
	}
	return all
}

func (b *box) seconds(name string) (seconds []string) {
	for _, line := range strings.Fields(b.Read(name)) {
		seconds = append(seconds, line[17:19])
	}
	return seconds
}

// The tick of 10:00 begins when 54 s of it have passed, so it takes six more.
func TestSlotsWithinAMinuteStartOnTime(t *testing.T) {
	t.Parallel()
	schedtest.Unhurried(t, func(slow func(string, ...any)) { tellOfSlotsWithinAMinute(t, slow) })
}

func tellOfSlotsWithinAMinute(t *testing.T, slow func(string, ...any)) {
	b := newBox(t, `
timezone: UTC
tasks:
  - group: all
    command: echo $SCHED_SLOT >> $SCHED_TASK.txt
    tasks:
      - {name: fore, every: second}
      - {name: back, every: second, background: true}
      - {name: last, cron: "59 * * * * *", without_overlapping: true}
      - {name: once, every: 2 seconds, one_server: true, background: true, without_overlapping: true}
      - {name: strict, every: 2 seconds, start_deadline: 5s}
`)
	_, end := b.Begin("2026-01-05T10:00:54Z")
	out, code, took := end()
	if code != 0 {
		t.Errorf("exit code %d after %s:\n%s", code, took, out)
	}
	if took > 6*time.Second+schedtest.Slack {
		slow("it took %s:\n%s", took, out)
	}
	b.Settle()
	if got := b.seconds("last.txt"); !slices.Equal(got, []string{"59"}) {
		t.Errorf("last: %v", got)
	}
	for task, every := range map[string]int{"fore": 1, "back": 1, "once": 2, "strict": 2} {
		for second, r := range b.slots(task, every) {
			switch {
			case second < 54 && (r.Outcome != "skipped" || r.Reason != "it could not start before its next slot"):
				t.Errorf("%s of %s %s: %s", task, r.Slot, r.Outcome, r.Reason)
			case second >= 55 && r.Outcome != "succeeded" && testing.Verbose():
				t.Logf("%s of %s %s: %s", task, r.Slot, r.Outcome, r.Reason) // on a busy machine
			case r.Outcome == "succeeded":
				started, err := time.Parse(time.RFC3339, *r.Started)
				if at, _ := time.Parse(time.RFC3339, r.Slot); err != nil || started.Before(at) ||
					started.Sub(at) > time.Second {
					slow("%s of %s started at %s", task, r.Slot, *r.Started)
				}
			}
		}
		if n := b.Count(task + ".txt"); n < 6/every/2 {
			slow("%s ran %d times", task, n)
		}
	}
}

// A foreground task that takes longer than its interval loses slots, each with a record, even at
// the end of the minute. The tasks beside it lose some, too, but each gets its turn. Background
// tasks lose none.
func TestAForegroundTaskThatOverrunsLosesItsSlotsAndStarvesNobody(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	schedtest.Unhurried(t, func(slow func(string, ...any)) { tellOfATaskThatOverruns(t, slow) })
}

func tellOfATaskThatOverruns(t *testing.T, slow func(string, ...any)) {
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: long, every: second, command: "echo $SCHED_SLOT >> long.txt; sleep 1.5"}
  - {name: short, every: second, command: "echo $SCHED_SLOT >> short.txt"}
  - {name: full, every: minute, command: "echo $SCHED_SLOT >> full.txt"}
  - {name: back, every: 2 seconds, background: true, command: "true"}
`)
	_, end := b.Begin("2026-01-05T10:00:50Z")
	out, code, _ := end()
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	b.Settle()
	long, short := b.seconds("long.txt"), b.seconds("short.txt")
	if len(long) < 3 || len(short) < 3 {
		slow("long ran at %v, short at %v:\n%s", long, short, out)
	}
	if got := b.seconds("full.txt"); !slices.Equal(got, []string{"00"}) {
		t.Errorf("full ran at %v", got)
	}
	for _, task := range []string{"long", "short"} {
		for second, r := range b.slots(task, 1) {
			if r.Outcome != "succeeded" && r.Reason != "it could not start before its next slot" {
				t.Errorf("%s :%02d %s: %s", task, second, r.Outcome, r.Reason)
			}
			if r.Started != nil && *r.Started != r.Slot { // to the second
				slow("%s of %s started at %s, when the next one was due", task, r.Slot, *r.Started)
			}
		}
	}
	b.slots("back", 2)
}

// The last slot of a minute is lost to the first slot of the next minute, which is for the next
// tick.
func TestAForegroundTaskThatOverrunsTheMinuteLosesItsLastSlots(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: blocker, cron: "57 0 10 * * *", command: sleep 4}
  - {name: single, cron: "58 * * * * *", command: "true"}
  - {name: often, every: second, command: "true"}
`)
	_, end := b.Begin("2026-01-05T10:00:56Z")
	out, _, _ := end()
	all := b.slots("often", 1)
	for _, second := range []int{57, 58, 59} {
		if r := all[second]; r.Outcome != "skipped" || r.Reason != "it could not start before its next slot" {
			t.Errorf(":%d %s: %s\n%s", second, r.Outcome, r.Reason, out)
		}
	}
	if r := b.Outcome("single", 1); r.Outcome != "succeeded" { // late, as every task that is due once in a minute
		t.Errorf("single %s: %s", r.Outcome, r.Reason)
	}
}

// Foreground tasks of several instants run in the order of the instants, and in file order at each
// instant. On a machine so busy that an instant is over before its turn comes, the task that waited
// longest runs first.
func TestForegroundSlotsRunInTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
timezone: UTC
tasks:
  - group: all
    command: echo $SCHED_SLOT$SCHED_TASK >> order.txt
    tasks:
      - {name: a, cron: "58,59 0 10 * * *"}
      - {name: b, cron: "57,58,59 0 10 * * *"}
      - {name: c, cron: "57,59 0 10 * * *"}
`)
	_, end := b.Begin("2026-01-05T10:00:55Z")
	out, _, _ := end()
	var order []string
	for _, line := range strings.Fields(b.Read("order.txt")) {
		order = append(order, line[17:19]+line[20:])
	}
	want := []string{"57b 57c 58a 58b 59a 59b 59c", "57b 57c 58a 58b 59c 59a 59b"}
	if got := strings.Join(order, " "); !slices.Contains(want, got) && !strings.Contains(out, "skipped") {
		t.Errorf("%s\n%s", got, out)
	}
}

// Each row is a way to tell a tick that waits, on one machine or on two that share a Redis, and
// what becomes of the slots to come.
func TestATickThatWaitsNoticesWithinASecond(t *testing.T) {
	t.Parallel()
	tasks := `tasks:
  - {name: fore, every: 5 seconds, command: echo $SCHED_SLOT >> ran.txt}
  - {name: back, every: 5 seconds, background: true, command: "true"}
`
	for _, tt := range []struct {
		name   string
		tell   func(tick *exec.Cmd, other *box, env []string)
		ends   bool
		code   int
		reason string
	}{
		{"interrupt", func(_ *exec.Cmd, other *box, env []string) { other.as(env, "interrupt", "--reason", "new sched") }, true, 0, "interrupted by ann on "},
		{"SIGTERM", func(tick *exec.Cmd, _ *box, _ []string) { tick.Process.Signal(syscall.SIGTERM) }, true, 143,
			"sched run was stopped by SIGTERM"},
		{"pause", func(_ *exec.Cmd, other *box, env []string) { other.as(env, "pause") }, false,
			0, "paused by ann on "},
	} {
		for _, store := range []string{"files", "redis"} {
			t.Run(tt.name+" "+store, func(t *testing.T) {
				t.Parallel()
				here, other, env := newBox(t, "timezone: UTC\n"+tasks), (*box)(nil), []string{"SCHED_TEST_PERSON=ann"}
				other = here
				if store == "redis" {
					shared := "name: shop\ntimezone: UTC\nstore: " + redistest.Start(t).URL + "\n" + tasks
					here, other, env = newBox(t, shared), newBox(t, shared), append(env, "SCHED_TEST_SERVER=web-2")
				}
				second := map[bool]int{true: 19, false: 44}[tt.ends] // 40 s or 15 s to wait
				tick, end := here.Begin(fmt.Sprintf("2026-01-05T10:00:%dZ", second))
				here.LineIn("ran.txt")
				tt.tell(tick, other, env)
				told := time.Now()
				out, code, took := end()
				if code != tt.code || tt.ends && took > 2*time.Second+schedtest.Slack {
					t.Errorf("exit code %d after %s:\n%s", code, took, out)
				}
				here.Settle()
				skipped := 0
				for _, task := range []string{"fore", "back"} {
					for second, r := range here.slots(task, 5) {
						if strings.HasPrefix(r.Reason, tt.reason) {
							skipped++
						} else if second == 55 {
							t.Errorf("%s :%02d %s: %s", task, second, r.Outcome, r.Reason)
						}
					}
				}
				if lines := strings.Count(out, "skipped: "+tt.reason); tt.ends && lines != 2 { // it was a line a slot
					t.Errorf("%d lines for the slots of two tasks:\n%s", lines, out)
				} else if tt.ends && !strings.Contains(out, "slots)") {
					t.Errorf("it does not count the slots:\n%s", out)
				}
				if skipped < 2 {
					t.Errorf("%d skipped, %s after it was told:\n%s", skipped, time.Since(told), out)
				}
			})
		}
	}
}

// as runs sched with more in its environment.
func (b *box) as(env []string, args ...string) {
	b.Helper()
	c := b.Command(args...)
	c.Env = append(c.Env, env...)
	if out, err := c.CombinedOutput(); err != nil {
		b.Errorf("sched %v: %v\n%s", args, err, out)
	}
}

// After an interrupt the tasks that run go on to their end, and tasks that were due at the full
// minute have their turn. An interrupt has no effect on ticks that begin after it.
func TestAnInterruptLeavesWhatRunsAndWhatWasDueAtTheFullMinute(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: first, every: minute, command: "echo >> first.txt; await go; echo >> first.txt"}
  - {name: second, every: minute, command: echo >> second.txt}
  - {name: often, every: 10 seconds, command: echo >> often.txt}
  - {name: beside, every: 10 seconds, background: true, command: "true"}
`)
	_, end := b.Begin("2026-01-05T10:00:05Z")
	b.LineIn("first.txt")
	b.Sched("trigger", "second")
	b.Sched("interrupt")
	b.Sched("interrupt", "--reason", "deploying 4.2")
	b.Until("the tick has noticed", func() bool { return len(b.History("beside")) > 1 })
	b.Write("go", "")
	out, code, took := end()
	if code != 0 || took > schedtest.Slack {
		t.Errorf("exit code %d after %s:\n%s", code, took, out)
	}
	if b.Count("first.txt") != 2 || b.Count("second.txt") != 1 {
		t.Errorf("first %q, second %q:\n%s", b.Read("first.txt"), b.Read("second.txt"), out)
	}
	for second, r := range b.slots("often", 10) {
		if second > 10 && (r.Outcome != "skipped" || !strings.HasPrefix(r.Reason, "interrupted by ")) {
			t.Errorf(":%02d %s: %s", second, r.Outcome, r.Reason)
		}
	}
	// the interrupts were by the clock of this machine
	_, end = b.Begin(time.Now().UTC().Add(time.Minute).Format("2006-01-02T15:04") + ":57Z")
	if out, _, _ := end(); strings.Contains(out, "interrupted") {
		t.Errorf("a later tick was interrupted:\n%s", out)
	}
}
