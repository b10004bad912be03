//go:build linux

package kills_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sched/schedule/state"
	"sched/testing/machine"
)

// endTogether is a schedule of 20 background tasks whose commands end together, when the file "go"
// is there. Each has a mutex and writes into hooks.txt; the hook of the last one waits for the file
// "on".
func endTogether(more string) string {
	var all strings.Builder
	all.WriteString("defaults: {background: true, without_overlapping: true}\ntasks:\n")
	add := func(name string, after ...string) {
		fmt.Fprintf(&all, "  - name: %s\n    cron: '* * * * *'\n    command: echo >> started.txt; await go\n    after: [%s]\n",
			name, "'"+strings.Join(after, "', '")+"'")
	}
	const first = "echo $SCHED_TASK $PPID >> hooks.txt; "
	for i := range 19 {
		add(fmt.Sprint("task-", i), first+"ls -l /proc/$$/fd >> open.txt", more)
	}
	add("hangs", first+"await on")
	return all.String()
}

// Runs that end together are finished by few processes. A hook that hangs delays none of the
// others, and no hook has a file or a lock of another run open.
func TestRunsThatEndTogetherShareAFinish(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	b := newBox(t, endTogether("true"))
	b.Sched("run")
	b.Until("all have started", func() bool { return b.Count("started.txt") == 20 })
	b.Write("go", "")
	b.Until("all but one are over", func() bool {
		return strings.Count(b.OpenRuns(), "\n") <= 1 && b.Count("hooks.txt") == 20
	})
	if out, _ := b.Sched("unlock", "--all"); strings.Contains(out, "task-") || !strings.Contains(out, "hangs") {
		t.Errorf("locked was\n%s", out)
	}
	b.Write("on", "")
	b.Until("all are over", func() bool { return b.OpenRuns() == "" })
	finishes := map[string]int{}
	for line := range strings.Lines(b.Read("hooks.txt")) {
		finishes[strings.Fields(line)[1]]++
	}
	if len(finishes) > 10 { // they end within a few hundredths of a second, unless the machine is very busy
		t.Errorf("20 runs were finished by %d processes: %v", len(finishes), finishes)
	}
	if open := b.Read("open.txt"); strings.Contains(open, ".sched/sched.db") ||
		strings.Contains(open, ".sched/locks/") {
		t.Errorf("a hook has open what is of a run:\n%s", open)
	}
	for _, r := range b.History("") {
		if r.Outcome != "succeeded" || len(r.Notes) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// hooksForked counts the hooks of live runs whose process is written down. A finish that is killed
// before that fires the hook once more.
func (b *box) hooksForked() (n int) {
	db, err := state.OpenRead(b.Path(".sched"), state.Patience)
	if err != nil {
		return 0
	}
	defer db.Close()
	live, _, _ := db.LiveAndLost(context.Background())
	for _, row := range live {
		hooks, _ := db.Hooks(context.Background(), row.ID)
		for _, h := range hooks {
			if h.PID != 0 {
				n++
			}
		}
	}
	return n
}

// If such a process is killed, the next tick finishes all of its runs, and fires no hook again.
func TestAFinishOfManyRunsIsKilled(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	b := newBox(t, endTogether("await on; echo >> second.txt"))
	b.Sched("run")
	b.Until("all have started", func() bool { return b.Count("started.txt") == 20 })
	b.Write("go", "")
	b.Until("all hooks wait", func() bool { return b.Count("hooks.txt") == 20 && len(b.finishes()) > 0 })
	b.Until("their processes are written down", func() bool { return b.hooksForked() == 19*2+1 })
	runs := 0
	for _, pid := range b.finishes() {
		runs += len(runsOfFinish(pid))
		b.Kill(pid)
		b.Gone(pid)
	}
	if runs != 20 {
		t.Errorf("%d of 20 runs were being finished", runs)
	}
	b.Write("schedule.yaml", "tasks: []\n")
	b.Write("on", "")
	b.Sched("run")
	b.Until("the hooks that were left behind have ended", func() bool { return !b.alive() })
	if n := b.Count("hooks.txt"); n < 20 || n > 21 { // one that ends before the tick sees it fires again
		t.Errorf("the first hooks fired %d times", n)
	}
	if n := len(b.History("")); n != 20 || b.OpenRuns() != "" {
		t.Errorf("%d of 20 are recorded, left is %q", n, b.OpenRuns())
	}
	for _, r := range b.History("") {
		if r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
	}
}
