//go:build linux

package cmd_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex/redistest"
)

// The first attempt of this task fails, and each later one succeeds. All servers write into the same files.
const takeable = `
tasks:
  - name: flaky
    cron: "0 0 29 2 *"
    background: true
    one_server: true
    without_overlapping: true
    retry: {attempts: 3, delay: 1h}
    command: |
      echo attempt $SCHED_ATTEMPT; echo $SCHED_ATTEMPT $(basename $PWD) $SCHED_RUN $SCHED_FENCE >> $SHARED/attempts
      [ $SCHED_ATTEMPT -gt 1 ]
    after: echo $SCHED_OUTCOME >> $SHARED/after
`

// Whether a retry is due, and whether its server ticks, goes by Redis's clock. So in these tests the clock of web-1, on which the retry
// waits, is two hours behind: for all others it is due. And Redis is told that web-1 ticked four minutes ago.
const behind = "SCHED_TEST_CLOCK_OFFSET=-2h"

// waitsOnFirst returns servers of which the first has a retry that waits, and has told the others of it. The last folder of each is its name.
func waitsOnFirst(t *testing.T, n int, store, tasks string) []*server {
	t.Helper()
	all := newServers(t, n, store, tasks)
	for _, s := range all {
		named := filepath.Join(s.dir, s.name)
		os.Mkdir(named, 0o755)
		os.Rename(s.path("schedule.yaml"), filepath.Join(named, "schedule.yaml"))
		s.dir = named
		t.Cleanup(func() { // before it settles: what waits there is nobody's any more
			s.unwatchedSoon()
			os.RemoveAll(s.path(".sched/runs"))
		})
	}
	first := all[0]
	first.env = append(first.env, behind)
	first.must("run", "--at", leapDay, "--force")
	first.until("it waits for attempt 2", func() bool {
		out, _ := first.sched("history")
		return strings.Contains(out, "waiting for attempt 2 until ") && first.unwatched()
	})
	first.must("run")
	return all
}

func (s *server) unwatchedSoon() { s.until("nobody watches a run", s.unwatched) }

