//go:build linux

package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

const pausable = `tasks:
  - {name: report, cron: "* * * * *", tags: [slow], command: echo report >> $SHARED/ran}
  - {name: import, cron: "* * * * *", one_server: true, background: true, command: echo import >> $SHARED/ran}
  - {name: export, cron: "* * * * *", one_server: true, background: true, command: echo export >> $SHARED/ran}
  - {name: guard, cron: "* * * * *", even_when_paused: true, command: echo guard >> $SHARED/ran}
`

// has checks what a server printed, and its exit code.
func (s *server) has(out string, code, want int, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			s.Errorf("%s: no %q in:\n%s", s.name, text, out)
		}
	}
	if code != want {
		s.Errorf("%s: exit code %d, not %d:\n%s", s.name, code, want, out)
	}
}

func (s *server) must(args ...string) string {
	s.Helper()
	out, code := s.sched(args...)
	s.has(out, code, 0)
	return out
}

func TestAPauseIsOneOfAllServers(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, pausable)
	s[0].env = append(s[0].env, "SCHED_TEST_PERSON=ann")
	s[0].must("pause", "--reason", "deploying")
	for _, one := range s {
		out, code, _ := one.tick()
		one.has(out, code, 0, "report  skipped: paused by ann on web-1 since ", ": deploying",
			"import  skipped: paused by ann on web-1", "guard   succeeded")
		one.has(one.must("list"), 0, 0, "everything is paused by ann on web-1 since ")
		one.has(one.must("run", "--dry-run"), 0, 0, "would be skipped: paused by ann on web-1")
		one.has(one.must("why", "report"), 0, 0, "it will be skipped unless it is resumed: paused by ann on web-1")
		one.has(one.must("status"), 0, 0, "ok: ", "everything is paused by ann on web-1")
	}
	s[1].has(s[1].must("resume"), 0, 0, "everything is resumed; it was paused by ann on web-1")
	// A skipped slot is not claimed: a second run of the minute has it.
	out, code, _ := s[0].tick("--at", schedtest.ThisMinute())
	s[0].has(out, code, 0, "report  succeeded", "import  started", "export  started")
	s[0].must("pause", "report")
	s[0].must("pause", "--tag", "slow", "--for", "1h")
	out, code, _ = s[1].tick("--only", "report")
	s[1].has(out, code, 0, "skipped: paused by ann on web-1 since ", ", until ")
}

// Two servers plan pauses of the same task at the same moment: none is lost, each counts on both,
// and what one server takes back is taken back on both, also for a store that lost its data.
func TestPlannedPausesAreThoseOfAllServers(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := newServers(t, 2, redis.URL, pausable)
	var both sync.WaitGroup
	for i, one := range s {
		both.Go(func() {
			for h := range 3 {
				one.must("pause", "report", "--from", fmt.Sprintf("in %dh", 2*(3*i+h)+2), "--for", "1h", "--stop")
			}
		})
	}
	both.Wait()
	for _, one := range s {
		if n := strings.Count(one.must("pause", "list"), "report will be paused by "); n != 6 {
			t.Errorf("%s knows %d planned pauses", one.name, n)
		}
		one.tick()
	}
	redis.Kill()
	redis.Restart()
	if n := strings.Count(s[1].must("pause", "list"), "report will be paused by "); n != 6 {
		t.Errorf("after a loss %d planned pauses are known", n)
	}
	s[1].must("resume", "--planned", "report")
	for _, one := range s {
		one.has(one.must("pause", "list"), 0, 0, "no pause is planned")
	}
}

