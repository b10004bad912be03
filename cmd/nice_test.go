//go:build linux

package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel with autogroup divides the processor between sessions first, whatever the priority of
// their processes. Two loops share one processor: without that in mind, each has half of it.
func TestNiceCountsWhereSessionsShareTheProcessor(t *testing.T) {
	t.Parallel()
	if text, _ := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); string(text) != "1\n" {
		t.Skip("this kernel has no autogroup")
	}
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip("needs taskset")
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Skip(err)
	}
	processor := 0
	for !allowed.IsSet(processor) {
		processor++
	}
	b := newBox(t, fmt.Sprintf(`
defaults: {background: true, kill_after: 100ms, shell: [taskset, -c, "%d", sh, -c]}
tasks:
  - {name: plain, cron: "* * * * *", command: 'echo $$ > plain.pid; await both; while :; do :; done'}
  - {name: nice, cron: "* * * * *", nice: 19, command: 'echo $$ > nice.pid; await both; while :; do :; done'}
`, processor))
	b.Sched("run")
	plain, nice := b.PidIn("plain.pid"), b.PidIn("nice.pid")
	if group, _ := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", nice)); !strings.HasSuffix(string(group), " nice 19\n") {
		t.Errorf("the session of the nice one: %s", group)
	}
	b.Write("both", "")
	const enough = 100 // hundredths of a second
	b.Until("the plain one has run", func() bool { return ticks(plain) >= enough || ticks(nice) >= enough })
	if p, n := ticks(plain), ticks(nice); n > p/3 {
		t.Errorf("the nice one had %d ticks, the other one %d", n, p)
	}
	b.Sched("stop", "plain", "nice")
}

// ticks returns how much of a processor a process itself has used, in hundredths of a second.
func ticks(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 12 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // field 14 of proc_pid_stat(5)
	return user
}
