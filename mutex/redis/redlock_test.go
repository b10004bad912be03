package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgo "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/testing/machine"
	"sched/testing/redistest"
)

// With one of three servers in trouble everything works, and nobody waits for it.
func TestOneOfThreeServersMayBeInTrouble(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]redistest.Fault{
		"it refuses connections": {Refuse: true},
		"it is silent":           {Silent: true},
		"its answers are lost":   {Swallow: true},
		"it is slow":             {Delay: 100 * time.Millisecond},
		"it half-closes":         {HalfEnd: true},
	} {
		t.Run(what, func(t *testing.T) {
			servers, urls := three(t)
			proxy := redistest.StartProxy(t, servers[2])
			urls[2] = proxy.URL
			useAll(t, open(t, "warm", urls...))
			proxy.Set(fault)
			begun := time.Now()
			s := open(t, "shop", urls...)
			useAll(t, s)
			mutex.Concurrently(100, func(i int) {
				name := fmt.Sprint("slot-", i)
				if err := s.Claim(ctx, name, time.Now(), holder("run-1")); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			if took := time.Since(begun); took > machine.Within(5*time.Second) {
				t.Errorf("it took %s", took)
			}
			heldBy(t, open(t, "shop", urls...).Claim(ctx, "slot-7", time.Now(), holder("run-2")), "run-1")
		})
	}
}

func TestWithoutAMajorityNobodyKnows(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	s := open(t, "shop", urls...)
	lock := acquire(t, s, "backup", "run-1")
	servers[0].Kill()
	servers[1].Pause()
	var down *mutex.StoreError
	if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); !errors.As(err, &down) {
		t.Errorf("the claim: %v", err)
	}
	if err := lock.Renew(ctx); !errors.As(err, &down) {
		t.Errorf("the renewal: %v", err)
	}
	if _, err := s.All(ctx, "servers"); !errors.As(err, &down) {
		t.Errorf("the table: %v", err)
	}
	if _, err := s.Risks(ctx); !errors.As(err, &down) {
		t.Errorf("Risks: %v", err)
	}
}

// Many servers want the same slots at the same time: each slot is for exactly one of them. A busy
// machine may not answer in time; then the race is held again.
func TestOfManyServersThatRaceForSlotsEachSlotHasOne(t *testing.T) {
	t.Parallel()
	_, urls := three(t)
	for try := 1; ; try++ {
		err := raceForSlots(t, fmt.Sprint("shop-", try), urls)
		if err == nil || t.Failed() {
			return
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

func raceForSlots(t *testing.T, namespace string, urls []string) (slow error) {
	const racers, slots = 15, 20
	var wins [slots]atomic.Int32
	var unknown atomic.Pointer[error]
	var all sync.WaitGroup
	for r := range racers {
		s := open(t, namespace, urls...)
		all.Go(func() {
			mutex.Concurrently(slots, func(i int) {
				err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder(fmt.Sprintf("run-%d-%d", r, i)))
				var held *mutex.HeldError
				var silent *mutex.StoreError
				switch {
				case err == nil:
					wins[i].Add(1)
				case errors.As(err, &silent), errors.Is(err, mutex.ErrSplit):
					unknown.Store(&err)
				case !errors.As(err, &held):
					t.Errorf("slot %d: %v", i, err)
				}
			})
		})
	}
	all.Wait()
	for i := range wins {
		switch n := wins[i].Load(); {
		case n > 1:
			t.Errorf("slot %d is for %d servers", i, n)
		case n < 1 && unknown.Load() == nil:
			t.Errorf("slot %d is for nobody", i)
		}
	}
	if err := unknown.Load(); err != nil {
		return *err
	}
	return nil
}

// If three dead runs have one server each, the error is ErrSplit and not an outage.
func TestAVoteThatStaysSplitIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	for i, server := range servers {
		do(t, server.URL, "SET", "sched:{shop}:lock:backup", fmt.Sprintf(`{"run":"dead-%d","nonce":"x"}`, i))
	}
	s := open(t, "shop", urls...)
	begun := time.Now()
	_, err := s.Acquire(ctx, "backup", holder("run-1"))
	if !errors.Is(err, mutex.ErrSplit) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begun); took > machine.Within(3*time.Second) {
		t.Errorf("it took %s", took)
	}
	if err := s.Claim(ctx, "backup@1", time.Now(), holder("run-1")); err != nil {
		t.Errorf("it costs another slot: %v", err)
	}
}

