package serve_test

import (
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"testing"
	"time"

	"sched/testing/schedtest"
)

// A process may have only so many files open. More connections than that take no files from
// answers, nor from ticks.
func TestServeLeavesFilesForItself(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	s := b.Serve(func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `ulimit -n 300; exec "$@"`, "sh", c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
		c.Env = append(c.Env, "SCHED_TEST_HEADER_TIMEOUT=5m")
	})
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for range 600 {
		conn, err := net.Dial("tcp", to.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	begun := time.Now()
	for _, path := range []string{"/status", "/tasks", "/runs"} {
		if code, body := s.Ask("GET", path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if took := time.Since(begun); took > schedtest.Patience {
		t.Errorf("the answers took %s: they waited until connections had no time left", took)
	}
	if out, err := b.Command("run").CombinedOutput(); err != nil {
		t.Errorf("a tick: %v, %s", err, out)
	}
}
