//go:build linux && amd64

package cluster_test

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"sched/testing/schedtest"
)

// released waits until no process looks after a run any more: then a tick may publish it.
func (b *box) released() {
	b.Helper()
	b.Until("no process looks after a run", func() bool { return len(schedtest.Owned(b.Path(".sched"))) == 0 })
}

// Once in many runs of these tests web-2 never learned of a run of web-1. So every kill is tried:
// a tick that puts a run into the history and publishes it is killed before each call that changes
// anything, and the next tick publishes the run all the same.
func TestARunIsKnownElsewhereWhereverTheTickIsKilled(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	schedule := "name: shop\ntimezone: UTC\nstore: redis://" + redis.Addr() +
		"\ntasks: [{name: back, cron: 0 * * * *, command: 'true', background: true}]\n"
	here, there := newBox(t, schedule), newBox(t, schedule)
	on := func(args ...string) *exec.Cmd {
		c := here.Command(append([]string{"run", "-q", "--at"}, args...)...)
		c.Env = append(c.Env, "SCHED_TEST_SERVER=web-1", "GOMAXPROCS=1")
		return c
	}
	steps, apart := schedtest.Kills(10)
	for ended := false; !ended; steps += apart {
		if out, err := on("2026-01-01 00:00").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		here.Settle()
		here.released()
		ended = schedtest.KilledBefore(t, on("2026-01-01 00:01"), steps)
		here.Until("all is published", func() bool {
			on("2026-01-01 00:01").Run()
			return here.OpenRuns() == "" && !here.HasUnpublished()
		})
		var want []string
		for _, r := range here.History("") {
			want = append(want, r.Server+" "+r.Run)
		}
		slices.Sort(want)
		if got := there.everywhere("web-2"); !slices.Equal(got, want) {
			t.Fatalf("killed before step %d: web-1 knows\n%v\nweb-2 knows\n%v", steps, want, got)
		}
	}
	if steps < 20 {
		t.Errorf("a tick that publishes a run changes something in %d steps: not all of them were seen", steps)
	}
}