// silence has Redis believe that a server ticked four minutes ago.
func silence(t *testing.T, r *redistest.Server, names ...string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Address})
	defer c.Close()
	for _, name := range names {
		ago := time.Now().Add(-4 * time.Minute).UnixMilli()
		if err := c.ZAdd(context.Background(), "sched:{shop}:servers", redis.Z{Score: float64(ago), Member: name}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// done ticks until an attempt after the first has run, and its run has ended.
func (s *server) done() {
	s.Helper()
	s.until("it goes on on "+s.name, func() bool {
		s.tick()
		return len(s.linesOf("after")) > 0
	})
	s.released()
}

// ranOnce fails unless there were two attempts, the second on that server, and one end with its hooks.
func (s *server) ranOnce(where string) {
	s.Helper()
	attempts, after := s.linesOf("attempts"), s.linesOf("after")
	if len(attempts) != 2 || !strings.HasPrefix(attempts[1], "2 "+where+" ") || len(after) != 1 || after[0] != "succeeded" {
		s.Errorf("attempts %q, ends %q, and not one on %s", attempts, after, where)
	}
}

func TestARetryIsTakenOverFromAServerThatDoesNotTick(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 2, store.URL, takeable)
	if out, _, _ := s[1].tick(); out != "" {
		t.Errorf("web-1 ticks: %s", out)
	}
	silence(t, store, "web-1")
	out, code, _ := s[1].tick()
	s[1].has(out, code, 0, "sched: flaky: attempt 2 was taken over from web-1, which has not ticked since ")
	list, _ := s[1].sched("list")
	why, _ := s[1].sched("why", "flaky")
	for _, out := range []string{list, why} {
		s[1].has(out, 0, 0, "waiting for attempt 2 until ", ": attempt 2 was taken over from web-1, which has not ticked since ")
	}
	out, code, _ = s[1].tick()
	s[1].has(out, code, 0, "flaky  attempt 2 started in the background")
	s[1].done()
	s[1].tick()
	s[1].ranOnce("web-2")

	attempts := s[1].linesOf("attempts")
	first, second := strings.Fields(attempts[0]), strings.Fields(attempts[1])
	if first[2] != second[2] || first[3] >= second[3] {
		t.Errorf("another run, or a fence that is not larger: %q", attempts)
	}
	r := s[1].outcome("flaky", 1)
	if r.Run != first[2] || r.Outcome != "succeeded" || r.Attempts != 2 || r.Server != "web-2" || len(r.Notes) != 1 ||
		!strings.HasPrefix(r.Notes[0], "attempt 2 was taken over from web-1, which has not ticked since ") {
		t.Errorf("%+v", r)
	}
	out, code = s[1].sched("logs", "flaky")
	s[1].has(out, code, 0, "sched: attempt 2 was taken over from web-1", "\nattempt 2\n")
	out, code = s[1].sched("why", "flaky", "--at", leapDay)
	s[1].has(out, code, 0, "taken over from web-1")

	for range 2 { // it comes back
		s[0].env = s[0].env[:1]
		out, _, _ := s[0].tick()
		if first := s[0].env; len(first) > 0 && strings.Contains(out, "started") {
			t.Errorf("web-1: %s", out)
		}
	}
	s[0].ranOnce("web-2")
	back := s[0].outcome("flaky", 1)
	if back.Outcome != "skipped" || back.Reason != "attempt 2: it was taken over by web-2" || back.Run == r.Run || back.Slot != r.Slot ||
		len(back.Notes) != 1 || back.Notes[0] != "attempt 1 failed here: exit code 1" {
		t.Errorf("web-1: %+v", back)
	}
	out, code = s[0].sched("history")
	s[0].has(out, code, 0, "skipped: attempt 2: it was taken over by web-2")
	out, code = s[0].sched("why", "flaky", "--at", leapDay)
	s[0].has(out, code, 0, "taken over by web-2", "attempt 1 failed here: exit code 1")
	out, code = s[0].sched("logs", back.Run)
	s[0].has(out, code, 0, "attempt 1\n")
	if runs, _ := filepath.Glob(s[0].path(".sched/runs/*.json")); len(runs) > 0 {
		t.Errorf("its file is left: %s", runs)
	}
}

// The server comes back before another one has taken its retry: then it is its own.
func TestAServerThatComesBackInTimeGoesOnWithItsRetry(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 2, store.URL, takeable)
	silence(t, store, "web-1")
	s[0].env = s[0].env[:1]
	s[0].done()
	silence(t, store, "web-1")
	for range 2 {
		s[1].tick()
		s[1].unwatchedSoon()
	}
	s[0].ranOnce("web-1")
}

// Its owner and two others go on with it at the same moment.
func TestARetryGoesOnOnceWhoeverTakesItOver(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 3, store.URL, takeable)
	s[0].env = s[0].env[:1]
	for range 4 {
		silence(t, store, "web-1", "web-2", "web-3")
		var ticks sync.WaitGroup
		for _, one := range s {
			ticks.Go(func() { one.tick() })
		}
		ticks.Wait()
	}
	s[0].until("it has ended", func() bool { return len(s[0].linesOf("after")) > 0 })
	for _, one := range s {
		one.unwatchedSoon()
		one.tick()
	}
	if attempts, after := s[0].linesOf("attempts"), s[0].linesOf("after"); len(attempts) != 2 || len(after) != 1 {
		t.Errorf("attempts %q, ends %q", attempts, after)
	}
}

// What Redis has lost, the next tick of the server adds again; and who has taken a retry over tells of it.
func TestARetryAfterALossOfRedis(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 3, store.URL, takeable)
	flush := func() {
		c := redis.NewClient(&redis.Options{Addr: store.Address})
		defer c.Close()
		if err := c.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	s[1].tick()
	s[0].must("run")
	silence(t, store, "web-1")
	os.Remove(s[1].path(".sched/store.json")) // else it would wait for two minutes
	if out, _, _ := s[1].tick(); !strings.Contains(out, "taken over from web-1") {
		t.Errorf("it is not there again: %s", out)
	}
	s[1].done()
	flush()
	s[0].env = s[0].env[:1]
	if out, _, _ := s[0].tick(); strings.Contains(out, "started") {
		t.Errorf("web-1 has met this Redis, which may have forgotten who has it: %s", out)
	}
	s[1].tick()
	os.Remove(s[0].path(".sched/store.json"))
	s[0].tick()
	s[0].ranOnce("web-2")
	if back := s[0].outcome("flaky", 1); back.Reason != "attempt 2: another server may have taken it over" {
		t.Errorf("%+v", back)
	}
}

