package cmd_test

import (
	"os"
	"strings"
	"testing"
)

// Witness, supervisor and finish have patient timers (process.Program): what is in the schedule has those of who called sched.
func TestTheTimersOfASupervisorAreNotThoseOfItsCommands(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil || string(ours) != "50000\n" {
		t.Skipf("sched leaves a slack alone that is not the usual one: %q, %v", ours, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may ask for that of another process")
	}
	b := newBox(t, `
defaults: {after: echo after $(cat /proc/self/timerslack_ns /proc/$PPID/timerslack_ns) >> slack}
tasks:
  - name: back
    cron: "* * * * *"
    background: true
    before: echo before $(cat /proc/self/timerslack_ns /proc/$PPID/timerslack_ns) >> slack
    retry: {attempts: 2, delay: 10ms}
    command: echo attempt $SCHED_ATTEMPT $(cat /proc/self/timerslack_ns /proc/$PPID/timerslack_ns) >> slack; [ $SCHED_ATTEMPT = 2 ]
`)
	b.sched("run")
	b.until("its hook has run", func() bool { return strings.Contains(b.read("slack"), "after") })
	if got, want := b.read("slack"), "before 50000 500000\nattempt 1 50000 500000\nattempt 2 50000 500000\nafter 50000 500000\n"; got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}
