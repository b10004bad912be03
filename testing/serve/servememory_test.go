//go:build linux

package serve_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// With a thousand tasks, and two hundred browsers that listen, the server has less than 64 MiB of
// its own.
func TestServeIsSmall(t *testing.T) {
	if schedtest.Race {
		t.Skip("the race detector needs memory of its own")
	}
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for n := range 1000 {
		fmt.Fprintf(&text, "  - {name: task-%d, every: hour, command: \"true\", description: %q}\n",
			n, strings.Repeat("what it does ", 5))
	}
	b := newBox(t, text.String())
	s := b.Serve(func(*exec.Cmd) {})
	for range 200 {
		r, err := http.NewRequest("GET", s.URL+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token)
		response, err := (&http.Transport{}).RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		defer response.Body.Close()
		schedtest.ReadUntil(t, bufio.NewReader(response.Body), "event: ready")
	}
	for range 20 {
		for _, path := range []string{"/tasks?limit=1000", "/upcoming?limit=1000", "/runs"} {
			if code, body := s.Ask("GET", path, ""); code != http.StatusOK {
				t.Fatal(path, code, body)
			}
		}
	}
	s.URL = strings.TrimSuffix(s.URL, "/api/v1") // the pages
	for _, path := range []string{"/", "/tasks", "/timeline", "/timeline?hours=168", "/tasks/task-7"} {
		if code, body := s.Ask("GET", path, ""); code != http.StatusOK {
			t.Fatal(path, code, body)
		}
	}
	const most = 64 << 10
	if used := anonymous(t, s.Process.Pid); used > most {
		t.Errorf("%d KiB, more than %d", used, most)
	} else {
		t.Logf("%d KiB", used)
	}
}

// anonymous is the memory in KiB that a process shares with no file (RssAnon, proc(5)).
func anonymous(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "RssAnon:")
	used, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return used
}
