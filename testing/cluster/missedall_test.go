//go:build linux && amd64

package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

const catchesUp = `tasks: [{name: report, cron: '*/10 * * * *', missed: all, missed_within: 3h, %s, command: 'echo $SCHED_SLOT >> $SHARED/ran'}]
`

// gapServers are servers whose last tick was at that time.
func gapServers(t *testing.T, n int, store, keys string, last time.Time) []*server {
	t.Helper()
	servers := newServers(t, n, store, fmt.Sprintf(catchesUp, keys))
	for _, s := range servers {
		if store == "" {
			s.Write("schedule.yaml", strings.Replace(s.Read("schedule.yaml"), "lease: 5s\nstore: \n", "", 1))
		}
		if out, err := s.at(last).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return servers
}

// slotsOf returns the slots of the task after one time and before another.
func slotsOf(after, before time.Time) (slots []string) {
	for at := after.Truncate(10 * time.Minute).Add(10 * time.Minute); at.Before(before); at = at.Add(10 * time.Minute) {
		slots = append(slots, at.Format(time.RFC3339))
	}
	return slots
}

// A tick finds a gap of six slots, which all run. If it is killed before any step, the next ticks
// run each slot once, and on one server in their order.
func TestEachMissedSlotRunsOnceWhereverTheTickIsKilled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, keys string
		servers    int
		store      bool
	}{
		{"in the foreground", "background: false", 1, false},
		{"in the background", "background: true, without_overlapping: true", 1, false},
		{"after a condition", "when: 'true'", 1, false},
		{"on one of two servers", "one_server: true", 2, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			store := ""
			if row.store {
				store = redistest.Start(t).URL
			}
			last := time.Now().UTC().Truncate(24 * time.Hour).Add(-20*24*time.Hour + 5*time.Minute)
			servers := gapServers(t, row.servers, store, row.keys, last)
			apart := machine.Sized(47, 6) // each step, in four ways, would take minutes
			step := 1 + rand.IntN(apart)
			for ended := false; !ended; step += apart {
				os.Remove(servers[0].shared("ran"))
				minute := last.Truncate(time.Hour).Add(time.Hour + 5*time.Minute)
				ended = schedtest.KilledBefore(t, servers[0].at(minute), step)
				var said string
				servers[0].Until("nothing waits", func() bool {
					minute = minute.Add(time.Minute)
					open := ""
					for _, s := range servers {
						out, _ := s.at(minute).CombinedOutput()
						said += string(out)
						open += s.OpenRuns()
					}
					return open == "" || minute.Minute()%10 == 9
				})
				for _, s := range servers {
					s.Settle()
				}
				want, ran := slotsOf(last, minute), servers[0].linesOf("ran")
				if row.servers > 1 {
					slices.Sort(ran)
				}
				if !slices.Equal(ran, want) {
					t.Fatalf("killed before step %d: these ran:\n%v\nand not\n%v\n%s\n%v",
						step, ran, want, said, servers[0].Outcomes("report"))
				}
				last = minute
			}
			if step < 20 {
				t.Errorf("the tick changes something in %d steps: not all of them were seen", step)
			}
		})
	}
}

// The supervisor is killed with its witness, or told to end as by `sched work`: the next tick goes
// on in the order of the slots, and what is due then comes last.
func TestMissedSlotsRunInTheirOrderWhenTheirSupervisorEnds(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Kill, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			last := time.Now().UTC().Truncate(24 * time.Hour).Add(-48*time.Hour + 5*time.Minute)
			s := gapServers(t, 1, "", "background: true", last)[0]
			s.Write("schedule.yaml", strings.Replace(s.Read("schedule.yaml"), "command: 'echo",
				"command: 'await $SHARED/go; echo", 1))
			minute := last.Add(time.Hour)
			s.at(minute).Run()
			s.Until("the first slot runs", func() bool {
				return slices.ContainsFunc(s.runStates(), func(row state.Row) bool { return row.Attempt.PID != 0 })
			})
			witness, supervisor := s.Waiter("report")
			for _, pid := range []int{witness, supervisor} {
				process, _ := os.FindProcess(pid)
				process.Signal(signal)
			}
			s.Gone(supervisor)
			s.Gone(witness)
			s.at(minute.Add(5 * time.Minute)).Run() // the slot of this minute joins them
			os.WriteFile(s.shared("go"), nil, 0o600)
			s.Until("all have ended", func() bool { return s.OpenRuns() == "" })
			// the first was lost, or stopped
			want, ran := slotsOf(last, minute.Add(6*time.Minute))[1:], s.linesOf("ran")
			if !slices.Equal(ran, want) {
				t.Errorf("these ran:\n%v\nand not\n%v\n%v", ran, want, s.Outcomes("report"))
			}
		})
	}
}
