//go:build linux

package kills_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

const chained = `
tasks:
  - {name: cause, cron: "0 0 29 2 *", command: "true", after: {trigger: effect}}
  - {name: effect, command: echo $SCHED_CAUSE_RUN $SCHED_CAUSE_OUTCOME >> ran.txt}
`

// chains checks that each run of cause has triggered exactly one run of effect, and returns how
// many runs of cause there are. The run of effect must have run once and been told the truth. A
// skipped run of cause is excused: it triggers nothing.
func (b *box) chains(want int) {
	b.Helper()
	out, err := b.Command("history", "--json", "-n", "0").Output()
	if err != nil {
		b.Fatal(err)
	}
	var records []struct {
		Run, Task, Outcome string
		Cause              *struct{ Task, Run, Outcome string }
		Triggered          []struct{ Task, Run string }
	}
	if err := json.Unmarshal(out, &records); err != nil {
		b.Fatal(err)
	}
	caused, causes := map[string]string{}, 0
	for _, r := range records {
		if r.Cause != nil {
			if caused[r.Cause.Run] != "" {
				b.Errorf("run %s of %s has triggered two runs", r.Cause.Run, r.Cause.Task)
			}
			caused[r.Cause.Run] = r.Run
		}
	}
	for _, r := range records {
		if r.Task != "cause" || r.Outcome == "skipped" { // which triggers nothing
			continue
		}
		causes++
		if len(r.Triggered) != 1 || caused[r.Run] != r.Triggered[0].Run {
			b.Errorf("run %s %s, says that it triggered %v, and run %q says that it was",
				r.Run, r.Outcome, r.Triggered, caused[r.Run])
		}
		if got := strings.Count(b.Read("ran.txt"), r.Run+" "+r.Outcome+"\n"); got != 1 {
			b.Errorf("what run %s triggered, which %s, ran %d times", r.Run, r.Outcome, got)
		}
	}
	if causes != want || len(caused) != want {
		b.Errorf("%d runs have triggered %d; want %d", causes, len(caused), want)
	}
}

// answered runs ticks until nothing waits and nothing runs.
func (b *box) answered() {
	b.Helper()
	b.Until("nothing waits or runs", func() bool {
		b.Tick(2 * time.Minute)
		out, _ := b.Sched("history", "-n", "0")
		return !strings.Contains(out, "waiting") && b.OpenRuns() == ""
	})
}

// A run triggers another one exactly once, wherever the process is killed that finishes the run:
// between any two of its steps.
func TestARunTriggersOnceWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, chained)
	first, apart := schedtest.Kills(17)
	steps, runs := first-apart, 0
	for ended := false; !ended; {
		steps += apart
		ended = schedtest.KilledBefore(t, b.Command("test", "cause"), steps)
		b.answered()
		runs = 0
		for _, r := range b.History("cause") {
			if r.Outcome != "skipped" {
				runs++
			}
		}
		b.chains(runs)
		if t.Failed() {
			t.Fatalf("killed before step %d", steps)
		}
	}
	if steps < 20 || runs < steps/apart/3 && machine.Full {
		t.Errorf("%d steps and %d runs: not all of them were seen", steps, runs)
	}
}

// The same for the process that starts what was triggered. It is the first that the next one waits
// for.
func TestManyRunsTriggerAtOnce(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	const n = 60
	var schedule strings.Builder
	schedule.WriteString("tasks:\n  - {name: effect, command: 'echo $SCHED_CAUSE_RUN $SCHED_CAUSE_OUTCOME >> ran.txt'}\n")
	for i := range n {
		fmt.Fprintf(&schedule, "  - {name: cause-%d, cron: '0 0 29 2 *', background: true, command: 'true', on_success: {trigger: effect}}\n", i)
	}
	b := newBox(t, schedule.String())
	if out, code := b.Sched("run", "--at", schedtest.LeapDay, "--force"); code != 0 {
		t.Fatal(out)
	}
	b.Until("all were started without a tick", func() bool { return b.Count("ran.txt") >= n && b.OpenRuns() == "" })
	b.answered()
	if got := b.Count("ran.txt"); got != n {
		t.Errorf("%d runs were triggered by %d", got, n)
	}
}

