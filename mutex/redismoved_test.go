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

func TestAnErrorSaysWhatIsWrongWithSentinelsClustersAndCertificates(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	c := redistest.StartCluster(t)
	plain := redistest.Start(t)
	certificates := redistest.MakeCertificates(t)
	secured := redistest.Start(t, certificates.Options()...)
	ca := "?ca=" + certificates.CA
	for _, tt := range []struct{ name, url, want, hint string }{
		{"another name", strings.Replace(g.URL, "mymaster", "shop", 1), "is not known to the Sentinels", "sentinel masters"},
		{"a Redis where Sentinels should be", "redis+sentinel://" + plain.Address + "/mymaster", "has no Sentinels at these ports, but a Redis", "26379"},
		{"no Sentinel that listens", "redis+sentinel://" + closedPort(t) + "/mymaster", "connection refused", "sentinel get-master-addr-by-name mymaster"},
		{"a Redis that is no Cluster", "redis+cluster://" + plain.Address, "is no Redis Cluster", "redis://"},
		{"a node of a Cluster as if it stood alone", otherNode(t, c), "is part of a Redis Cluster", "redis+cluster://"},
		{"a replica as if it stood alone", g.Replica.URL, "is a replica, which takes no writes", "redis+sentinel://"},
		{"a CA of others", "rediss://" + secured.Address, "has a certificate that cannot be trusted", "?ca="},
		{"no certificate of ours", "rediss://" + secured.Address + ca, "wants a certificate of ours", "cert=FILE"},
		{"no file of the CA", "rediss://" + secured.Address + "?ca=no-such.pem", "the file of the CA, /srv/shop/no-such.pem, cannot be read: no such file or directory", "relative"},
		{"a CA that is none", "rediss://" + secured.Address + "?ca=" + certificates.Key, "there is no certificate in the file of the CA", "BEGIN CERTIFICATE"},
		{"a key of another certificate", "rediss://" + secured.Address + ca + "&cert=" + certificates.CA + "&key=" + certificates.Key, "does not go with the key", "PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := dialWith(t, mutex.Config{Servers: []string{tt.url}, Dir: "/srv/shop"}).Acquire(ctx, "backup", holder("run-1"))
			if e := unknown(t, err); !strings.Contains(e.Text, tt.want) || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("%s\nhint: %s\nand not %s\nhint: %s", e.Text, e.Hint, tt.want, tt.hint)
			}
		})
	}
	r := dial(t, "rediss://"+strings.Replace(secured.Address, "127.0.0.1", "localhost", 1)+ca+"&cert="+certificates.Cert+"&key="+certificates.Key+"&server_name=redis.internal")
	release(t, acquire(t, r, "backup", "run-1"))
}

// otherNode is the URL of a node that does not have the keys of the tests.
func otherNode(t *testing.T, c *redistest.Cluster) string {
	return c.Nodes[(c.Owner(t, dial(t, c.URL).Key("granted"))+1)%3].URL
}

func TestSentinelsWithAPasswordOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	for _, s := range g.Sentinels {
		do(t, s.URL, "ACL", "SETUSER", "default", "resetpass", ">of-sentinels")
	}
	_, err := dial(t, g.URL).Acquire(ctx, "backup", holder("run-1"))
	if e := unknown(t, err); !strings.Contains(e.Text, "has Sentinels that refuse us") || !strings.Contains(e.Hint, "sentinel_password") {
		t.Errorf("%#v", e)
	}
	release(t, acquire(t, dial(t, g.URL+"?sentinel_password=of-sentinels"), "backup", "run-1"))
}
