//go:build linux

package cmd_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/mutex/redistest"
)

// Latency must not make foreground tasks late either: a hundred of them at 100 ms of round trip once took 34 s.
func TestForegroundTasksAreFastOverASlowNetwork(t *testing.T) {
	t.Parallel()
	for keys, most := range map[string]struct {
		requests int
		last     time.Duration
	}{
		"one_server: true": {60, 5 * time.Second},
		"one_server: true\n  without_overlapping: true": {300, 10 * time.Second},
	} {
		tasks := "tasks:\n- group: all\n  " + keys + "\n  command: date +%s%N >> $SHARED/ran\n  tasks:\n"
		for i := range 100 {
			tasks += fmt.Sprintf("  - {name: t%d, cron: \"* * * * *\"}\n", i)
		}
		tasks = strings.ReplaceAll(tasks, "t50,", "t50, mutex: t49,") // it waits for t49, and is not skipped
		proxy := redistest.StartProxy(t, redistest.Start(t))
		s := newServers(t, 1, proxy.URL, tasks)[0]
		proxy.Set(redistest.Fault{Delay: 100 * time.Millisecond})
		begun := time.Now()
		out, code, took := s.tick()
		if code != 0 || strings.Count(out, "succeeded in") < 100 {
			t.Errorf("exit code %d after %s:\n%s", code, took, out)
		}
		ran := s.linesOf("ran")
		slices.Sort(ran)
		first, _ := strconv.ParseInt(ran[0], 10, 64)
		last, _ := strconv.ParseInt(ran[len(ran)-1], 10, 64)
		t.Logf("%s: the first started after %s, the last after %s, the tick took %s with %d requests", keys,
			time.Unix(0, first).Sub(begun), time.Unix(0, last).Sub(begun), took, proxy.Requests())
		if after := time.Unix(0, last).Sub(begun); after > most.last+slack || proxy.Requests() > most.requests {
			t.Errorf("%s: the last started after %s, with %d requests", keys, after, proxy.Requests())
		}
	}
}
