//go:build linux && amd64

package cmd_test

import (
	"strings"
	"testing"

	"sched/mutex/redistest"
)

// A tick that another server has asked for a run is killed before each call that changes anything, and then the next tick comes. There is
// one run, and its command did not run twice: also where the kill came after the request was written down and before it was answered. The
// task is a background one: the next tick begins what waits before it knows what it was asked for.
func TestARunAskedForElsewhereIsOneWhereverTheTickIsKilled(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL,
		"tasks: [{name: one, cron: 0 0 1 1 *, background: true, command: echo $SCHED_RUN >> $SHARED/ran}]\n")
	s[1].tick()
	asked := 0
	steps, apart := kills(10, 3)
	for ended := false; !ended; steps += apart {
		out, code := s[0].sched("trigger", "one", "--server", "web-2", "--no-wait")
		if asked++; code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		c := s[1].command("run", "-q")
		c.Env = append(c.Env, append(s[1].env, "GOMAXPROCS=1")...)
		ended = killedBefore(t, c, steps)
		s[1].until("the run is in the history", func() bool {
			s[1].tick()
			return len(s[1].history("one")) >= asked
		})
		if all := s[1].history("one"); len(all) != asked {
			t.Fatalf("killed before step %d: %d runs of %d\n%+v", steps, len(all), asked, all[:2])
		}
		seen := map[string]bool{}
		for _, run := range s[1].linesOf("ran") {
			if seen[run] {
				t.Fatalf("killed before step %d: the command of %s ran twice", steps, run)
			}
			seen[run] = true
		}
	}
	if steps < 30 {
		t.Errorf("a tick that carries out a request changes something in %d steps: not all of them were seen", steps)
	}
	out, _ := s[1].sched("history", "one", "--json", "-n", "1000")
	if asked != strings.Count(out, `"origin": "trigger by `) || asked != strings.Count(out, ` on web-1"`) {
		t.Errorf("not all of the %d runs say who asked for them", asked)
	}
}
