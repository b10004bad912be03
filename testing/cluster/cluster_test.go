//go:build linux

package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// A server is a box with a name of its own whose schedule has a store: it stands for a machine of a
// cluster.
type server struct {
	*box
	name string
	env  []string
}

// newServers returns servers that run the same schedule. Their tasks find the folder that all share
// in $SHARED.
func newServers(t *testing.T, n int, store, tasks string) []*server {
	t.Helper()
	shared := t.TempDir()
	var servers []*server
	for i := range n {
		b := newBox(t, "name: shop\ntimezone: UTC\nlease: 5s\nstore: "+store+"\nenv: {SHARED: "+shared+"}\n"+tasks)
		name := fmt.Sprintf("web-%d", i+1)
		servers = append(servers, &server{b, name, []string{"SCHED_TEST_SERVER=" + name}})
	}
	return servers
}

// shared is the path of a file in the folder that all servers of the test share.
func (s *server) shared(name string) string {
	_, line, _ := strings.Cut(s.Read("schedule.yaml"), "SHARED: ")
	dir, _, _ := strings.Cut(line, "}")
	return filepath.Join(dir, name)
}

// linesOf returns the lines of a file that all servers write.
func (s *server) linesOf(name string) []string {
	text, err := os.ReadFile(s.shared(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// tick runs sched run with the clock of the server, and returns what it printed and how long it
// took.
func (s *server) tick(args ...string) (out string, code int, took time.Duration) {
	s.Helper()
	begun := time.Now()
	out, code = s.sched(append([]string{"run"}, args...)...)
	return out, code, time.Since(begun)
}

func (s *server) sched(args ...string) (string, int) {
	s.Helper()
	c := s.Command(args...)
	c.Env = append(c.Env, s.env...)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		s.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// Each server ticks every minute of its own clock. Clocks differ by up to 45 s in both directions,
// so at any moment some servers are a minute ahead of others; the tasks end long before the last
// one asks.
func TestEverySlotRunsOnOneServerWhateverTheClocks(t *testing.T) {
	t.Parallel()
	machine.Turn(t)
	servers, minutes := machine.Sized(10, 20), machine.Sized(10, 20)
	tasks := "tasks:\n- group: all\n  one_server: true\n  command: echo $SCHED_TASK $SCHED_SLOT >> $SHARED/ran\n  tasks:\n"
	for i := range 10 {
		tasks += fmt.Sprintf("  - {name: t%d, cron: \"* * * * *\", background: %t}\n", i, i%2 == 0)
	}
	all := newServers(t, servers, redistest.Start(t).URL, tasks)

	type moment struct {
		server *server
		at     time.Time // true time
	}
	var moments []moment
	first := time.Now().UTC().Truncate(time.Minute).Add(-10 * time.Minute)
	for i, s := range all {
		skew := time.Duration(i*90/(servers-1)-45) * time.Second
		s.env = append(s.env, "SCHED_TEST_CLOCK_OFFSET="+skew.String())
		for m := range minutes {
			moments = append(moments, moment{s, first.Add(time.Duration(m)*time.Minute - skew + time.Second)})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })

	var ticks sync.WaitGroup
	room := make(chan struct{}, servers)
	for _, m := range moments {
		room <- struct{}{}
		ticks.Go(func() {
			defer func() { <-room }()
			c := m.server.Command("run", "-q")
			c.Env = append(append(c.Env, m.server.env...), "SCHED_TEST_CLOCK="+m.at.Format(time.RFC3339))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s at %s: %v\n%s", m.server.name, m.at, err, out)
			}
		})
	}
	ticks.Wait()

	ran := map[string]int{}
	all[0].Until("every slot ran", func() bool {
		clear(ran)
		for _, line := range all[0].linesOf("ran") {
			ran[line]++
		}
		return len(ran) == 10*minutes
	})
	for _, s := range all {
		s.Settle()
	}
	for _, slot := range slices.Sorted(maps.Keys(ran)) {
		if n := len(slices.DeleteFunc(all[0].linesOf("ran"), func(line string) bool { return line != slot })); n != 1 {
			t.Errorf("%s ran %d times", slot, n)
		}
	}
}

// Tasks that share a mutex never overlap, and each of them has slots of its own: the claim of one
// once kept the others from running anywhere, at every slot.
func TestTasksThatShareAMutexEachRunOnOneServer(t *testing.T) {
	t.Parallel()
	const tasks = `tasks:
- group: all
  cron: "* * * * *"
  one_server: true
  mutex: ledger
  command: mkdir $SHARED/inside && echo $SCHED_TASK >> $SHARED/ran; rmdir $SHARED/inside
  tasks: [{name: a}, {name: b, without_overlapping: true}, {name: c}]
`
	minute := time.Now().UTC().Add(-5 * time.Minute).Format(time.RFC3339)
	for name, all := range map[string][]*server{
		"with a Redis": newServers(t, 3, redistest.Start(t).URL, tasks),
		"on files":     newServers(t, 1, "''", tasks),
	} {
		for _, s := range append(all, all...) {
			s.tick("--at", minute)
		}
		if ran := all[0].linesOf("ran"); strings.Join(ran, " ") != "a b c" {
			t.Errorf("%s: ran %v", name, ran)
		}
	}
}

// A task that lasts until the file "go" is there, and says who is who.
const held = `
tasks:
  - name: long
    cron: "* * * * *"
    background: true
    without_overlapping: true
    kill_after: 1s
    command: |
      echo $SCHED_RUN >> $SHARED/began; echo $PPID > supervisor.pid; echo $$ > command.tmp; mv command.tmp command.pid
      exec await go
    on_success: echo $SCHED_OUTCOME >> hooks.txt
    on_failure: echo $SCHED_OUTCOME >> hooks.txt
`

// runStates returns the runs that have not ended.
func (s *server) runStates() []state.Row { return schedtest.OpenRows(s.Path(".sched")) }

// pids waits for the processes of a run of that task.
func (s *server) pids() (witness, supervisor, command int) {
	s.Helper()
	command = s.PidIn("command.pid")
	supervisor = s.PidIn("supervisor.pid")
	return schedtest.Parent(s.T, supervisor), supervisor, command
}

// takesOver ticks until the task is not skipped any more, and returns how long that took.
func (s *server) takesOver() time.Duration {
	s.Helper()
	begun := time.Now()
	s.Until(s.name+" takes over", func() bool {
		out, _, _ := s.tick("--at", schedtest.ThisMinute())
		return strings.Contains(out, "started in the background")
	})
	return time.Since(begun)
}

// endOfLock returns a function that waits until the lock of a task ends, and says how: released
// ("del"), or by its lease ("expired").
func endOfLock(t *testing.T, r *redistest.Server, task string) func() string {
	t.Helper()
	var told <-chan *redis.Message
	options, err := redis.ParseURL(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { c.Close() })
	if err := c.ConfigSet(t.Context(), "notify-keyspace-events", "Kgx").Err(); err != nil {
		t.Fatal(err)
	}
	lock := c.PSubscribe(t.Context(), "__keyspace@*__:*:lock:"+task)
	t.Cleanup(func() { lock.Close() })
	if _, err := lock.Receive(t.Context()); err != nil { // from now on it is told
		t.Fatal(err)
	}
	told = lock.Channel()
	return func() string {
		for over := time.After(schedtest.Patience); ; {
			select {
			case m := <-told:
				if m.Payload == "del" || m.Payload == "expired" {
					return m.Payload
				}
			case <-over:
				return ""
			}
		}
	}
}

// A dead server cannot release anything: its lease runs out.
func TestTheLockOfADeadServerIsFreeWithinALease(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, held)
	s[0].tick()
	witness, supervisor, command := s[0].pids()

	out, code, _ := s[1].tick()
	if !strings.Contains(out, "skipped: still running") || !strings.Contains(out, "on web-1") || code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for _, pid := range []int{witness, supervisor, command} {
		s[0].Kill(pid)
	}
	if took := s[1].takesOver(); took > 5*time.Second+machine.Within(5*time.Second) {
		t.Errorf("it took %s", took)
	}

	// It comes back: its run is lost, its hooks fire, and the lock stays with the other.
	out, _, _ = s[0].tick("--at", schedtest.ThisMinute())
	if !strings.Contains(out, "on web-2") {
		t.Errorf("the dead server does not know the new holder:\n%s", out)
	}
	if r := s[0].Outcome("long", 2); s[0].Read("hooks.txt") != "lost\n" {
		t.Errorf("hooks %q after %+v", s[0].Read("hooks.txt"), r)
	}
	if out, _, _ = s[0].tick("--at", schedtest.ThisMinute()); !strings.Contains(out, "on web-2") {
		t.Errorf("finishing the lost run freed the lock of the other:\n%s", out)
	}
}

// The supervisor is killed. Its witness goes on to renew the lease, for longer than one lasts, and
// the lock is free as soon as the run is over.
func TestTheLeaseOutlivesItsSupervisor(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := newServers(t, 2, redis.URL, held)
	s[0].tick()
	_, supervisor, _ := s[0].pids()
	s[0].Kill(supervisor)
	s[0].Gone(supervisor)
	// the lease is one of 5 s
	for begun := time.Now(); time.Since(begun) < 8*time.Second; time.Sleep(200 * time.Millisecond) {
		if out, _, _ := s[1].tick("--at", schedtest.ThisMinute()); !strings.Contains(out, "skipped: still running") ||
			!strings.Contains(out, "on web-1") {
			t.Fatalf("after %s: %s", time.Since(begun), out)
		}
	}
	ends := endOfLock(t, redis, "long")
	s[0].Write("go", "")
	if hook := s[0].LineIn("hooks.txt"); hook != "succeeded" {
		t.Errorf("hook %q", hook)
	}
	if r := s[0].Outcome("long", 1); len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	if end := ends(); end != "del" {
		t.Errorf("the lock ended as Redis says with %q", end)
	}
	s[1].takesOver()
	s[1].Until("the second run has begun", func() bool { return len(s[1].linesOf("began")) == 2 })
}

// A server stands still after it has taken its locks, and before it has started all commands. When
// it goes on, other servers have the locks of the commands that it had not started. It must not
// start them, too.
func TestAServerThatStoodStillStartsNothingThatOthersRun(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	machine.Turn(t)
	const many = 150 // more than a server starts before it is stopped
	tasks := "tasks:\n"
	for i := range many {
		tasks += fmt.Sprintf("- {name: t%d, cron: \"* * * * *\", background: true, without_overlapping: true, ", i) +
			"command: 'echo $SCHED_TASK >> $SHARED/ran; await $SHARED/go'}\n"
	}
	s := newServers(t, 2, redistest.Start(t).URL, tasks)
	defer func() { os.WriteFile(s[0].shared("go"), nil, 0o600) }()
	tick := s[0].Command("run")
	tick.Env = append(tick.Env, s[0].env...)
	if err := tick.Start(); err != nil {
		t.Fatal(err)
	}
	s[0].Until("runs have begun", func() bool { return len(s[0].runStates()) > 0 })
	still := []int{tick.Process.Pid}
	for i := 0; i < len(still); i++ { // stopped, it has no more children
		syscall.Kill(still[i], syscall.SIGSTOP)
		still = append(still, schedtest.ChildrenOf(still[i])...)
	}
	s[1].Until("the other server has the locks", func() bool {
		s[1].tick("-q")
		tasks := map[string]bool{}
		for _, task := range s[0].linesOf("ran") {
			tasks[task] = true
		}
		return len(tasks) == many
	})
	wentOn := time.Now()
	for _, pid := range still {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	tick.Wait()
	var stopped, skipped []schedtest.Record // skipped are those whose locks were still to be taken
	var started map[string]state.Attempt    // of the first server
	s[0].Until("each run of the first server has started or is over", func() bool {
		stopped, skipped, started = nil, nil, map[string]state.Attempt{}
		for _, r := range s[0].History("") {
			switch r.Outcome {
			case "stopped":
				stopped = append(stopped, r)
			case "skipped":
				skipped = append(skipped, r)
			}
		}
		for _, row := range s[0].runStates() {
			if row.Attempt.PID != 0 {
				started[row.Task] = row.Attempt
			}
		}
		return len(stopped)+len(skipped)+len(started) >= many
	})
	for _, other := range s[1].runStates() {
		attempt := started[other.Task]
		if !attempt.At.After(wentOn) {
			continue
		}
		// A machine with too much to do may make the other lose its lease in turn.
		if !strings.Contains(strings.Join(other.Notes, "\n"), "lost its lock") {
			t.Errorf("%s started %s after the server went on, and the other has its lock",
				other.Task, attempt.At.Sub(wentOn))
		}
	}
	if len(stopped) == 0 || !strings.Contains(stopped[0].Reason,
		"before attempt 1: its lock cannot be told to be held: ") {
		t.Errorf("%d stopped, %d had started: %+v", len(stopped), len(started), stopped)
	}
}

// A supervisor that is stopped for longer than its lease cannot renew it. Another server takes the
// lock; the first run finds out when it goes on, and its finish leaves the lock of the other alone.
func TestALostLeaseIsRecordedAndTheLockStaysWithTheOther(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"continue", "stop"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := newServers(t, 3, redistest.Start(t).URL, held+"    on_lost_lease: "+policy+"\n")
			s[0].tick()
			_, supervisor, _ := s[0].pids()
			syscall.Kill(supervisor, syscall.SIGSTOP)
			s[1].takesOver()
			s[1].pids()
			syscall.Kill(supervisor, syscall.SIGCONT)
			want := "stopped"
			if policy == "continue" {
				// It goes on and ends well; what the renewal found is in its record.
				s[0].Until("the loss was noticed",
					func() bool { return strings.Contains(s[0].OpenRuns(), "lost its lock") })
				s[0].Write("go", "")
				want = "succeeded"
			}
			r := s[0].Outcome("long", 1)
			if r.Outcome != want || !strings.Contains(strings.Join(r.Notes, "\n"), "lost its lock") {
				t.Errorf("%+v", r)
			}
			if out, _, _ := s[2].tick(); !strings.Contains(out, "on web-2") {
				t.Errorf("the late finish freed the lock of the other run:\n%s", out)
			}
		})
	}
}

