package cmd_test

import (
	"os"
	"strings"
	"testing"
)

// The end of a run opens no database, also where a hook asks how the run before ended: a hundred runs that end at once
// would each set up SQLite. Here there is none any more that could be opened.
func TestAFinishAsksNoDatabase(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/sys/kernel/random/boot_id"); err != nil {
		t.Skip("this system does not tell boots apart")
	}
	b := newBox(t, `
defaults: {on_recovery: "echo $SCHED_TASK >> recovered.txt"}
tasks:
  - {name: back, every: minute, background: true, command: "while [ ! -e go ]; do sleep 0.02; done; exit $(cat code)"}
  - {name: front, every: minute, command: "exit $(cat code)"}
`)
	tick := func(code string, before func()) {
		b.write("code", code)
		os.Remove(b.path("go"))
		b.sched("run")
		before()
		b.write("go", "")
		b.until("all runs have ended", func() bool { return b.openRuns() == "" })
	}
	nothing := func() {}
	tick("3", nothing)
	tick("3", nothing)
	b.sched("run", "--only", "front") // puts the runs that failed into the history
	noHistory := func() {
		os.Remove(b.path(".sched/sched.db"))
		if err := os.Mkdir(b.path(".sched/sched.db"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tick("0", noHistory)
	if got := b.read("recovered.txt"); strings.Count(got, "back\n") != 1 || strings.Count(got, "front\n") != 1 {
		t.Errorf("on_recovery fired for %q", got)
	}
	tick("0", nothing)
	if got := b.read("recovered.txt"); strings.Count(got, "\n") != 2 {
		t.Errorf("on_recovery fired again: %q", got)
	}
}
