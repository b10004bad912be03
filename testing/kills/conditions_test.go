//go:build linux

package kills_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sched/testing/schedtest"
)

const hangingConditions = `
timezone: UTC
tasks:
  - {name: before, cron: "0 10 * * *", command: echo before >> ran.txt}
  - {name: back, cron: "0 10 * * *", background: true, command: echo back >> ran.txt, when: echo $$ > back.pid; sleep 1000; exit 0}
  - {name: after, cron: "0 10 * * *", command: echo after >> ran.txt}
  - {name: once, cron: "0 10 * * *", missed: once, command: echo once >> ran.txt, when: test -e answer || (echo $$ > once.pid; exec sleep 1000)}
`

// tickWithConditions is a tick that has run what comes before conditions which hang.
func tickWithConditions(b *box, args ...string) (tick int, wait func() string) {
	c := b.Command(append([]string{"run"}, args...)...)
	c.Env = append(c.Env, "SCHED_TEST_CLOCK=2026-01-01T10:00:01Z", "SCHED_TEST_CONDITION_TIMEOUT=10m")
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Until("the other tasks have run", func() bool { return strings.Contains(b.Read("ran.txt"), "after\n") })
	return c.Process.Pid, func() string { c.Wait(); return out.String() }
}

// A tick is killed while it asks conditions. The next tick ends the conditions that hang, and
// records their slots as missed. With missed: once it runs the slot.
func TestATickIsKilledWhileItAsksConditions(t *testing.T) {
	t.Parallel()
	b := newBox(t, hangingConditions)
	tick, wait := tickWithConditions(b)
	back, once := b.PidIn("back.pid"), b.PidIn("once.pid")
	b.Kill(tick)
	wait()
	if !schedtest.Alive(back) || !schedtest.Alive(once) {
		t.Fatal("the conditions ended with the tick, so nothing is shown")
	}
	b.Write("answer", "")
	b.TickAt("2026-01-01T10:01:01Z")
	b.Gone(back)
	b.Gone(once)
	if r := b.Outcome("back", 1); r.Outcome != "missed" ||
		r.Reason != "the sched run that had planned it is gone, perhaps while it asked its conditions" {
		t.Errorf("%+v", r)
	}
	if r := b.Outcome("once", 1); r.Outcome != "succeeded" || !strings.HasPrefix(r.Slot, "2026-01-01T10:00") {
		t.Errorf("%+v", r)
	}
	if got := b.Read("ran.txt"); got != "before\nafter\nonce\n" {
		t.Errorf("ran:\n%s", got)
	}
}

// The same with a tick by hand, which accounts for nothing: the next tick ends what it left.
func TestATickByHandIsKilledWhileItAsksConditions(t *testing.T) {
	t.Parallel()
	b := newBox(t, hangingConditions)
	tick, wait := tickWithConditions(b, "--at", "2026-01-01 10:00")
	back, once := b.PidIn("back.pid"), b.PidIn("once.pid")
	b.Kill(tick)
	wait()
	b.TickAt("2026-01-01T10:02:01Z")
	b.Gone(back)
	b.Gone(once)
	if all := b.Outcomes(""); strings.Contains(strings.Join(all, " "), "missed") {
		t.Errorf("%v", all)
	}
}

// A signal ends the conditions that are being asked, at once, and every slot has its outcome.
func TestASignalEndsConditions(t *testing.T) {
	t.Parallel()
	b := newBox(t, hangingConditions)
	tick, wait := tickWithConditions(b)
	back, once := b.PidIn("back.pid"), b.PidIn("once.pid")
	syscall.Kill(tick, syscall.SIGTERM)
	out := wait()
	if schedtest.Alive(back) || schedtest.Alive(once) {
		t.Error("a condition lives on")
	}
	if !strings.Contains(out, "stopped by SIGTERM") {
		t.Error(out)
	}
	for _, task := range []string{"back", "once"} {
		if r := b.Outcome(task, 1); r.Outcome != "skipped" || r.Reason != "sched run was stopped by SIGTERM" {
			t.Errorf("%s: %+v", task, r)
		}
	}
	b.Until("the supervisor of the tick ends", func() bool {
		left, _ := filepath.Glob(b.Path(".sched/locks/owner-*"))
		return len(left) == 0
	})
	b.TickAt("2026-01-01T10:01:01Z")
	b.Outcome("back", 1)
}