// ErrSplit says that the store is up. A store that falls silent while a vote is split is an outage:
// nobody knows what it did with the last attempt.
func TestAStoreThatFallsSilentDuringASplitVoteIsAnOutage(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	var proxies []*redistest.Proxy
	for i, server := range servers {
		do(t, server.URL, "SET", "sched:{shop}:lock:backup", fmt.Sprintf(`{"run":"dead-%d","nonce":"x"}`, i))
		proxies = append(proxies, redistest.StartProxy(t, server))
		urls[i] = proxies[i].URL
	}
	s := open(t, "shop", urls...)
	time.AfterFunc(1200*time.Millisecond, func() { // the deadline comes before the limit of a request
		for _, proxy := range proxies {
			proxy.Set(redistest.Fault{Silent: true})
		}
	})
	var down *mutex.StoreError
	if _, err := s.Acquire(ctx, "backup", holder("run-1")); !errors.As(err, &down) {
		t.Errorf("%v", err)
	}
}

// A server that lost its data gets the lock again with the next renewal, so that the loss of
// another one is no harm.
func TestARenewalHealsAServerThatLostItsData(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	s := open(t, "shop", urls...)
	lock := acquire(t, s, "backup", "run-1")
	for i := range servers {
		servers[i].Restart()
		until(t, "the lock is renewed, and was never lost", func() bool {
			if err := lock.Renew(ctx); err != nil {
				t.Fatal(err)
			}
			return do(t, urls[i], "EXISTS", "sched:{shop}:lock:backup") == int64(1)
		})
	}
	_, err := s.Acquire(ctx, "backup", holder("run-2"))
	heldBy(t, err, "run-1")
}

// The classic case of Redlock: one server stands still while a key is set, and another server loses
// the key. Then a majority does not have the key, and another run gets it. If all three servers had
// the key, the loss of one server frees nothing.
func TestAKeyIsFreeAgainOnlyIfAMajorityDoesNotHaveIt(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	claim := func(key, run string) error {
		return open(t, "shop", urls...).Claim(ctx, key, time.Now(), holder(run))
	}
	if err := claim("all", "run-1"); err != nil {
		t.Fatal(err)
	}
	servers[0].Pause()
	if err := claim("two", "run-1"); err != nil {
		t.Fatal(err)
	}
	servers[0].Resume()
	until(t, "the late attempt is undone or there",
		func() bool { _, err := open(t, "shop", urls...).Now(ctx); return err == nil })
	do(t, urls[0], "DEL", "sched:{shop}:claim:two") // whether it was executed late or not
	servers[1].Restart()
	heldBy(t, claim("all", "run-2"), "run-1")
	if err := claim("two", "run-2"); err != nil {
		t.Errorf("a majority does not have it: %v", err)
	}
}