// While nobody knows whether another server has it, none goes on, and the run does not end either.
func TestARetryWaitsForTheStore(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	proxy := redistest.StartProxy(t, store)
	s := waitsOnFirst(t, 2, proxy.URL, takeable)
	silence(t, store, "web-1")
	proxy.Set(redistest.Fault{Refuse: true})
	s[0].env = s[0].env[:1]
	for _, one := range s {
		if out, _, _ := one.tick(); strings.Contains(out, "started") || strings.Contains(out, "taken over from") {
			t.Errorf("%s: %s", one.name, out)
		}
	}
	if out, code := s[0].sched("stop", "flaky"); code != 1 || !strings.Contains(out, "nobody knows whether another server has taken it over") {
		t.Errorf("exit code %d: %s", code, out)
	}
	proxy.Set(redistest.Fault{})
	s[0].until("it is stopped", func() bool { s[0].tick(); return len(s[0].linesOf("after")) > 0 })
	silence(t, store, "web-1")
	for range 2 {
		s[1].tick()
	}
	if attempts, after := s[0].linesOf("attempts"), s[0].linesOf("after"); len(attempts) != 1 || len(after) != 1 || after[0] != "stopped" {
		t.Errorf("attempts %q, ends %q", attempts, after)
	}
}

func TestStopOfARetryThatAnotherServerHas(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 2, store.URL, takeable)
	silence(t, store, "web-1")
	s[1].tick()
	if out, code := s[0].sched("stop", "flaky"); code != 1 || !strings.Contains(out, "it was taken over by web-2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	s[1].done()
	s[1].ranOnce("web-2")
}

// A server takes over only what may run there.
func TestARetryStaysWhereItsTaskMayRun(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(s *server){
		"not one of its servers": func(s *server) { s.replace("    background", "    servers: [web-1]\n    background") },
		"another environment":    func(s *server) { s.replace("tasks:", "environment: staging\ntasks:") },
		"the task is gone":       func(s *server) { s.replace("name: flaky", "name: other") },
		"switched off":           func(s *server) { s.replace("    background", "    enabled: false\n    background") },
		"paused":                 func(s *server) { s.must("pause", "flaky") },
		"no such attempt":        func(s *server) { s.replace("attempts: 3", "attempts: 1") },
		"not of one server":      func(s *server) { s.replace("one_server: true", "one_server: false") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := redistest.Start(t)
			s := waitsOnFirst(t, 2, store.URL, takeable)
			edit(s[1])
			silence(t, store, "web-1")
			for range 2 {
				if out, _, _ := s[1].tick(); strings.Contains(out, "taken over") {
					t.Error(out)
				}
			}
			if attempts := s[0].linesOf("attempts"); len(attempts) != 1 {
				t.Errorf("attempts %q", attempts)
			}
		})
	}
}

// A run that nobody shares, and one that is not due, are not told, or not taken.
func TestARetryThatIsNotDueStays(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 2, store.URL, strings.Replace(takeable, "delay: 1h", "delay: 5h", 1))
	silence(t, store, "web-1")
	if out, _, _ := s[1].tick(); out != "" {
		t.Error(out)
	}
}

// A server that is forgotten leaves its retries to the others.
func TestTheRetriesOfAForgottenServerAreTakenOver(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := waitsOnFirst(t, 2, store.URL, takeable)
	silence(t, store, "web-1")
	c := redis.NewClient(&redis.Options{Addr: store.Address})
	defer c.Close()
	c.Del(context.Background(), "sched:{shop}:server:web-1") // else forget would say that it has ticked a moment ago
	s[1].must("forget", "web-1")
	s[1].done()
	s[1].ranOnce("web-2")
}

// replace replaces a text of the schedule.
func (s *server) replace(old, by string) {
	s.Helper()
	text := s.read("schedule.yaml")
	if !strings.Contains(text, old) {
		s.Fatalf("no %q in %s", old, text)
	}
	s.write("schedule.yaml", strings.Replace(text, old, by, 1))
}