// The user of the docs may do all that sched does, and a refusal names the command.
func TestTheCommandsOfTheDocsAreEnough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/many-servers.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := []string{"--user", "shop", "on", ">pw"}
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, "ACL SETUSER shop "); ok {
			rules = append(rules, strings.Fields(strings.TrimPrefix(rest, "on >PASSWORD "))...)
		}
	}
	store := func(rules []string) string {
		return strings.Replace(redistest.Start(t, rules...).URL, "redis://", "redis://shop:pw@", 1)
	}
	s := newServers(t, 2, store(rules), held+"\n  - {name: once, cron: \"* * * * *\", one_server: true, command: \"true\"}\n")
	said := ""
	for _, args := range [][]string{{"run"}, {"run", "--dry-run"}, {"servers"}, {"history", "--all-servers"},
		{"list"}, {"pause", "once"},
		{"resume"}, {"interrupt"}, {"status"}, {"run"}, {"trigger", "once"}, {"run"}, {"logs", "once"},
		{"stop", "long"}, {"unlock", "long"},
		{"forget", "gone"}, {"why", "once"}, {"check"}, {"doctor"}} {
		for _, one := range s {
			out, _ := one.sched(args...)
			said += strings.Join(args, " ") + ": " + out
		}
	}
	if strings.Contains(said, "unknown flag") || strings.Contains(said, "unknown command") ||
		strings.Contains(said, "does not let the user") || strings.Contains(said, "NOPERM") ||
		strings.Contains(said, "no permissions") {
		t.Error(said)
	}
	without := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return rule == "+set" })
	out, _, _ := newServers(t, 1, store(without),
		"tasks:\n  - {name: once, cron: \"* * * * *\", one_server: true, command: \"true\"}\n")[0].tick()
	if !strings.Contains(out, "NOPERM") || !strings.Contains(out, "hint: docs/many-servers.md") {
		t.Error(out)
	}
}

