//go:build linux

package cluster_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// tickTogether has servers tick for some minutes, the first one ahead of the others each time, and
// returns how many slots of the group each ran.
func tickTogether(t *testing.T, servers []*server, minutes int, ahead time.Duration) map[string]int {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	for range minutes {
		at = at.Add(time.Minute)
		var ticks []*exec.Cmd
		for i, s := range servers {
			c := s.Command("run", "-q")
			c.Env = append(append(c.Env, s.env...), "SCHED_TEST_CLOCK="+at.Format(time.RFC3339))
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if ticks = append(ticks, c); i == 0 {
				time.Sleep(ahead) // how far its clock is ahead, not a wait for anything
			}
		}
		for _, c := range ticks {
			c.Wait()
		}
	}
	ran := map[string]int{}
	for _, s := range servers {
		s.Settle()
		for _, r := range s.History("") {
			if r.Outcome == "succeeded" &&
				r.Slot[:16] > at.Add(-time.Duration(minutes)*time.Minute).Format("2006-01-02T15:04") {
				ran[s.name]++
			}
		}
	}
	return ran
}

func oneServerTasks(n int, more string) string {
	tasks := "tasks:\n- group: all\n  cron: '* * * * *'\n  one_server: true\n  background: true\n  command: 'true'" +
		more + "\n  tasks:\n"
	for i := range n {
		tasks += fmt.Sprintf("  - {name: t%d}\n", i)
	}
	return tasks
}

// A server that a task prefers runs it as long as it takes part, even if it comes last.
func TestThePreferredServerRunsASlot(t *testing.T) {
	var servers []*server
	schedtest.Unhurried(t, func(slow func(string, ...any)) {
		servers = newServers(t, 3, redistest.Start(t).URL, oneServerTasks(3, "\n  prefer: [web-3]"))
		if ran := tickTogether(t, servers, 4, 200*time.Millisecond); ran["web-1"]+ran["web-2"] > 3 || ran["web-3"] < 9 {
			slow("web-3 is preferred: they ran %v", ran)
		}
	})
	servers[0].tick()
	servers[0].Settle()
	if ran := servers[0].Outcomes("t0"); len(ran) == 0 || ran[0][6:] != "succeeded" {
		t.Errorf("web-3 does not come, and web-1 ran %v", ran)
	}
}

// A tick that left its slots to the preferred server for a second did not notice meanwhile that it
// had to end: it took the slot then.
func TestATickThatLeavesASlotToThePreferredServerEndsAtOnce(t *testing.T) {
	redis := redistest.Start(t)
	web1 := newServers(t, 1, redis.URL, "tasks: [{name: report, cron: '* * * * *', one_server: true, prefer: [web-2], command: 'true'}]\n")[0]
	at := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	for try := 0; ; try++ {
		at = at.Add(time.Minute)
		tick := web1.Command("run")
		tick.Env = append(append(tick.Env, web1.env...), "SCHED_TEST_CLOCK="+at.Format(time.RFC3339))
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		web1.Until("it has planned the slot", func() bool {
			owners, _ := filepath.Glob(filepath.Join(web1.Dir, ".sched/locks/owner-*"))
			return len(owners) > 0
		})
		tick.Process.Signal(syscall.SIGTERM)
		tick.Wait()
		if tick.ProcessState.ExitCode() != 143 && try < 10 {
			continue // it had waited already: this machine is slow
		}
		if r := web1.History("")[0]; r.Outcome != "skipped" || r.Reason != "sched run was stopped by SIGTERM" {
			t.Errorf("%+v", r)
		}
		return
	}
}
