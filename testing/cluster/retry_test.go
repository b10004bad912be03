//go:build linux

package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// The server whose attempt failed is off when the next one is due. It makes that attempt when it is
// back, and no other server does.
func TestARetryStaysOnItsServer(t *testing.T) {
	t.Parallel()
	servers := newServers(t, 2, redistest.Start(t).URL, `
tasks:
  - name: flaky
    cron: "0 0 29 2 *"
    background: true
    one_server: true
    without_overlapping: true
    retry: {attempts: 2, delay: 1h}
    command: "echo $SCHED_ATTEMPT $PWD >> $SHARED/attempts; [ $SCHED_ATTEMPT = 2 ]"
`)
	first, other := servers[0], servers[1]
	first.tick("--at", schedtest.LeapDay, "--force")
	first.Waits(2)
	for _, s := range servers {
		s.env = append(s.env, "SCHED_TEST_CLOCK_OFFSET=2h")
	}
	for range 2 {
		if out, _, _ := other.tick(); strings.Contains(out, "flaky") {
			t.Errorf("web-2: %s", out)
		}
	}
	if out, _, _ := first.tick(); !strings.Contains(out, "flaky  attempt 2 started in the background") {
		t.Errorf("web-1: %s", out)
	}
	first.Until("it has ended", func() bool { return first.Unwatched() && len(first.linesOf("attempts")) == 2 })
	if got := first.linesOf("attempts"); !slices.Equal(got, []string{"1 " + first.Dir, "2 " + first.Dir}) {
		t.Errorf("attempts %q", got)
	}
}
