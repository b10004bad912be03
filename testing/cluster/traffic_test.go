//go:build linux

package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/testing/machine"
	"sched/testing/redistest"
)

// TestTrafficOfATick holds what ticks ask of Redis: hundreds of servers tick at the same moment, so
// what one tick asks once too often is a burst (docs/many-servers.md). Each is a tick on the second
// of two servers, which know each other, until its runs have ended. The end of a background run is
// told at once, with up to three commands on a connection of its own: see cluster.PublishAll.
func TestTrafficOfATick(t *testing.T) {
	machine.Slow(t)
	machine.Turn(t)
	for _, tt := range []struct {
		name     string
		settings string // of the tasks
		ahead    bool   // the other server has ticked in the same minute
		each     int    // commands for each task, at most; a claim is asked for on a connection of its own
		told     bool   // the end of each run is told on a connection of its own, at most
		most     int    // commands besides
	}{
		{"one_server tasks of which none is due", "cron: '0 0 1 1 *'\n  one_server: true", false, 0, false, 10},
		{"foreground tasks", "one_server: true", false, 3, false, 14},
		{"foreground tasks that the other server has", "one_server: true", true, 3, false, 14},
		{"background tasks", "one_server: true\n  background: true", false, 7, true, 14},
		{"background tasks that the other server has", "one_server: true\n  background: true", true, 3, false, 14},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 30} {
				asked := trafficOfATick(t, redistest.Start(t), groupOf(n, tt.settings), tt.ahead)
				t.Logf("%d tasks: %d connections, %d commands: %v", n, asked.Connections, asked.Sum(), asked.Commands)
				connections := 1
				if tt.each > 0 {
					connections = 2 + min(n, mutex.MaxConcurrent)
				}
				if tt.told {
					connections += n
				}
				if asked.Connections > connections {
					t.Errorf("%d tasks: %d connections, and not %d at most", n, asked.Connections, connections)
				}
				if most := tt.most + n*tt.each; asked.Sum() > most {
					t.Errorf("%d tasks: %d commands, and not %d at most", n, asked.Sum(), most)
				}
			}
		})
	}
}

// A tick on which nothing is due waits for Redis for its pauses, for the time, and to announce
// itself.
func TestRoundTripsOfAnIdleTick(t *testing.T) {
	redis := redistest.Start(t)
	proxy := redistest.StartProxy(t, redis)
	s := newServers(t, 1, proxy.URL, groupOf(3, "cron: '0 0 1 1 *'\n  one_server: true"))[0]
	for range 2 {
		before := proxy.Requests()
		if out, code, _ := s.tick("-q"); code != 0 {
			t.Fatal(out)
		}
		if n := proxy.Requests() - before; n > 8 {
			t.Errorf("%d round trips", n)
		}
	}
}

// groupOf returns n tasks with the same settings, that are due every minute if these do not say
// otherwise.
func groupOf(n int, settings string) string {
	if !strings.Contains(settings, "cron:") {
		settings += "\n  cron: '* * * * *'"
	}
	tasks := "tasks:\n- group: all\n  " + settings + "\n  command: 'true'\n  tasks:\n"
	for i := range n {
		tasks += fmt.Sprintf("  - {name: t%d}\n", i)
	}
	return tasks
}

// trafficOfATick returns what a tick of the second of two servers asks for until its runs have
// ended, after both have ticked twice.
func trafficOfATick(t *testing.T, redis *redistest.Server, tasks string, ahead bool) redistest.Traffic {
	t.Helper()
	servers := newServers(t, 2, redis.URL, tasks)
	at := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	tick := func(s *server) {
		c := s.Command("run", "-q")
		c.Env = append(append(c.Env, s.env...), "SCHED_TEST_CLOCK="+at.Format(time.RFC3339))
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", s.name, err, out)
		}
		s.Settle()
	}
	for range 2 {
		at = at.Add(time.Minute)
		for _, s := range servers {
			tick(s)
		}
	}
	at = at.Add(time.Minute)
	if ahead {
		tick(servers[0])
	}
	return redis.TrafficOf(t, func() { tick(servers[1]) })
}
