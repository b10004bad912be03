//go:build linux

package cmd_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"sched/mutex/redistest"
)

// A Redis that was started anew without its data once let a server that came back later run a slot that another had run. Now the
// others tell it: the one that ran the slot, or one that only saw it taken.
func TestAServerThatComesBackAfterALossRunsNoSlotAgain(t *testing.T) {
	t.Parallel()
	for name, teller := range map[string]int{"told by the server that ran it": 0, "told by one that saw it taken": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			servers := newServers(t, 3, redis.URL,
				"tasks: [{name: report, cron: '0 * * * *', one_server: true, missed: once, command: 'echo $SCHED_SLOT >> $SHARED/ran'}]\n")
			slot := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
			ticks := func(i int, at time.Time) string {
				c := servers[i].command("run")
				c.Env = append(append(c.Env, servers[i].env...), "SCHED_TEST_CLOCK="+at.Format(time.RFC3339))
				out, _ := c.CombinedOutput()
				return string(out)
			}
			for i := range servers {
				ticks(i, slot.Add(-time.Minute))
			}
			ticks(0, slot)
			if out := ticks(1, slot); !strings.Contains(out, "another tick has this slot") {
				t.Fatalf("web-2: %s", out)
			}
			redis.Restart()
			ticks(teller, slot.Add(time.Minute))
			os.Remove(servers[2].path(".sched/store.json")) // else it would wait for two minutes, by the clock of this machine
			if out := ticks(2, slot.Add(2*time.Minute)); !strings.Contains(out, "another tick had this slot") {
				t.Errorf("web-3: %s", out)
			}
			if ran := servers[0].linesOf("ran"); len(ran) != 1 {
				t.Errorf("the slot ran %d times", len(ran))
			}
		})
	}
}
