//go:build linux

package cluster_test

import (
	"os"
	"strings"
	"testing"

	"sched/testing/machine"
	"sched/testing/redistest"
)

const everywhere = `tasks:
- name: once
  cron: "* * * * *"
  command: echo $SCHED_SLOT >> $SHARED/ran
  one_server: true
- name: alone
  cron: "* * * * *"
  command: echo $SCHED_RUN >> $SHARED/began
  one_server: true
  without_overlapping: true
  background: true
`

// Two servers share a store that others keep available: each slot runs once, people see what ran,
// and a pause holds for both.
func TestServersShareSentinelsClustersAndTLS(t *testing.T) {
	t.Parallel()
	certificates := redistest.MakeCertificates(t)
	for name, url := range map[string]string{
		"Sentinels": redistest.StartSentinels(t).URL,
		"a Cluster": redistest.StartCluster(t).URL,
		"TLS": "rediss://" + redistest.Start(t, certificates.Options()...).Address +
			"?ca=" + certificates.CA + "&cert=" + certificates.Cert + "&key=" + certificates.Key,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine.Turn(t)
			s := newServers(t, 2, url, everywhere)
			for _, minute := range []string{"2026-01-01 00:00", "2026-01-01 00:01"} {
				for _, one := range s {
					if out, code, _ := one.tick("--at", minute); code != 0 {
						t.Fatalf("%d: %s", code, out)
					}
				}
				for _, one := range s { // or the next minute finds the lock held
					one.Until("its runs have let go", one.Unwatched)
				}
			}
			s[0].Until("the background runs have ended", func() bool { return len(s[0].linesOf("began")) == 2 })
			if ran := s[0].linesOf("ran"); len(ran) != 2 {
				t.Errorf("%q", ran)
			}
			s[1].Until("both servers see the runs", func() bool {
				s[0].tick("--at", "2026-01-01 00:01") // publishes what has ended
				out, _ := s[1].sched("history", "--all-servers")
				return strings.Count(out, "succeeded in") == 4
			})
			if out, code := s[0].sched("pause", "--for", "1h"); code != 0 {
				t.Errorf("%d: %s", code, out)
			}
			if out, _, _ := s[1].tick("--at", "2026-01-01 00:02"); !strings.Contains(out, "paused") {
				t.Error(out)
			}
			if out, _ := s[0].sched("servers"); !strings.Contains(out, "web-1") || !strings.Contains(out, "web-2") {
				t.Error(out)
			}
		})
	}
}

// A run that began before a failover keeps its lock through it, and ticks go on with the new
// primary.
func TestRunsAndTicksGoOnThroughAFailover(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	g := redistest.StartSentinels(t)
	s := newServers(t, 2, g.URL, everywhere+`- name: long
  cron: "* * * * *"
  command: touch "$SHARED/began"; await "$SHARED/end"
  without_overlapping: true
  background: true
  timeout: 10m
`)
	if out, code, _ := s[0].tick("--at", "2026-01-01 00:00"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	s[0].Until("the long run has begun", func() bool {
		_, err := os.Stat(s[0].shared("began"))
		return err == nil
	})
	g.Primary.Kill()
	g.AwaitFailover(t)
	s[1].Until("the new primary serves", func() bool {
		out, code, _ := s[1].tick("--at", "2026-01-01 00:01")
		return code == 0 && strings.Contains(out, "still running") && strings.Contains(out, "on web-1")
	})
	if out, _ := s[0].sched("doctor"); !strings.Contains(out, "mymaster (Sentinels ") ||
		!strings.Contains(out, "takes writes while no replica gets them") {
		t.Error(out)
	}
	if out, _ := s[0].sched("check"); !strings.Contains(out, "one_server: Redis mymaster") {
		t.Error(out)
	}
	if err := os.WriteFile(s[0].shared("end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s[0].Until("the long run ends", func() bool {
		out, _ := s[0].sched("history", "long")
		return strings.Contains(out, "succeeded in")
	})
}
