//go:build linux

package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/testing/redistest"
)

// tickAt is `sched run` when its clock shows the time.
func (b *box) tickAt(clock string) (output string, code int) {
	b.Helper()
	c := b.command("run")
	c.Env = append(c.Env, "SCHED_TEST_CLOCK="+clock)
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

// outcomes are the outcomes of a task, newest first.
func (b *box) outcomes(task string) (all []string) {
	b.Helper()
	for _, r := range b.history(task) {
		all = append(all, r.Slot[11:16]+" "+r.Outcome)
	}
	return all
}

// Tasks that are due while the disk is full run, and nothing of them is recorded. When there is
// room again, their slots count as missed.
func TestTicksOnAFullDiskRunAndAreNotRecorded(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "4m")
	b := newBox(t, `
state_dir: `+dir+`/state
timezone: UTC
tasks:
  - {name: each, cron: "* * * * *", command: echo >> ran.txt}
`)
	b.tickAt("2026-01-01T10:00:01Z")
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	for _, clock := range []string{"2026-01-01T10:01:01Z", "2026-01-01T10:02:01Z"} {
		if out, code := b.tickAt(clock); code != 1 || strings.Contains(out, "missed") ||
			strings.Count(out, "cannot be written") != 1 {
			t.Errorf("exit code %d at %s:\n%s", code, clock, out)
		}
	}
	os.Remove(filler)
	b.tickAt("2026-01-01T10:03:01Z")
	want := "10:03 succeeded, 10:02 missed, 10:01 missed, 10:00 succeeded"
	if got := strings.Join(b.outcomes("each"), ", "); got != want || b.count("ran.txt") != 4 {
		t.Errorf("it ran %d times:\ngot  %s\nwant %s", b.count("ran.txt"), got, want)
	}
}

// If several servers missed a slot, one of them runs it. If one server ran it in time, no server
// runs it again.
func TestAMissedSlotRunsOnOneServer(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	servers := newServers(t, 3, redis.URL, `
tasks:
  - {name: nightly, every: day at 3:00, one_server: true, missed: once, command: 'echo $SCHED_SLOT >> $SHARED/nightly.txt'}
  - {name: morning, every: day at 7:00, one_server: true, missed: once, command: 'echo $SCHED_SLOT >> $SHARED/morning.txt'}
`)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) // claims end by the clock of Redis
	tick := func(s *server, clock string) string {
		c := s.command("run")
		c.Env = append(append(c.Env, s.env...), "SCHED_TEST_CLOCK="+day.Format("2006-01-02T")+clock+"Z")
		out, _ := c.CombinedOutput()
		return string(out)
	}
	for _, s := range servers {
		tick(s, "02:00:01")
	}
	tick(servers[0], "03:00:01")
	for _, clock := range []string{"09:00:01", "14:30:01"} {
		for _, s := range servers {
			if out := tick(s, clock); clock == "14:30:01" && strings.Contains(out, "03:00") {
				t.Errorf("again at %s:\n%s", clock, out)
			}
		}
	}
	for task, slot := range map[string]string{"nightly": "03:00", "morning": "07:00"} {
		if lines := servers[0].linesOf(task + ".txt"); len(lines) != 1 || !strings.Contains(lines[0], "T"+slot) {
			t.Errorf("%s ran %v", task, lines)
		}
		var outcomes []string
		for _, s := range servers {
			outcomes = append(outcomes, s.outcomes(task)...)
		}
		slices.Sort(outcomes)
		if got, want := strings.Join(outcomes, ", "),
			slot+" skipped, "+slot+" skipped, "+slot+" succeeded"; got != want {
			t.Errorf("%s: %s", task, got)
		}
	}
}