// Latency must not decide what runs: 200 tasks at 40 ms of round trip once ran none of them.
func TestATickOverASlowNetworkStartsAllInTime(t *testing.T) {
	machine.Turn(t)
	machine.Slow(t)
	tasks := "tasks:\n- group: all\n  one_server: true\n  background: true\n  command: date +%s%N >> $SHARED/ran\n  tasks:\n"
	for i := range 200 {
		tasks += fmt.Sprintf("  - {name: t%d, cron: \"* * * * *\"}\n", i)
	}
	proxy := redistest.StartProxy(t, redistest.Start(t))
	s := newServers(t, 1, proxy.URL, tasks)[0]
	proxy.Set(redistest.Fault{Delay: 100 * time.Millisecond})
	begun := time.Now()
	out, code, took := s.tick()
	if code != 0 || strings.Count(out, "started in the background") != 200 || took > time.Second+schedtest.Slack {
		t.Errorf("exit code %d after %s:\n%s", code, took, out)
	}
	s.Until("all have run", func() bool { return len(s.linesOf("ran")) == 200 })
	ran := s.linesOf("ran")
	slices.Sort(ran)
	first, _ := strconv.ParseInt(ran[0], 10, 64)
	last, _ := strconv.ParseInt(ran[199], 10, 64)
	firstAfter, lastAfter := time.Unix(0, first).Sub(begun), time.Unix(0, last).Sub(begun)
	t.Logf("the first started after %s, the last after %s, and the tick took %s", firstAfter, lastAfter, took)
	if firstAfter > 500*time.Millisecond+schedtest.Slack || lastAfter > time.Second+schedtest.Slack {
		t.Errorf("the first started after %s, the last after %s", firstAfter, lastAfter)
	}
}

