//go:build linux && amd64

package cmd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"

	"sched/mutex/redistest"
)

// The tick that takes a retry over is killed before each call that changes anything, and so is the next one, which starts it. Then web-2 goes
// on, or it is gone and web-3 does, or web-1 comes back: the attempt is made once. Each third of the steps is tried with one of them.
func TestARetryGoesOnOnceWhereverItsTakerIsKilled(t *testing.T) {
	t.Parallel()
	apart := sized(18, 12, 3)
	for heir := range 3 {
		t.Run(fmt.Sprintf("then web-%d goes on", heir+1), func(t *testing.T) {
			t.Parallel()
			store := redistest.Start(t)
			s := waitsOnFirst(t, 3, store.URL, takeable)
			k := killedTakers{T: t, store: store, servers: s, began: s[0].linesOf("attempts")[0]}
			k.must("cp", "-r", s[0].path(".sched"), s[0].path("kept"))
			for tick := 1; tick <= 2; tick++ {
				for step := 1 + heir + 3*rand.IntN(apart/3); !k.try(tick, step, heir); step += apart {
				}
			}
		})
	}
}

// killedTakers kills ticks of web-2.
type killedTakers struct {
	*testing.T
	store   *redistest.Server
	servers []*server
	began   string // the first attempt, in the file of all
}

func (k killedTakers) must(command ...string) {
	k.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		k.Fatalf("%v: %s", err, out)
	}
}

// reset has all begin anew: the retry waits on web-1, and nobody else knows anything.
func (k killedTakers) reset() {
	k.Helper()
	c := redis.NewClient(&redis.Options{Addr: k.store.Address})
	defer c.Close()
	if err := c.FlushAll(context.Background()).Err(); err != nil {
		k.Fatal(err)
	}
	for _, s := range k.servers {
		s.unwatchedSoon()
		os.RemoveAll(s.path(".sched"))
	}
	first := k.servers[0]
	k.must("cp", "-r", first.path("kept"), first.path(".sched"))
	os.Remove(first.path(".sched/store.json"))
	os.WriteFile(first.shared("attempts"), []byte(k.began+"\n"), 0o644)
	os.Remove(first.shared("after"))
	first.env = []string{first.env[0], behind}
	first.must("run")
}

// try kills that tick of web-2 before that step. Ended reports that the tick ended before. The heir ticks then, on a server that knows
// nothing else; where web-2 has started the attempt nobody else may, and web-2 has to come back.
func (k killedTakers) try(tick, step, heir int) (ended bool) {
	k.Helper()
	k.reset()
	first, second := k.servers[0], k.servers[1]
	for n := 1; n <= tick; n++ {
		silence(k.T, k.store, "web-1")
		c := second.command("run", "-q")
		c.Env = append(append(c.Env, second.env...), "GOMAXPROCS=1")
		if n < tick {
			c.Run()
			continue
		}
		ended = killedBefore(k.T, c, step)
	}
	first.env = first.env[:1]
	over := func() bool { return len(first.linesOf("after")) > 0 }
	for range 3 {
		silence(k.T, k.store, "web-1", "web-2")
		k.servers[heir].tick()
		k.servers[heir].unwatchedSoon()
	}
	if tick == 1 && !over() {
		k.Errorf("killed before step %d: nobody goes on", step)
	}
	first.until("it has ended", func() bool { second.tick(); return over() })
	for _, s := range k.servers {
		s.unwatchedSoon()
		s.tick()
		s.unwatchedSoon()
	}
	if attempts, after := first.linesOf("attempts"), first.linesOf("after"); len(attempts) > 2 || len(after) != 1 {
		k.Errorf("tick %d, killed before step %d: attempts %q, ends %q", tick, step, attempts, after)
	}
	return ended
}
