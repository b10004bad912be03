//go:build linux && amd64

package cluster_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// Two slots of a task with missed: after_pause fall into a maintenance. A tick is killed anywhere:
// one that keeps the first or the second slot, or the one that makes up for them. The second slot
// runs once, on one of the servers, and nothing waits then.
func TestASlotOfAPauseRunsOnceWhereverATickIsKilled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		servers int
		killed  int // which of the three ticks of web-1
	}{{"the first tick of one", 1, 0}, {"the second tick of one", 1, 1}, {"the last tick of one", 1, 2},
		{"the second tick of two", 2, 1}, {"the last tick of two", 2, 2}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			servers := newServers(t, row.servers, redistest.Start(t).URL, `maintenance_file: down
tasks: [{name: report, cron: '*/10 * * * *', one_server: true, missed: after_pause, command: 'echo $SCHED_SLOT >> $SHARED/ran'}]
`)
			first := time.Now().UTC().Truncate(24 * time.Hour).Add(-48 * time.Hour)
			apart := machine.Sized(31, 3)
			for step, ended := 1+rand.IntN(apart), false; !ended; step, first = step+apart, first.Add(20*time.Minute) {
				second := first.Add(10 * time.Minute)
				for _, s := range servers {
					s.Write("down", "")
				}
				var said string
				for i, minute := range []time.Time{first, second, second.Add(time.Minute),
					second.Add(2 * time.Minute)} {
					if i == 2 {
						for _, s := range servers {
							os.Remove(s.Path("down"))
						}
					}
					for j, s := range servers {
						if tick := s.at(minute); i == row.killed && j == 0 {
							ended = schedtest.KilledBefore(t, tick, step)
						} else if out, _ := tick.CombinedOutput(); i > 1 {
							said += string(out)
						}
					}
				}
				if ran, _ := ranOnce(servers, first); ran != 0 {
					t.Errorf("killed before step %d: the older slot ran %d times\n%s", step, ran, said)
				}
				if ran, lost := ranOnce(servers, second); ran != 1 && !(lost && ran == 0) {
					t.Errorf("killed before step %d: the slot ran %d times\n%s%v",
						step, ran, said, servers[0].Outcomes("report"))
				}
				for _, s := range servers {
					if waiting := schedtest.OpenRows(s.Path(".sched")); len(waiting) > 0 {
						t.Errorf("killed before step %d: on %s wait %v", step, s.name, waiting)
					}
					outcomes := map[string]int{}
					for _, r := range s.History("report") {
						if outcomes[r.Slot]++; outcomes[r.Slot] > 1 {
							t.Errorf("killed before step %d: %s has two outcomes for %s", step, s.name, r.Slot)
						}
					}
				}
			}
		})
	}
}

// A tick in a pause that stops runs is killed anywhere: the next one stops the run.
func TestAPauseStopsARunWhereverATickIsKilled(t *testing.T) {
	t.Parallel()
	apart := machine.Sized(47, 7)
	for step, ended := 1+rand.IntN(apart), false; !ended; step += apart {
		b := newBox(t, `timezone: UTC
pauses: {every: day at 2:00, for: 4h, stop: true, reason: backup}
tasks: [{name: long, cron: "59 1 * * *", background: true, kill_after: 200ms, command: "exec sleep 60"}]
`)
		day := time.Date(2026, 1, 5, 1, 59, 0, 0, time.UTC)
		at := func(minute time.Time, args ...string) *exec.Cmd {
			c := b.Command(args...)
			c.Env = append(c.Env, "SCHED_TEST_CLOCK="+minute.Format(time.RFC3339))
			return c
		}
		if out, err := at(day, "run").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		ended = schedtest.KilledBefore(t, at(day.Add(time.Minute), "run"), step)
		at(day.Add(2*time.Minute), "run").Run()
		history, _ := at(day.Add(2*time.Minute), "history", "long", "--json").CombinedOutput()
		for _, text := range []string{`"outcome": "stopped"`, `"reason": "because it is paused by schedule.yaml since 02:00 UTC, until 06:00 UTC: backup"`} {
			if strings.Count(string(history), text) != 1 {
				t.Errorf("killed before step %d: no %s in\n%s", step, text, history)
			}
		}
	}
}
