package takeover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
	"sched/schedule/outcome"
)

// A peer is a server as its claims of one attempt see it.
type peer struct {
	Turns
	waits   bool   // the run has a file here
	owner   string // from which it is about to take the attempt over; empty where it has
	turn    int
	started int // or ended the run: how often
}

// A toldRetry is what other servers may have read of one, however long ago.
type toldRetry struct {
	server string
	turn   int
}

// steps does what a tick does with the attempt, in so many steps: then it is killed. Held says that another run has the mutex.
func (p *peer) steps(told toldRetry, n int, held bool) {
	if !p.waits {
		if p.Silent(told.server) != nil || n == 0 {
			return
		}
		p.waits, p.owner, p.turn = true, told.server, told.turn
	}
	if p.owner != "" && n > 1 {
		turn, err := p.Take(p.owner, p.turn)
		if errors.As(err, new(*TakenError)) {
			p.waits = false
		}
		if err != nil || n == 2 {
			return
		}
		p.owner, p.turn = "", turn
	}
	if n <= 3 {
		return
	}
	unclaim, err := p.Own(p.turn)
	taken := new(TakenError)
	switch {
	case errors.As(err, &taken):
		p.waits = !taken.Over
	case err == nil && held && n > 4:
		unclaim()
	case err == nil && n > 4:
		p.started, p.waits = p.started+1, false // and the run has ended
	}
}

// Three servers do what they may in any order: they tick or do not, go on, find the mutex held, take over, and are killed anywhere in between.
// One of them starts the attempt. In the end the one that is left does, or one of all, if nobody has.
func TestOneServerStartsAnAttemptWhateverIsKilled(t *testing.T) {
	store := redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		at := Turns{Store: store, Run: outcome.NewID(), Task: "flaky", Attempt: 2, Due: time.Now()}
		var story []string
		peers, all := []*peer{}, []toldRetry{{"web-1", 0}}
		for _, name := range []string{"web-1", "web-2", "web-3"} {
			at.Self = name
			peers = append(peers, &peer{Turns: at, waits: name == "web-1"})
		}
		tick := func(p *peer, n int, held bool) {
			told := all[random.IntN(len(all))]
			if !p.waits && told.server == p.Self {
				return
			}
			p.steps(told, n, held)
			story = append(story, fmt.Sprintf("%s in %d steps, held %t, told %v: %t %s %d %d", p.Self, n, held, told, p.waits, p.owner, p.turn, p.started))
			if p.waits && p.owner == "" {
				all = append(all, toldRetry{p.Self, p.turn})
			}
		}
		for range 15 {
			seen(t, store, peers[random.IntN(3)].Self, random.IntN(2) == 0)
			tick(peers[random.IntN(3)], random.IntN(6), random.IntN(2) == 0)
		}
		left := peers
		if claimed := slices.IndexFunc(peers, func(p *peer) bool { return p.hasClaimedTwice() }); claimed >= 0 {
			left = peers[claimed : claimed+1] // nobody else may
		} else if i := random.IntN(6); i < 3 {
			left = peers[i : i+1]
		}
		for _, p := range peers {
			seen(t, store, p.Self, slices.Contains(left, p))
		}
		for range 5 * len(all) {
			for _, p := range left {
				tick(p, 9, false)
			}
		}
		if started := peers[0].started + peers[1].started + peers[2].started; started != 1 {
			t.Fatalf("seed %d: it was started %d times: %q", seed, started, story)
		}
	}
}

// hasClaimedTwice reports whether the server has two turns in a row, or the first.
func (p *peer) hasClaimedTwice() bool {
	last := "web-1"
	for turn := 0; ; turn++ {
		claimed, _ := p.Store.Claims(context.Background(), p.key(turn))
		holder, ok := claimed[p.key(turn)]
		if !ok || holder.Host == last {
			return ok && last == p.Self
		}
		last = holder.Host
	}
}

// seen has the store know whether a server ticked lately.
func seen(t *testing.T, store *mutex.Redis, name string, does bool) {
	t.Helper()
	seen := time.Now()
	if !does {
		seen = seen.Add(-time.Hour)
	}
	err := store.Do(context.Background(), func(ctx context.Context, _ int, c *redis.Client) error {
		return c.ZAdd(ctx, store.Key("servers"), redis.Z{Score: float64(seen.UnixMilli()), Member: name}).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The name comes from Redis, and goes to terminals.
func TestWhoHasTakenARetryOverSteersNoTerminal(t *testing.T) {
	if text := (&TakenError{By: "web-2\x1b[2J"}).Error(); text != "it was taken over by web-2 [2J" {
		t.Errorf("%q", text)
	}
}