// A `sched work` that is told to end starts nothing more. The next tick starts what its runs
// trigger.
func TestWhatEndsWithWorkTriggersWithTheNextTick(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	b := newBox(t, `
tasks:
  - {name: before, cron: "0 0 1 1 *", command: "true", after: {trigger: first}}
  - {name: first, command: echo first >> ran.txt}
  - {name: cause, cron: "0 0 29 2 *", background: true, command: 'echo $$ > began; await go', after: {trigger: effect}}
  - {name: effect, command: echo $SCHED_CAUSE_OUTCOME >> ran.txt}
`)
	if out, code := b.Sched("test", "before"); code != 0 {
		t.Fatal(out)
	}
	b.Until("a chain ended", func() bool { return b.Count("ran.txt") == 1 })
	work := b.Command("work", "--grace", "1s")
	work.Env = append(work.Env, "SCHED_TEST_CLOCK=2028-02-28T23:59:57Z")
	if err := work.Start(); err != nil {
		t.Fatal(err)
	}
	b.Until("the task runs", func() bool { return b.Read("began") != "" })
	work.Process.Signal(syscall.SIGTERM)
	work.Wait()
	if got := b.Read("ran.txt"); got != "first\n" {
		t.Errorf("it started what was triggered as it ended: %q", got)
	}
	tick := b.Command("run")
	tick.Env = append(tick.Env, "SCHED_TEST_CLOCK=2028-02-29T00:05:00Z")
	if out, err := tick.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.Until("the tick started it", func() bool { return b.Read("ran.txt") == "first\nstopped\n" })
}

// Two servers have one slot. The task runs on one server, and the task that it triggers runs there,
// once. The tick that runs the cause is killed between any two of its steps, while the lock of the
// effect is a lease of the store.
func TestAOneServerTaskTriggersOnceWhereverItsTickIsKilled(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	both := []*box{}
	for _, name := range []string{"web-1", "web-2"} {
		both = append(both, newBox(t, "name: shop\nserver: "+name+"\nlease: 5s\nstore: "+redis.URL+`
tasks:
  - {name: cause, cron: "* 0 29 2 *", one_server: true, command: "true", after: {trigger: effect}}
  - {name: effect, one_server: true, without_overlapping: true, command: echo $SCHED_CAUSE_RUN $SCHED_CAUSE_OUTCOME >> ran.txt}
`))
	}
	apart := machine.Sized(47, 3)
	slots := 0
	for step, ended := 1+rand.IntN(apart), false; !ended && slots < 59; step, slots = step+apart, slots+1 {
		at := fmt.Sprintf("2028-02-29T00:%02d:00Z", slots)
		ended = schedtest.KilledBefore(t, both[0].Command("run", "--at", at, "--force"), step)
		both[1].Sched("run", "--at", at, "--force")
		for _, b := range both {
			b.answered()
			runs := 0
			for _, r := range b.History("cause") {
				if r.Outcome != "skipped" {
					runs++
				}
			}
			b.chains(runs)
		}
		if t.Failed() {
			t.Fatalf("killed before step %d", step)
		}
	}
	ran := map[string]string{}
	for _, b := range both {
		for _, r := range b.History("cause") {
			if r.Outcome == "skipped" {
				continue
			}
			if other := ran[r.Slot]; other != "" {
				t.Errorf("%s ran on %s and on %s", r.Slot, other, r.Server)
			}
			ran[r.Slot] = r.Server
		}
	}
	t.Logf("%d of %d slots ran", len(ran), slots)
	if len(ran) < slots/2 || slots < 59/apart {
		t.Errorf("%d slots, of which %d ran: not all steps were seen", slots, len(ran))
	}
}