// Nobody can pause or resume while the store is down. Paused tasks stay paused, also when the store
// comes back without its data.
func TestAnOutageNeitherPausesNorResumes(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := newServers(t, 2, redis.URL, pausable)
	s[0].must("pause", "report")
	s[1].tick()
	redis.Kill()

	for _, command := range [][]string{{"pause"}, {"resume", "report"}, {"interrupt"}} {
		out, code := s[1].sched(command...)
		s[1].has(out, code, 1, "sched: cannot "+command[0]+": ")
	}
	for _, one := range s {
		out, _, took := one.tick("--only", "report")
		one.has(out, 0, 0, "skipped: paused by ")
		if took > 3*time.Second+schedtest.Slack {
			t.Errorf("the tick took %s", took)
		}
		out, code, _ := one.tick("--only", "guard")
		one.has(out, code, 0, "guard   succeeded")
		one.has(one.must("list"), 0, 0, "paused by ")
	}

	redis.Restart()
	out, code, _ := s[1].tick("--only", "report")
	s[1].has(out, code, 0, "skipped: paused by ")
	s[0].env = append(s[0].env, "SCHED_TEST_SERVER=web-3") // one that knows nothing
	if err := os.RemoveAll(s[0].Path(".sched")); err != nil {
		t.Fatal(err)
	}
	out, code, _ = s[0].tick("--only", "report")
	s[0].has(out, code, 0, "skipped: paused by ")
	s[1].must("resume", "report")
	out, code, _ = s[0].tick("--only", "report")
	s[0].has(out, code, 0, "succeeded")
}

func TestPauseTellsWhatGoesOnOnAllServers(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, held)
	s[0].tick()
	s[0].pids()
	s[0].has(s[0].must("pause", "long"), 0, 0, "1 run goes on: long; ")
	s[1].has(s[1].must("pause"), 0, 0, "1 run goes on: long on web-1; ")
	s[0].Write("go", "")
	if r := s[0].Outcome("long", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}

// pause is killed at any moment: either the old pause is there or the new one, and the next pause
// works.
func TestPauseIsKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	b := newBox(t, "tasks:\n  - {name: report, cron: \"* * * * *\", command: \"true\"}\n")
	b.Sched("pause", "report", "--reason", "old")
	begun := time.Now()
	b.Sched("pause", "report", "--reason", "old")
	usual := time.Since(begun)
	n := machine.Sized(15, 60)
	replaced := 0
	for i := range n {
		c := b.Command("pause", "report", "--reason", "new")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(usual * time.Duration(i) / time.Duration(n)) // not a wait: the moment of the kill
		c.Process.Kill()
		c.Wait()
		switch reason := b.Pauses().Last("report").Reason; reason {
		case "new":
			replaced++
		case "old":
		default:
			t.Fatalf("kill %d left %q", i, reason)
		}
		if out, code := b.Sched("pause", "report", "--reason", "old"); code != 0 {
			t.Fatalf("after kill %d: exit code %d\n%s", i, code, out)
		}
		if b.Pauses().Last("report").Reason != "old" {
			t.Fatalf("after kill %d nothing is replaced any more", i)
		}
	}
	t.Logf("%d of %d were killed before they had replaced it", n-replaced, n)
}

func TestManyPauseAtTheSameTime(t *testing.T) {
	t.Parallel()
	schedule, names := "tasks:\n", []string{}
	for _, letter := range "abcdefgh" {
		names = append(names, string(letter))
		schedule += "  - {name: " + string(letter) + ", cron: \"* * * * *\", command: \"true\"}\n"
	}
	for name, command := range map[string]func(t *testing.T) func(args ...string) *exec.Cmd{
		"files": func(t *testing.T) func(args ...string) *exec.Cmd { return newBox(t, schedule).Command },
		"redis": func(t *testing.T) func(args ...string) *exec.Cmd {
			return newServers(t, 1, redistest.Start(t).URL, schedule)[0].Command
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sched := command(t)
			var all sync.WaitGroup
			for _, name := range names {
				all.Go(func() {
					if out, err := sched("pause", name).CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
			all.Wait()
			out, err := sched("run").Output()
			if n := strings.Count(string(out), "skipped: paused by"); n != len(names) || err != nil {
				t.Errorf("%d paused: %v\n%s", n, err, out)
			}
		})
	}
}
