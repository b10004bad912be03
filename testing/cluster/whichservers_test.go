//go:build linux

package cluster_test

import (
	"strings"
	"testing"

	"sched/testing/redistest"
)

// A task of one_server runs on one of its servers, even if other servers tick, too. A task that no
// server runs is a trouble that each server tells.
func TestOneServerIsOneOfThoseThatTheTaskNames(t *testing.T) {
	t.Parallel()
	servers := newServers(t, 3, redistest.Start(t).URL, `tasks:
- {name: either, cron: "* * * * *", one_server: true, servers: [web-2, role=db], command: "true"}
- {name: nobody, cron: "* * * * *", servers: [role=cache, "worker-*"], command: "true"}
- {name: off, cron: "* * * * *", enabled: false, servers: worker-1, command: "true"}
`)
	servers[0].env = append(servers[0].env, "SCHED_LABELS=role=web")
	servers[1].env = append(servers[1].env, "SCHED_LABELS=")
	servers[2].env = append(servers[2].env, "SCHED_LABELS=role=db zone=eu")
	const minutes = 6
	ran := tickTogether(t, servers, minutes, 0)
	if ran["web-1"] != 0 || ran["web-2"]+ran["web-3"] != minutes {
		t.Errorf("they ran %v", ran)
	}
	for _, s := range servers {
		out, code := s.sched("status")
		want := "nobody  no server runs it: servers is role=cache, worker-*, and those that tick are web-1 (labels: role=web); web-2; web-3 (labels: role=db, zone=eu)"
		if code == 0 || !strings.Contains(out, want) || strings.Contains(out, "either  no server") ||
			strings.Contains(out, "off  no server") {
			t.Errorf("%s: %d\n%s", s.name, code, out)
		}
	}
	out, _ := servers[0].sched("servers")
	if !strings.Contains(out, "LABELS") || !strings.Contains(out, "role=db, zone=eu") {
		t.Errorf("servers:\n%s", out)
	}
}