// When its lease ends another run may begin, so a command that is to be stopped is gone by then,
// whatever it does about TERM. No other test runs beside it, because half a second counts.
func TestALeaseThatCannotBeRenewedStopsItsCommandBeforeItEnds(t *testing.T) {
	redis := redistest.Start(t)
	s := newServers(t, 1, redis.URL, strings.ReplaceAll(held, "kill_after: 1s",
		"kill_after: 1m\n    on_lost_lease: stop")+"\n")[0]
	s.Write("schedule.yaml", strings.Replace(s.Read("schedule.yaml"), "      echo $SCHED_RUN",
		"      trap '' TERM; echo $SCHED_RUN", 1))
	s.tick()
	_, _, command := s.pids()
	redis.Pause()
	begun := time.Now()
	s.Gone(command)
	if took := time.Since(begun); took > 5*time.Second+machine.Within(500*time.Millisecond) { // the lease is one of 5 s
		t.Errorf("it took %s", took)
	}
	if r := s.Outcome("long", 1); r.Outcome != "stopped" ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "could not be renewed") {
		t.Errorf("%+v", r)
	}
}

// The lease of a killed supervisor counts from its last renewal, and not from the moment at which
// the witness takes over: by then it has had no answer for some time.
func TestALeaseOfAKilledSupervisorStopsItsCommandBeforeItEnds(t *testing.T) {
	const lease, before = 10 * time.Second, 4 * time.Second
	redis := redistest.Start(t)
	s := newServers(t, 1, redis.URL, strings.ReplaceAll(held, "kill_after: 1s",
		"kill_after: 1m\n    on_lost_lease: stop")+"\n")[0]
	s.Write("schedule.yaml", strings.NewReplacer("lease: 5s", "lease: "+lease.String(),
		"      echo $SCHED_RUN", "      trap '' TERM; echo $SCHED_RUN").Replace(s.Read("schedule.yaml")))
	s.tick()
	_, supervisor, command := s.pids()
	redis.Pause()
	begun := time.Now()
	s.Until("some of the lease is over", func() bool { return time.Since(begun) > before })
	s.Kill(supervisor)
	s.Gone(command)
	if took := time.Since(begun); took > lease {
		t.Errorf("it took %s", took)
	}
	if r := s.Outcome("long", 1); r.Outcome != "stopped" ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "could not be renewed") {
		t.Errorf("%+v", r)
	}
}

