package mutex_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
)

// remembering opens a store as a tick would that has the file of instances at the path.
func remembering(t *testing.T, url, path string) *mutex.Redis {
	t.Helper()
	r := dial(t, url)
	r.RememberInstances(path)
	return r
}

// What was granted in time is known to the replica: after a failover all goes on, for processes that were connected before, and for new
// ones.
func TestAFailoverKeepsWhatTheReplicaKnows(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	path := filepath.Join(t.TempDir(), "store.json")
	living := remembering(t, g.URL, path)
	lock := acquire(t, living, "backup", "run-1")
	if err := living.Claim(ctx, "backup@1", time.Now().Add(time.Hour), holder("run-1")); err != nil {
		t.Fatal(err)
	}
	tick := remembering(t, g.URL, path)
	release(t, acquire(t, tick, "warm", "run-1"))
	tick.Close()
	until(t, "the replica knows it", func() bool {
		return do(t, g.Replica.URL, "HVALS", living.Key("granted")) != nil &&
			fmt.Sprint(do(t, g.Replica.URL, "HVALS", living.Key("granted"))) == fmt.Sprint(do(t, g.Primary.URL, "HVALS", living.Key("granted")))
	})
	g.Primary.Kill()
	g.AwaitFailover(t)

	until(t, "the lease is renewed on the new primary", func() bool { return lock.Renew(ctx) == nil })
	for who, r := range map[string]*mutex.Redis{"a process that was there": living, "a new one": remembering(t, g.URL, path)} {
		until(t, who+" is served", func() bool { return r.Down() == nil })
		held(t, r, "backup", "run-1")
		heldBy(t, r.Claim(ctx, "backup@1", time.Now().Add(time.Hour), holder("run-2")), "backup@1", "run-1")
		release(t, acquire(t, r, "of "+who, "run-2"))
	}
}

// A primary that took over without what this machine was granted takes no locks for a lease, also from processes that come later.
func TestAFailoverThatForgotIsNoticed(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	path := filepath.Join(t.TempDir(), "store.json")
	r := remembering(t, g.URL, path)
	release(t, acquire(t, r, "warm", "run-1"))
	until(t, "the replica knows it", func() bool { return do(t, g.Replica.URL, "EXISTS", r.Key("granted")) == int64(1) })
	g.Replica.Pause()
	do(t, g.Primary.URL, "CLIENT", "KILL", "TYPE", "replica") // or it would read what was sent when it goes on
	acquire(t, r, "backup", "run-1")
	r.Close()
	g.Primary.Kill()
	g.Replica.Resume()
	g.AwaitFailover(t)

	for range 2 {
		_, err := remembering(t, g.URL, path).Acquire(ctx, "backup", holder("run-2"))
		if e := unknown(t, err); !strings.Contains(e.Text, "has another primary since") {
			t.Errorf("%v", e)
		}
	}
	short, err := mutex.Dial(mutex.Config{Servers: []string{g.URL}, Namespace: "shop", Lease: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	known, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	forgotten := filepath.Join(t.TempDir(), "store.json") // that there were longer leases
	os.WriteFile(forgotten, bytes.Replace(known, []byte("longest lease"), []byte("no lease"), 1), 0o600)
	short.RememberInstances(forgotten)
	until(t, "the lease is over", func() bool {
		lock, err := short.Acquire(ctx, "backup", holder("run-3"))
		return err == nil && lock.Release(ctx) == nil
	})
}

// A Sentinel that makes connections and says nothing costs a tenth of a second, and no slot.
func TestASilentSentinelCostsLittle(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	g.Sentinels[0].Pause()
	unhurried(t, func(slow func(string, ...any)) {
		for i := range 6 {
			begun := time.Now()
			release(t, acquire(t, dial(t, g.URL), "backup", fmt.Sprint("run-", i)))
			if took := time.Since(begun); took > 1500*time.Millisecond {
				slow("it took %s", took)
			}
		}
	})
	g.Sentinels[1].Kill()
	release(t, acquire(t, dial(t, g.URL), "backup", "run-9"))
}

// Should this fail with a newer go-redis, see whether Finder.primary can go.
func TestAPlainFailoverClientWaitsForASilentSentinel(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	g.Sentinels[0].Pause()
	var addresses []string
	for _, s := range g.Sentinels {
		addresses = append(addresses, s.Address)
	}
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: addresses,
		DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second, MaxRetries: -1, ContextTimeoutEnabled: true})
	defer c.Close()
	begun := time.Now()
	c.Ping(ctx)
	if took := time.Since(begun); took < time.Second {
		t.Errorf("it took %s", took)
	}
}

// The keys of one schedule are in one slot: when that goes to another node, locks and claims go with it, and nobody notices.
func TestASlotOfAClusterMoves(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	path := filepath.Join(t.TempDir(), "store.json")
	living := remembering(t, c.URL, path)
	lock := acquire(t, living, "backup", "run-1")
	owner := c.Owner(t, living.Key("granted"))
	c.Move(t, living.Key("granted"), (owner+1)%3)
	if now := c.Owner(t, living.Key("granted")); now == owner {
		t.Fatal("it did not move")
	}
	if err := lock.Renew(ctx); err != nil {
		t.Error(err)
	}
	for who, r := range map[string]*mutex.Redis{"a process that was there": living, "a new one": remembering(t, c.URL, path)} {
		held(t, r, "backup", "run-1")
		release(t, acquire(t, r, "of "+who, "run-2"))
		if has, err := r.Held(ctx, "backup", "of "+who); err != nil || len(has) != 1 {
			t.Errorf("%s: %v, %v", who, has, err)
		}
	}
}

func TestAClusterServesWhileOtherNodesAreDown(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	r := dial(t, c.URL)
	owner := c.Owner(t, r.Key("granted"))
	c.Nodes[(owner+1)%3].Pause()
	c.Nodes[(owner+2)%3].Kill()
	unhurried(t, func(slow func(string, ...any)) {
		for i := range 4 {
			begun := time.Now()
			release(t, acquire(t, dial(t, c.URL), "backup", fmt.Sprint("run-", i)))
			if took := time.Since(begun); took > 1500*time.Millisecond {
				slow("it took %s", took)
			}
		}
	})
	c.Nodes[owner].Kill()
	unhurried(t, func(slow func(string, ...any)) {
		within(slow, func() {
			_, err := dial(t, c.URL).Acquire(ctx, "backup", holder("run-9"))
			unknown(t, err)
		})
	})
}
