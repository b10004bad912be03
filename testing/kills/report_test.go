//go:build linux

package kills_test

import (
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// reporting is a command that reports before it waits. Its report ends within a line, as if the
// command were killed while it wrote.
const reporting = `
tasks:
  - name: victim
    cron: "* * * * *"
    background: true
    kill_after: 1s
    command: |
      printf 'rows=0\nusd=5\nmore=1' > $SCHED_REPORT
      echo $$ > command.tmp; echo $PPID > supervisor.pid; mv command.tmp command.pid
      await go
    report: {rows: {at_least: 1}, usd: {budget: {at_most: 5, per: 1d}}}
    after: echo $SCHED_OUTCOME rows $SCHED_VALUE_rows >> after.txt
`

// The process that goes on with a command judges its end as the killed one would have done.
func TestARunIsJudgedByTheSameRulesAfterItsSupervisorWasKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, reporting)
	b.Sched("run")
	b.untilWrittenDown(b.PidIn("command.pid"))
	supervisor := b.PidIn("supervisor.pid")
	b.Kill(supervisor)
	b.Gone(supervisor)
	b.Write("go", "")
	r := b.Outcome("victim", 1)
	if r.Outcome != "failed" || r.Reason != "rows is 0, at least 1 was asked for" || r.Values["more"] != 1 || len(r.Values) != 3 {
		t.Errorf("%+v", r)
	}
	if got := b.Read("after.txt"); got != "failed rows 0\n" {
		t.Errorf("the hook: %q", got)
	}
}

// A run of which nothing is left keeps the whole lines that it had written, and what it has spent
// counts: no other run begins.
func TestAKilledRunKeepsWhatItReported(t *testing.T) {
	t.Parallel()
	b := newBox(t, reporting)
	b.Sched("run")
	command := b.PidIn("command.pid")
	b.untilWrittenDown(command)
	supervisor := b.PidIn("supervisor.pid")
	witness := schedtest.Parent(t, supervisor)
	for _, pid := range []int{witness, supervisor, command} {
		b.Kill(pid)
	}
	for _, pid := range []int{witness, supervisor, command} {
		b.Gone(pid)
	}
	b.Write("go", "") // for the run of the next minute, if that has begun
	b.Sched("run")    // finds what was killed
	all := b.History("victim")
	r := all[len(all)-1]
	if r.Outcome != "lost" || r.Values["usd"] != 5 || len(r.Values) != 2 {
		t.Errorf("%+v", r)
	}
	if got := b.Read("after.txt"); got != "lost rows 0\n" {
		t.Errorf("the hook: %q", got)
	}
	b.Sched("run", "--at", schedtest.ThisMinute())
	b.Until("a run is refused", func() bool {
		newest := b.History("victim")[0]
		return newest.Outcome == "skipped" && strings.HasPrefix(newest.Reason, "the budget of usd is spent until ")
	})
}
