//go:build linux

package cluster_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/redistest"
)

// spentHere returns how many attempts of the task the server has counted. Each of them spent 1.
func (s *server) spentHere(task string) int {
	db, err := state.OpenRead(s.Path(".sched"), state.Patience)
	if err != nil {
		return 0
	}
	defer db.Close()
	spent, err := db.Runs().Spent(context.Background(), task, "usd", time.Unix(0, 0))
	if err != nil {
		s.Error(err)
	}
	return len(spent)
}

// Three servers run the same task, which may spend 12 in all. Their ticks are killed at any moment,
// and the store is gone at times. No more is spent than the budget and what went on when it ran
// out, and in the end each attempt is counted once.
func TestABudgetIsKeptByThreeServersUnderFaults(t *testing.T) {
	t.Parallel()
	const budget = 12
	store := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	servers := newServers(t, 3, store.URL, `tasks:
  - name: agent
    cron: "* * * * *"
    command: 'echo spent >> $SHARED/spent; echo usd=1 > $SCHED_REPORT'
    report: {usd: {budget: {at_most: 12, per: 31d}}}
`)
	rounds := 12
	if machine.Full {
		rounds = 60
	}
	var ticking sync.WaitGroup
	var kills atomic.Int64
	first := time.Now().UTC().Truncate(time.Minute).Add(-10 * time.Hour)
	for n, s := range servers {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		ticking.Go(func() {
			for round := range rounds {
				c := s.Command("run", "-q", "--only", "agent", "--at", first.Add(time.Duration(round)*time.Minute).Format(time.RFC3339))
				c.Env = append(c.Env, s.env...)
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				if random.IntN(3) == 0 {
					time.AfterFunc(time.Duration(random.IntN(200))*time.Millisecond, func() {
						if c.Process.Kill() == nil {
							kills.Add(1)
						}
					})
				}
				c.Wait()
			}
		})
	}
	over := make(chan struct{})
	go func() { ticking.Wait(); close(over) }()
	for away := false; ; away = !away {
		select {
		case <-over:
		case <-time.After(700 * time.Millisecond):
			if away {
				store.Resume()
			} else {
				store.Pause()
			}
			continue
		}
		if away {
			store.Resume()
		}
		break
	}
	late := first
	servers[0].Until("the budget is spent", func() bool {
		late = late.Add(-time.Minute)
		out, _, _ := servers[0].tick("--only", "agent", "--at", late.Format(time.RFC3339))
		return strings.Contains(out, "skipped: the budget of usd is spent until ")
	})
	spent := len(servers[0].linesOf("spent"))
	if most := budget + len(servers) - 1 + int(kills.Load()); spent > most || spent < budget {
		t.Errorf("%d was spent of %d, with %d kills", spent, budget, kills.Load())
	}
	counted := func() (sum int) {
		for _, s := range servers {
			s.tick("-q", "--at", first.Add(-2*time.Hour).Format(time.RFC3339)) // finds what was killed
			sum += s.spentHere("agent")
		}
		return sum
	}
	servers[0].Until("each attempt is counted", func() bool { return counted() >= len(servers[0].linesOf("spent")) })
	if sum, spent := counted(), len(servers[0].linesOf("spent")); sum != spent {
		t.Errorf("%d attempts spent, and %d are counted", spent, sum)
	}
	for _, s := range servers { // each knows of all
		out, _, _ := s.tick("--only", "agent", "--at", first.Add(-3*time.Hour).Format(time.RFC3339))
		if want := "skipped: the budget of usd is spent until "; !strings.Contains(out, want) {
			t.Errorf("%s: %s", s.name, out)
		}
	}
}
