//go:build linux

package cluster_test

import (
	"strings"
	"testing"
	"time"

	"sched/testing/redistest"
)

// Each server knows what became of a slot of one_server on any server. why names the server that
// ran it, and status reports a slot that no server ran.
func TestEachServerKnowsWhereASlotRan(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.Start(t))
	servers := newServers(t, 2, proxy.URL, `
tasks:
  - {name: report, every: day at 3:00, one_server: true, command: 'echo $SCHED_SLOT >> $SHARED/ran; exit 3'}
`)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -2).Add(3 * time.Hour)
	asks := func(s *server, at time.Time, args ...string) string {
		t.Helper()
		c := s.Command(args...)
		c.Env = append(append(c.Env, s.env...), "SCHED_TEST_CLOCK="+at.Format(time.RFC3339))
		out, _ := c.CombinedOutput()
		return string(out)
	}
	for _, s := range servers {
		asks(s, day.Add(time.Second), "run")
	}
	later := day.Add(2 * time.Minute)
	if out := asks(servers[1], later, "why", "report"); !strings.Contains(out, "on web-1 it failed in ") ||
		!strings.Contains(out, "exit code 3 (run ") {
		t.Errorf("web-2 does not know where it ran:\n%s", out)
	}
	if out := asks(servers[0], later, "why", "report"); strings.Contains(out, "on web-") ||
		strings.Contains(out, "no other server") {
		t.Errorf("web-1 ran it:\n%s", out)
	}

	day = day.AddDate(0, 0, 1)
	proxy.Set(redistest.Fault{Refuse: true})
	asks(servers[0], day.Add(time.Second), "run")
	proxy.Set(redistest.Fault{})
	later = day.Add(2 * time.Minute)
	asks(servers[0], later, "run")
	if out := asks(servers[0], later, "status"); !strings.Contains(out,
		"due at "+day.Format("2006-01-02 15:04")+" UTC, and ran on no server: it was skipped here") {
		t.Errorf("nobody says that it ran nowhere:\n%s", out)
	}
	if out := asks(servers[0], later, "why", "report"); !strings.Contains(out,
		"no other server has told that it ran there") {
		t.Errorf("nor why:\n%s", out)
	}
	asks(servers[1], day.Add(30*time.Second), "run", "--at", day.Format(time.RFC3339))
	if out := asks(servers[0], later, "status"); strings.Contains(out, "ran on no server") {
		t.Errorf("it ran on web-2:\n%s", out)
	}
}
