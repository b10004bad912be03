//go:build linux

package cluster_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// Latency must not make foreground tasks late either: a hundred of them at 100 ms of round trip
// took 34 s one by one.
func TestForegroundTasksAreFastOverASlowNetwork(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	const tasks, each = 100, 100 * time.Millisecond
	text := "tasks:\n- group: all\n  one_server: true\n  command: date +%s%N >> $SHARED/ran\n  tasks:\n"
	for i := range tasks {
		text += fmt.Sprintf("  - {name: t%d, cron: \"* * * * *\"}\n", i)
	}
	proxy := redistest.StartProxy(t, redistest.Start(t))
	s := newServers(t, 1, proxy.URL, text)[0]
	proxy.Set(redistest.Fault{Delay: each})
	begun := time.Now()
	out, code, took := s.tick()
	if code != 0 || strings.Count(out, "succeeded in") < tasks {
		t.Errorf("exit code %d after %s:\n%s", code, took, out)
	}
	ran := s.linesOf("ran")
	slices.Sort(ran)
	nanoseconds, _ := strconv.ParseInt(ran[len(ran)-1], 10, 64)
	last := time.Unix(0, nanoseconds).Sub(begun)
	t.Logf("the last started after %s, the tick took %s with %d requests", last, took, proxy.Requests())
	if last > 5*time.Second+schedtest.Slack || proxy.Requests() > 300 {
		t.Errorf("the last started after %s, with %d requests", last, proxy.Requests())
	}
}