// A run that ends while the store is away cannot release its mutex and its seat there. Its own
// server knows that the run has ended, and does not skip the next slot for it.
func TestAStoreThatWasAwayAtTheEndOfARunKeepsNothingFromItsOwnServer(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	tasks := strings.Replace(held, "tasks:", "pools: {one: 1}\ntasks:", 1)
	s := newServers(t, 2, redis.URL, strings.Replace(tasks, "    kill_after: 1s", "    pool: one\n    kill_after: 1s", 1)+"\n")
	for _, one := range s {
		one.Write("schedule.yaml", strings.Replace(one.Read("schedule.yaml"), "lease: 5s", "lease: 10m", 1))
	}
	s[0].tick()
	s[0].pids()
	redis.Pause()
	s[0].Write("go", "")
	if r := s[0].Outcome("long", 1); r.Outcome != "succeeded" {
		t.Fatalf("%+v", r)
	}
	redis.Resume()
	next := time.Now().UTC().Add(time.Minute).Format(time.RFC3339)
	if out, _, _ := s[1].tick("--at", next); !strings.Contains(out, "skipped: still running") {
		t.Errorf("another server does not know that the run has ended:\n%s", out)
	}
	if out, code, _ := s[0].tick("--at", next); code != 0 || strings.Contains(out, "skipped") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if r := s[0].Outcome("long", 2); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}

