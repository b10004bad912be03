//go:build linux

package cluster_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sched/testing/machine"
	"sched/testing/sqltest"
)

// onEachDatabase runs a test with a server of each kind of database.
func onEachDatabase(t *testing.T, test func(t *testing.T, database *sqltest.Server)) {
	t.Parallel()
	for _, kind := range sqltest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			machine.Turn(t)
			test(t, sqltest.Start(t, kind))
		})
	}
}

func TestServersShareADatabase(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, database *sqltest.Server) {
		all := newServers(t, 2, strings.Replace(database.URL(""), "secret", "${file:password}", 1), `tasks:
- {name: once, cron: "* * * * *", one_server: true, command: echo once >> $SHARED/ran}
- {name: alone, cron: "0 * * * *", without_overlapping: true, background: true, command: 'echo alone >> $SHARED/ran; await $SHARED/go'}
`)
		both := func(do func(s *server)) {
			var done sync.WaitGroup
			for _, s := range all {
				done.Go(func() { do(s) })
			}
			done.Wait()
		}
		for _, s := range all {
			s.Write("password", "secret\n")
		}
		// Each slot runs on one server, and a task beside itself on none.
		both(func(s *server) { s.tick("--at", "2026-01-01 00:01") })
		both(func(s *server) { s.tick("--at", "2026-01-01 00:02") })
		both(func(s *server) { s.tick("--at", "2026-01-01 01:00", "--only", "alone") })
		all[0].Until("alone runs", func() bool { return slices.Contains(all[0].linesOf("ran"), "alone") })
		both(func(s *server) { s.tick("--at", "2026-01-01 02:00", "--only", "alone") })
		if got := all[0].linesOf("ran"); !slices.Equal(got, []string{"once", "once", "alone"}) {
			t.Errorf("there ran %q", got)
		}
		if out, _ := all[0].sched("servers"); !strings.Contains(out, "web-1 ") || !strings.Contains(out, "web-2 ") {
			t.Errorf("the servers are:\n%s", out)
		}
		if err := os.WriteFile(all[0].shared("go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
}
