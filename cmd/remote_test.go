//go:build linux

package cmd_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sched/mutex/redistest"
)

// redisCalls returns how often a Redis was asked for each command, and how often it read from a connection: a round trip at most.
func redisCalls(t *testing.T, r *redistest.Server) (calls map[string]int) {
	t.Helper()
	calls = map[string]int{}
	for _, section := range []string{"commandstats", "stats"} {
		var text string
		err := redistest.Dial(t, r.URL).Do(t.Context(), func(ctx context.Context, _ int, c *redis.Client) (err error) {
			text, err = c.Info(ctx, section).Result()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^(?:cmdstat_([a-z|]+):calls=|(total_reads_processed):)(\d+)`).FindAllStringSubmatch(text, -1) {
			n := 0
			fmt.Sscan(found[3], &n)
			calls[found[1]+found[2]] = n
		}
	}
	return calls
}

// What other servers ask is looked for in a pipeline that a tick sends anyway.
func TestAnIdleTickLooksForRequestsWithoutARoundTrip(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := newServers(t, 1, store.URL, "tasks: [{name: one, cron: 0 0 29 2 *, command: \"true\"}]\n")[0]
	for range 2 {
		s.tick()
	}
	const ticks = 20
	before := redisCalls(t, store)
	for range ticks {
		s.tick()
	}
	after := redisCalls(t, store)
	const own = 5 // by this test
	for name, want := range map[string]int{"hgetall": 1, "time": 3, "evalsha": 0, "eval": 0, "get": 0} {
		if got := after[name] - before[name]; got < want*ticks || got > want*ticks+own {
			t.Errorf("%d ticks called %s %d times, and %d would do", ticks, name, got, want*ticks)
		}
	}
	if reads := after["total_reads_processed"] - before["total_reads_processed"]; reads > 6*ticks+2*own {
		t.Errorf("%d ticks took %d round trips", ticks, reads)
	}
}

// Several ticks, and a redis-server that is real: one stop, and one run of a trigger.
func TestTicksAtTheSameTimeCarryOutARequestOnce(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, "tasks: [{name: one, cron: 0 0 29 2 *, command: echo $SCHED_RUN >> $SHARED/ran}]\n")
	s[1].tick()
	const rounds, ticks = 5, 4
	for round := range rounds {
		if out, code := s[0].sched("trigger", "one", "--server", "web-2", "--no-wait"); code != 0 {
			t.Fatal(out)
		}
		over := make(chan string, ticks)
		for range ticks {
			go func() { out, _, _ := s[1].tick(); over <- out }()
		}
		for range ticks {
			<-over
		}
		s[1].until("the run is in the history", func() bool {
			s[1].tick()
			return len(s[1].history("one")) > round
		})
		if ran := s[1].linesOf("ran"); len(ran) != round+1 {
			t.Fatalf("%d runs were asked for, and these ran: %v", round+1, ran)
		}
	}
}

// Without a store there is nobody to ask.
func TestWithoutAStoreNobodyIsAsked(t *testing.T) {
	t.Parallel()
	b := newBox(t, "tasks: [{name: one, cron: 0 0 29 2 *, command: \"true\"}]\n")
	if out, code := b.sched("trigger", "one", "--server", "web-2"); code != 1 || !strings.Contains(out, "has no store, so this machine stands alone") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	b.sched("run")
	if _, err := os.Stat(b.path(".sched/asked")); err == nil {
		t.Error("a tick without a store has made a folder for requests")
	}
}

// What another server sends does nothing to a terminal. The live line says who is asked and until when, and ^C
// takes the request back.
func TestAnOutputFromElsewhereIsPlainOnATerminal(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL, "tasks:\n- name: one\n  cron: 0 0 29 2 *\n  command: printf '\\033]0;title\\007\\033[31mred\\n'\n")
	s[1].tick()
	s[0].sched("trigger", "one", "--server", "web-2", "--no-wait")
	s[1].until("it ran, and that is told", func() bool {
		s[1].tick()
		out, _ := s[0].sched("history", "--all", "one")
		return strings.Contains(out, "succeeded")
	})
	term, c := s[0].watch(120, []string{"NO_COLOR=1", "SCHED_TEST_SERVER=web-1"}, "logs", "one")
	s[0].shows(term, `^… asked web-2 what run [0-9a-f]{12} of one printed; its next tick is in \d.*s; \^C takes it back$`)
	s[1].tick()
	s[0].ends(term, c, `^red\n$`)
	if shown := term.seen(); strings.Contains(shown, "title") || strings.Contains(shown, "\x1b[31m") {
		t.Errorf("%q", shown)
	}

	term, c = s[0].watch(120, []string{"NO_COLOR=1", "SCHED_TEST_SERVER=web-1"}, "trigger", "one", "--server", "web-2")
	s[0].shows(term, `^… asked web-2 to run one; .*$`)
	c.Process.Signal(os.Interrupt)
	if code := s[0].ends(term, c, `^sched: what was asked of web-2 is taken back\n$`); code != 143 {
		t.Errorf("exit code %d", code)
	}
	s[1].tick()
	if all := s[1].history("one"); len(all) != 1 {
		t.Errorf("what was taken back ran: %+v", all)
	}
}