// Each row is a way for Redis to be gone while a run goes on.
func TestAnOutageSkipsOrRunsAsTheTaskSays(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*redistest.Server){
		"stopped":         func(r *redistest.Server) { r.Stop() },
		"killed":          func(r *redistest.Server) { r.Kill() },
		"does not answer": func(r *redistest.Server) { r.Pause() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			tasks := held
			for i := range 100 { // however many there are
				tasks += fmt.Sprintf("  - {name: once%d, cron: \"* * * * *\", one_server: true, command: echo once >> $SHARED/ran}\n", i)
			}
			tasks += `
  - {name: always, cron: "* * * * *", one_server: true, store_down: run, command: echo always >> $SHARED/ran}
  - {name: alone, cron: "* * * * *", command: echo alone >> $SHARED/ran}
`
			s := newServers(t, 2, redis.URL, tasks)
			s[0].tick("--only", "long")
			s[0].pids()
			minute := time.Now().UTC().Add(-5 * time.Minute).Format(time.RFC3339)
			_, _, usual := s[0].tick("--only", "alone", "--at", minute)
			fail(redis)
			for i, one := range s {
				out, code, took := one.tick("--at", minute)
				if code != 1 || took > usual+3*time.Second+schedtest.Slack {
					t.Errorf("%s: exit code %d after %s:\n%s", one.name, code, took, out)
				}
				if n := strings.Count(out, "sched: "); n != 2 { // the outage, and that always runs without a lock
					t.Errorf("%s said %d things:\n%s", one.name, n, out)
				}
				// That long still runs on its own machine is known there without Redis.
				if n := strings.Count(out, "skipped: nobody knows"); n != 100+i ||
					strings.Contains(out, "still running") != (i == 0) {
					t.Errorf("%s: %d tasks skipped:\n%s", one.name, n, out)
				}
			}
			ran := s[0].linesOf("ran")
			slices.Sort(ran)
			if got := strings.Join(ran, " "); got != "alone alone alone always always" {
				t.Errorf("ran: %s", got)
			}
			s[0].Write("go", "")
			if r := s[0].Outcome("long", 1+1); r.Task != "long" {
				t.Errorf("%+v", r)
			}
			if got := s[0].Read("hooks.txt"); got != "succeeded\n" {
				t.Errorf("hooks: %q", got)
			}
		})
	}
}