// If one server has missed or lost a value, the others know it.
func TestTheBoardOfThreeServersIsOne(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	proxy := redistest.StartProxy(t, servers[0])
	urls[0] = proxy.URL
	s := open(t, "shop", urls...)
	put := func(key, value string) {
		t.Helper()
		if err := s.Put(ctx, "pauses", key, []byte(value), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "old")
	put("b", "old")
	proxy.Set(redistest.Fault{Refuse: true})
	put("a", "new")
	if err := s.Delete(ctx, "pauses", "b"); err != nil {
		t.Error(err)
	}
	if err := s.Append(ctx, "runs", 9, []byte("run-1")); err != nil {
		t.Fatal(err)
	}
	proxy.Set(redistest.Fault{})
	s = open(t, "shop", urls...)
	servers[1].Pause()
	all, err := s.All(ctx, "pauses")
	if err != nil || len(all) != 1 || string(all["a"]) != "new" {
		t.Errorf("%q, %v", all, err)
	}
	tail, err := s.Tail(ctx, "runs", 0, 9)
	if err != nil || len(tail) != 1 {
		t.Errorf("%q, %v", tail, err)
	}
}

// plainMutex is a mutex of redsync alone: one attempt to take key for run, with a value by which
// any process can release it.
func plainMutex(t *testing.T, key, run string, urls ...string) *redsync.Mutex {
	t.Helper()
	var pools []redsyncredis.Pool
	for _, url := range urls {
		options, err := goredis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		options.ContextTimeoutEnabled, options.MaxRetries = true, -1
		client := goredis.NewClient(options)
		t.Cleanup(func() { client.Close() })
		pools = append(pools, redsyncgo.NewPool(client))
	}
	return redsync.New(pools...).NewMutex(key, redsync.WithExpiry(time.Minute), redsync.WithTries(1),
		redsync.WithFailFast(true),
		redsync.WithTimeoutFactor(1), redsync.WithValue(run),
		redsync.WithGenValueFunc(func() (string, error) { return run, nil }))
}

// The reasons for what take.go does around redsync. Each part shows a thing that redsync does and
// our contract forbids. If a part fails, redsync has learned to keep the contract. Other tests say
// that the driver copes: the contract ("a claim is taken once and kept"),
// TestAVoteThatStaysSplitIsAnErrorOfItsOwn, and TestALateAttemptIsUndone.
func TestAPlainRedsyncMutexDoesNotKeepTheContract(t *testing.T) {
	t.Parallel()
	t.Run("a run that claims again deletes its claim", func(t *testing.T) {
		m := miniredis.RunT(t)
		if err := plainMutex(t, "claim", "run-1", "redis://"+m.Addr()).TryLock(); err != nil {
			t.Fatal(err)
		}
		err := plainMutex(t, "claim", "run-1", "redis://"+m.Addr()).TryLock()
		if err == nil || m.Exists("claim") {
			t.Errorf("the claim is still there: %t, %v", m.Exists("claim"), err)
		}
	})
	t.Run("three servers that three runs have count as held", func(t *testing.T) {
		var urls []string
		for _, run := range []string{"run-1", "run-2", "run-3"} {
			m := miniredis.RunT(t)
			m.Set("lock", run)
			urls = append(urls, "redis://"+m.Addr())
		}
		err := plainMutex(t, "lock", "run-4", urls...).TryLock()
		var taken *redsync.ErrTaken // it has the numbers of servers, and nothing of the runs
		if !errors.As(err, &taken) {
			t.Errorf("it is not taken: %v", err)
		}
	})
	t.Run("a paused server gives the lock to a run that has given up", func(t *testing.T) {
		server := redistest.Start(t)
		lock := plainMutex(t, "lock", "run-1", server.URL)
		if err := lock.TryLock(); err != nil { // now it is connected
			t.Fatal(err)
		}
		if _, err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
		server.Pause()
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if err := lock.TryLockContext(short); err == nil {
			t.Fatal("a paused server answers")
		}
		server.Resume()
		until(t, "the lock is there", func() bool { return do(t, server.URL, "GET", "lock") == "run-1" })
	})
}

// After a failover, and after keys have moved, the next requests find the new place by themselves.
func TestANewPrimaryIsFound(t *testing.T) {
	t.Parallel()
	t.Run("Sentinels", func(t *testing.T) {
		t.Parallel()
		g := redistest.StartSentinels(t)
		s := open(t, "shop", g.URL)
		lock := acquire(t, s, "backup", "run-1")
		until(t, "the replica has the lock",
			func() bool { return do(t, g.Replica.URL, "EXISTS", "sched:{shop}:lock:backup") == int64(1) })
		g.Primary.Kill()
		g.AwaitFailover(t)
		until(t, "the lock is renewed", func() bool { return lock.Renew(ctx) == nil })
		_, err := open(t, "shop", g.URL).Acquire(ctx, "backup", holder("run-2"))
		heldBy(t, err, "run-1")
		g.Sentinels[0].Pause() // one that hangs costs a second
		useAll(t, open(t, "other", g.URL))
	})
	t.Run("a Cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t)
		s := open(t, "shop", c.URL)
		lock := acquire(t, s, "backup", "run-1")
		owner := c.Owner(t, "sched:{shop}:lock:backup")
		c.Move(t, "sched:{shop}:lock:backup", (owner+1)%3)
		if err := lock.Renew(ctx); err != nil {
			t.Error(err)
		}
		useAll(t, open(t, "shop", c.URL))
		c.Nodes[owner].Kill() // it has no keys of the schedule any more
		for i := range 5 {
			useAll(t, open(t, "shop", c.URL))
			if t.Failed() {
				t.Fatal(i)
			}
		}
	})
}
