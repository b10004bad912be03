//go:build linux

package cmd_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"sched/mutex/redistest"
)

// A run of web-2 is stopped and read from web-1: by a command, which the `sched serve` of web-2 answers at once, without a tick; and
// through the API of web-1.
func TestServeAnswersWhatOtherServersAsk(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, `tasks:
  - name: long
    cron: 0 0 1 1 *
    background: true
    command: 'echo line 1; echo line 2; while [ ! -e go ]; do sleep 0.02; done'
`)
	begin := func() (run string) {
		asked, _ := s[0].sched("trigger", "long", "--server", "web-2", "--no-wait", "--json")
		run = regexp.MustCompile(`"run": "(.*)"`).FindStringSubmatch(asked)[1]
		s[1].until("it runs, and that is known", func() bool {
			s[1].tick()
			out, _ := s[0].sched("list", "--json")
			return strings.Contains(out, `"host": "web-2"`)
		})
		s[1].until("it prints", func() bool { out, _ := s[1].sched("logs", "long"); return out == "line 1\nline 2\n" })
		return run
	}
	s[1].tick()
	as := func(one *server) func(*exec.Cmd) {
		return func(c *exec.Cmd) { c.Env = append(c.Env, one.env...) }
	}
	begin()
	there := s[1].serve(as(s[1]))
	if out, code := s[0].sched("logs", "long"); code != 0 || !strings.HasSuffix(out, "line 1\nline 2\n") {
		t.Errorf("logs: exit code %d\n%s", code, out)
	}
	out, code := s[0].sched("stop", "long", "--reason", "it hangs")
	if code != 0 || !strings.Contains(out, " on web-2 stopped in ") || !strings.Contains(out, " on web-1: it hangs") {
		t.Errorf("stop: exit code %d\n%s", code, out)
	}

	run := begin()
	here := s[0].serve(as(s[0]))
	if status, body := here.ask("POST", "/runs/"+run+"/log", ""); status != 200 || !strings.Contains(body, `"there": true`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := here.ask("GET", "/runs/"+run+"/log", ""); status != 200 || body != "line 1\nline 2\n" {
		t.Errorf("%d %s", status, body)
	}
	there.Process.Kill() // from here on its ticks answer
	there.Wait()
	status, body := here.ask("POST", "/runs/"+run+"/stop", `{"reason":"it hangs still"}`)
	if status != 202 || !strings.Contains(body, `"state": "running"`) || !strings.Contains(body, `on web-1"`) {
		t.Errorf("%d %s", status, body)
	}
	s[1].tick()
	if out, _ := s[1].sched("history", "long"); strings.Count(out, "sched stop by ") != 2 || !strings.Contains(out, "on web-1: it hangs still") {
		t.Errorf("%s", out)
	}
	if status, body := here.ask("GET", "/audit", ""); status != 200 || !strings.Contains(body, "it hangs still") {
		t.Errorf("%d %s", status, body)
	}
}