// A Redis that comes back empty has forgotten who has what, and grants at once. The run that had a
// lock takes it again with its next renewal, and notes that the lock was gone. A slot that had run
// may run again: docs/many-servers.md says so.
func TestARedisThatComesBackEmptyGrantsAtOnceAndALivingRunTakesItsLockAgain(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := newServers(t, 2, redis.URL, held+`
  - {name: once, cron: "* * * * *", one_server: true, command: echo $SCHED_SLOT >> $SHARED/ran}
`)
	at := time.Now().UTC().Add(-5 * time.Minute).Truncate(time.Minute).Format(time.RFC3339)
	s[0].tick("--at", at)
	s[0].pids()
	redis.Restart()
	store := redistest.Dial(t, redis.URL)
	s[0].Until("the lock is there again", func() bool {
		holders, err := store.Held(t.Context(), "long")
		return err == nil && holders["long"].Host == "web-1"
	})
	out, code, _ := s[1].tick("--at", at)
	if !strings.Contains(out, "still running") || !strings.Contains(out, "once  succeeded") || code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	s[0].Write("go", "")
	if r := s[0].Outcome("long", 1); r.Outcome != "succeeded" || len(r.Notes) != 1 ||
		!strings.HasPrefix(r.Notes[0], "lost its lock at ") {
		t.Errorf("%+v", r)
	}
	if s[0].Read("hooks.txt") != "succeeded\n" || s[1].Read("hooks.txt") != "" {
		t.Errorf("hooks: %q, %q", s[0].Read("hooks.txt"), s[1].Read("hooks.txt"))
	}
	if ran := s[0].linesOf("ran"); len(ran) != 2 || ran[0] != ran[1] {
		t.Errorf("ran: %v", ran)
	}
}

func TestOfThreeServersOneMayBeDown(t *testing.T) {
	t.Parallel()
	var stores []*redistest.Server
	var urls []string
	for range 3 {
		stores = append(stores, redistest.Start(t))
		urls = append(urls, stores[len(stores)-1].URL)
	}
	s := newServers(t, 2, "["+strings.Join(urls, ", ")+"]", held)
	s[0].tick()
	s[0].pids()
	skipped := func(why string, wantCode int) {
		t.Helper()
		if out, code, took := s[1].tick("--at", schedtest.ThisMinute()); !strings.Contains(out, why) || code != wantCode ||
			took > 3*time.Second+schedtest.Slack {
			t.Errorf("exit code %d after %s:\n%s", code, took, out)
		}
	}
	skipped("on web-1", 0)
	stores[1].Kill()
	skipped("on web-1", 0)
	s[0].Write("go", "")
	s[0].Outcome("long", 1)
	if r := s[0].History("long")[0]; len(r.Notes) > 0 {
		t.Errorf("one server of three was down: %v", r.Notes)
	}
	s[1].takesOver()
	stores[2].Pause()
	if out, code, _ := s[0].tick("--at", schedtest.ThisMinute()); !strings.Contains(out, "skipped: nobody knows") || code != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A slot that comes too late to start is not claimed, so another server may have it.
func TestWhatIsTooLateClaimsNothing(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, `tasks:
  - group: all
    cron: "* * * * *"
    start_deadline: 10s
    background: true
    command: echo >> $SHARED/ran
    tasks:
      - {name: one, one_server: true}
      - {name: two, one_server: true, without_overlapping: true}
      - {name: three, without_overlapping: true}
`)
	minute := time.Now().UTC().Truncate(time.Minute)
	for i, seconds := range []int{40, 1} {
		s[i].env = append(s[i].env, "SCHED_TEST_CLOCK="+minute.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339))
	}
	if out, code, _ := s[0].tick(); strings.Count(out, "skipped: it could not start within 10 s") != 3 || code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if out, code, _ := s[1].tick(); strings.Count(out, "started in the background") != 3 || code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// Each row is a mistake in the URL, and what is said about it: at once, in one line, with a hint,
