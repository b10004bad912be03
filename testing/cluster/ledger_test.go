//go:build linux

package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sched/testing/redistest"
)

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
		c := s.Command("run")
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
			outcomes = append(outcomes, s.Outcomes(task)...)
		}
		slices.Sort(outcomes)
		if got, want := strings.Join(outcomes, ", "),
			slot+" skipped, "+slot+" skipped, "+slot+" succeeded"; got != want {
			t.Errorf("%s: %s", task, got)
		}
	}
}