// and never with the password in it.
func TestAStoreThatCannotBeUsedIsToldInOneLine(t *testing.T) {
	t.Parallel()
	open, closed := redistest.Start(t), redistest.Start(t, "--requirepass", "right")
	place := func(r *redistest.Server, user, database string) string {
		_, host, _ := strings.Cut(r.URL, "://")
		return user + host + database
	}
	for _, tt := range []struct{ name, url, want string }{
		{"a wrong password", "redis://" + place(closed, ":s3cret@", ""), "refuses the "},
		{"no password", "redis://" + place(closed, "", ""), "wants a password"},
		{"a database that is not there", "redis://" + place(open, "", "/9999"), "DB index is out of range"},
		{"TLS against a plain port", "rediss://" + place(open, "", ""), "then write redis://"},
		{"nobody there", "redis://:s3cret@127.0.0.1:1", "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServers(t, 1, tt.url,
				"tasks:\n  - {name: once, cron: \"* * * * *\", one_server: true, command: echo}\n")[0]
			out, code, _ := s.tick()
			said := 0
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "sched: ") {
					said++
				}
			}
			if code != 1 || said != 1 || !strings.Contains(out, tt.want) || !strings.Contains(out, "\nhint: ") ||
				strings.Contains(out, "s3cret") {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
	for _, tt := range []struct{ url, want string }{
		{"redis//localhost", "does not begin with redis://"},
		{"redis://u:s3cret@host:port", "is not a URL"},
		{"redis://:s3cret@host/shop", "has a database that is not a number"},
	} {
		s := newServers(t, 1, tt.url, "tasks: []\n")[0]
		if out, code := s.sched("check"); code != 2 || !strings.Contains(out, tt.want) ||
			!strings.Contains(out, "hint: ") || strings.Contains(out, "s3cret") {
			t.Errorf("%s: exit code %d:\n%s", tt.url, code, out)
		}
	}
}

// unlock on one server frees what another one has; a dry run and list name the holder.
func TestOtherServersSeeTheHolderAndCanBreakTheLock(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, held)
	s[0].tick()
	s[0].pids()
	if out, _, _ := s[1].tick("--dry-run"); !strings.Contains(out, "would be skipped: still running") ||
		!strings.Contains(out, "on web-1") {
		t.Errorf("dry run:\n%s", out)
	}
	if out, _ := s[1].sched("list"); !strings.Contains(out, "web-1") {
		t.Errorf("list:\n%s", out)
	}
	if out, code := s[1].sched("stop", "long"); code != 1 ||
		!strings.Contains(out, "of long is on web-1: `sched stop ") {
		t.Errorf("stop: exit code %d\n%s", code, out)
	}
	if out, code := s[1].sched("unlock", "long"); code != 0 || !strings.Contains(out, "on web-1") ||
		!strings.Contains(out, "that run goes on") {
		t.Errorf("unlock: exit code %d\n%s", code, out)
	}
	if out, _, _ := s[1].tick(); !strings.Contains(out, "started in the background") {
		t.Errorf("after unlock:\n%s", out)
	}
}

// The lock of a task with on_lost_lease: stop is not broken without its run, and unlock says so.
func TestUnlockSaysThatTheRunIsStopped(t *testing.T) {
	t.Parallel()
	s := newServers(t, 1, redistest.Start(t).URL, held+"    on_lost_lease: stop\n")
	s[0].tick()
	s[0].pids()
	if out, code := s[0].sched("unlock", "long"); code != 0 ||
		!strings.Contains(out, "; `on_lost_lease: stop` ends that run within seconds") {
		t.Errorf("unlock: exit code %d\n%s", code, out)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if out, _ := s[0].sched("history", "long"); strings.Contains(out, "stopped") {
			return
		} else if time.Now().After(end) {
			t.Fatalf("it goes on:\n%s", out)
		}
	}
}
