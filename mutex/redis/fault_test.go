package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/storetest"
)

// A request is sent again after its connection broke, whether it was executed or not. So is the
// request that begins the connection.
func TestAConnectionThatBreaksOnceCostsNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, cut := range []redistest.Cut{redistest.AtRequest, redistest.AtAnswer} {
		for n, last := 0, 1; n < last; n++ {
			proxy := redistest.StartProxy(t, s)
			proxy.Set(redistest.Fault{Cut: cut, After: n})
			t.Run(fmt.Sprintf("%d, %d", cut, n), func(t *testing.T) {
				useAll(t, open(t, fmt.Sprintf("cut-%d-%d", cut, n), proxy.URL))
			})
			last = proxy.Requests()
		}
	}
}

func TestAServerThatIsDownIsWaitedForOnceForAllSlots(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	useAll(t, s)
	server.Pause()
	begun := time.Now()
	mutex.Concurrently(300, func(i int) {
		err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder("run-1"))
		if down := (*mutex.StoreError)(nil); !errors.As(err, &down) ||
			!strings.Contains(down.Text, "does not answer within 2s") {
			t.Errorf("the claim: %v", err)
		}
	})
	if waited := time.Since(begun); waited > machine.Within(4*time.Second) {
		t.Errorf("it waited for %s", waited)
	}
	server.Resume()
	until(t, "it is asked again", func() bool {
		return s.Claim(ctx, "slot", time.Now(), holder("run-1")) == nil
	})
}

// So much time has each request, whether a connection was there before or not.
func TestASilentServerIsWaitedForAsLongAsTheErrorSays(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"a connection", "nothing"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s := open(t, "shop", server.URL)
			if before == "a connection" {
				useAll(t, s)
			}
			server.Pause()
			for _, request := range []func() error{
				func() error { return s.Claim(ctx, "slot", time.Now(), holder("run-1")) },
				func() error { _, err := s.Held(ctx, "sync"); return err },
			} {
				time.Sleep(1100 * time.Millisecond) // a silence is over, and the server is asked again
				begun := time.Now()
				err := request()
				if waited := time.Since(begun); err == nil || !strings.Contains(err.Error(), "within 2s") ||
					waited < 1900*time.Millisecond || waited > machine.Within(2500*time.Millisecond) {
					t.Errorf("after %s: %v", waited, err)
				}
			}
		})
	}
}

// Close undoes an attempt that a paused server executes after the caller gave it up.
func TestALateAttemptIsUndone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	claim := func(kind string, wait time.Duration) {
		mutex.Concurrently(40, func(i int) {
			short, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			if err := s.Claim(short, fmt.Sprint(kind, i), time.Now(),
				holder("run-1")); (err == nil) != (kind == "early-") {
				t.Errorf("%s%d: %v", kind, i, err)
			}
		})
	}
	late := func() int { return len(do(t, server.URL, "KEYS", "sched:{shop}:claim:late-*").([]any)) }
	claim("early-", 2*time.Second) // now there are many connections
	server.Pause()
	claim("late-", 300*time.Millisecond)
	server.Resume()
	until(t, "late claims are there", func() bool { return late() > 1 })
	s.Close()
	if n := late(); n != 0 {
		t.Errorf("%d late claims are left", n)
	}
	if n := len(do(t, server.URL, "KEYS", "sched:{shop}:claim:early-*").([]any)); n != 40 {
		t.Errorf("%d early claims are left", n)
	}
}

func TestCloseDoesNotWaitForASilentServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	useAll(t, s)
	server.Pause()
	if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); err == nil {
		t.Fatal("a paused server answers")
	}
	begun := time.Now()
	s.Close()
	if took := time.Since(begun); took > machine.Within(time.Second) {
		t.Errorf("it takes %s", took)
	}
}

// A run whose attempt was executed late gets its claim when it asks again, and Close leaves the
// claim alone.
func TestARunThatAsksAgainAfterALateAttemptKeepsWhatItGot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	useAll(t, s)
	server.Pause()
	if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); err == nil {
		t.Fatal("a paused server answers")
	}
	server.Resume()
	until(t, "the run has its claim", func() bool { return s.Claim(ctx, "slot", time.Now(), holder("run-1")) == nil })
	s.Close()
	heldBy(t, open(t, "shop", server.URL).Claim(ctx, "slot", time.Now(), holder("run-2")), "run-1")
}

// Close undoes the second attempt of a run, and leaves the claim that the run made before.
func TestAClaimStaysThoughItsRunAskedAgainWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); err == nil {
		t.Fatal("a paused server answers")
	}
	server.Resume()
	s.Close()
	heldBy(t, open(t, "shop", server.URL).Claim(ctx, "slot", time.Now(), holder("run-2")), "run-1")
}

// A process asked the store to remove its value, and the store does that after a later process has
// asked again for the same run.
func TestALateWithdrawalTakesAwayNoClaimThatWasAskedForAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	key := "sched:{shop}:claim:slot"
	if err := open(t, "shop", server.URL).Claim(ctx, "slot", time.Now(), holder("run-1")); err != nil {
		t.Fatal(err)
	}
	earlier := do(t, server.URL, "GET", key)
	if err := open(t, "shop", server.URL).Claim(ctx, "slot", time.Now(), holder("run-1")); err != nil {
		t.Fatal(err)
	}
	do(t, server.URL, "EVAL", `if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("DEL", KEYS[1]) end`, "1", key, earlier)
	heldBy(t, open(t, "shop", server.URL).Claim(ctx, "slot", time.Now(), holder("run-2")), "run-1")
}

// A killed tick had the lock. The next tick acquires it for the same run when its lease is nearly
// over.
func TestALockThatItsRunAcquiresAgainLastsForAWholeLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	acquire(t, open(t, "shop", server.URL), "backup", "run-1")
	do(t, server.URL, "PEXPIRE", "sched:{shop}:lock:backup", "5000")
	acquire(t, open(t, "shop", server.URL), "backup", "run-1")
	if left := do(t, server.URL, "PTTL", "sched:{shop}:lock:backup").(int64); left < 50_000 {
		t.Errorf("it ends in %d ms", left)
	}
}

func TestARedisThatIsBackWithItsDataGrantsAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, "shop", server.URL)
	lock := acquire(t, s, "backup", "run-1")
	for i := range 2 {
		server.Restart()
		s := open(t, "shop", server.URL) // the next tick
		if err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder("run-2")); err != nil {
			t.Errorf("restart %d: %v", i, err)
		}
		_, err := s.Acquire(ctx, "backup", holder("run-2"))
		heldBy(t, err, "run-1")
	}
	if err := lock.Renew(ctx); err != nil {
		t.Errorf("the lock was there all the time: %v", err)
	}
	if err := s.Claim(ctx, "slot", time.Now(), holder("run-2")); err != nil {
		t.Errorf("a process with old connections: %v", err)
	}
}

// Renew takes a lease again that a Redis has lost, and reports the loss. It does not take a lease
// that another run has taken.
func TestALeaseThatWasLostIsNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	renewAfterLoss := func(adopted bool, between func()) *mutex.LostError {
		t.Helper()
		lock := acquire(t, s, "backup", "run-1")
		if adopted {
			lock = s.Adopt("backup", holder("run-1"), nil)
		}
		do(t, server.URL, "FLUSHALL")
		between()
		var lost *mutex.LostError
		if err := lock.Renew(ctx); !errors.As(err, &lost) || lost.Broken {
			t.Fatalf("the loss is not noticed: %v", err)
		}
		if lost.Holder.Run == "" {
			if err := lock.Renew(ctx); err != nil {
				t.Errorf("the run has it again: %v", err)
			}
			_, err := s.Acquire(ctx, "backup", holder("run-2"))
			heldBy(t, err, "run-1")
		}
		return lost
	}
	for _, adopted := range []bool{false, true} {
		if lost := renewAfterLoss(adopted, func() {}); lost.Holder.Run != "" {
			t.Errorf("it is held by %s", lost.Holder.Run)
		}
		lost := renewAfterLoss(adopted, func() {
			acquire(t, s, "backup", "run-2")
		})
		if lost.Holder.Run != "run-2" {
			t.Errorf("it is held by %s", lost.Holder.Run)
		}
		do(t, server.URL, "FLUSHALL")
	}
}

func TestARenewalWithoutAnAnswerLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	lock := acquire(t, s, "backup", "run-1")
	server.Kill()
	var down *mutex.StoreError
	if err := lock.Renew(ctx); !errors.As(err, &down) {
		t.Errorf("it is unknown: %v", err)
	}
}

// A value that nobody can read has an unknown holder. Only its own task suffers, and sched unlock
// removes it.
func TestGarbageIsHeldByAnUnknownRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	for i, garbage := range [][]any{
		{"SET", "x"}, {"SET", ""}, {"SET", "null"}, {"SET", `{"run":7}`}, {"SET", "\xff"},
	} {
		name := fmt.Sprint("task-", i)
		do(t, server.URL, append([]any{garbage[0], "sched:{shop}:lock:" + name}, garbage[1:]...)...)
		do(t, server.URL, append([]any{garbage[0], "sched:{shop}:claim:" + name}, garbage[1:]...)...)
		_, err := s.Acquire(ctx, name, holder("run-1"))
		heldBy(t, err, "")
		heldBy(t, s.Claim(ctx, name, time.Now(), holder("run-1")), "")
		if _, err := s.Break(ctx, name); err != nil {
			t.Errorf("%v: %v", garbage, err)
		}
		if _, err := s.Acquire(ctx, name, holder("run-1")); err != nil {
			t.Errorf("%v: %v", garbage, err)
		}
	}
	do(t, server.URL, "LPUSH", "sched:{shop}:lock:list", "x")
	if _, err := s.Break(ctx, "list"); !errors.Is(err, mutex.ErrFree) {
		t.Errorf("no run has it: %v", err)
	}
	acquire(t, s, "list", "run-1")
	do(t, server.URL, "HSET", "sched:{shop}:board:servers", "web-1", "x", "web-2", "", "web-3", "99 1e9 x", "web-4",
		"99 99999999999999999999999 x")
	useAll(t, s)
}

func TestBreakLeavesTheLockOfALaterRunAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server)
	slow := open(t, "shop", proxy.URL)
	slow.Now(ctx) // it connects
	proxy.Set(redistest.Fault{Delay: 300 * time.Millisecond})
	storetest.BreakLate(t, slow, open(t, "shop", server.URL), proxy.Requests)
}

func TestForgedEntriesDelayNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "shop", server.URL)
	var forged []any
	for i := range 3000 {
		forged = append(forged, fmt.Sprint("server-", i), fmt.Sprint("1 2 ", strings.Repeat("x", 500)))
	}
	do(t, server.URL, append([]any{"HSET", "sched:{shop}:board:servers"}, forged...)...)
	if err := s.Put(ctx, "servers", "web-1", []byte("here"), time.Hour); err != nil {
		t.Fatal(err)
	}
	fastest := time.Hour // of several calls, because the machine may be busy
	for range 5 {
		begun := time.Now()
		all, err := s.All(ctx, "servers")
		fastest = min(fastest, time.Since(begun))
		if err != nil || len(all) != 1 || string(all["web-1"]) != "here" {
			t.Fatalf("%d values, %v", len(all), err)
		}
	}
	if fastest > machine.Within(500*time.Millisecond) {
		t.Errorf("it takes %s", fastest)
	}
	until(t, "those that are over go", func() bool {
		s.All(ctx, "servers")
		return do(t, server.URL, "HLEN", "sched:{shop}:board:servers") == int64(1)
	})
}

// fewest are the rights that are enough for everything that a store does. docs/many-servers.md
// lists them.
var fewest = strings.Fields("+hello +select +eval +evalsha +time +get +mget +set +del +pexpire +hset +hdel +hscan +lpush +ltrim +lrange")

func TestAUserWithTheFewestRightsCanDoEverything(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	allow := func(rights []string) {
		args := []any{"ACL", "SETUSER", "poor", "reset", "on", ">secret", "~sched:*", "-@all"}
		for _, right := range rights {
			args = append(args, right)
		}
		do(t, server.URL, args...)
	}
	allow(fewest)
	url := "redis://poor:secret@" + server.Address + "/1"
	useAll(t, open(t, "shop", url))

	// A server that is over is removed, by a script.
	do(t, server.URL+"/1", "HSET", "sched:{shop}:board:servers", "web-9", "1 2 x")
	s := open(t, "shop", url)
	until(t, "it is removed", func() bool {
		s.All(ctx, "servers")
		return do(t, server.URL+"/1", "HEXISTS", "sched:{shop}:board:servers", "web-9") == int64(0)
	})

	allow(fewest[:len(fewest)-1])
	if _, err := open(t, "shop", url).Tail(ctx, "runs", 0, 0); err != nil {
		t.Errorf("no values of a log are asked for, and the server is asked: %v", err)
	}
	_, err := open(t, "shop", url).Tail(ctx, "runs", 0, 1)
	var refused *mutex.StoreError
	if !errors.As(err, &refused) || !strings.Contains(refused.Text, "the 'lrange' command") {
		t.Errorf("a right that is missing: %v", err)
	}
}

// The rights that docs/many-servers.md adds for a Cluster and for Sentinels are enough, too.
func TestAUserWithTheFewestRightsMayUseAClusterAndSentinels(t *testing.T) {
	t.Parallel()
	poor := append([]string{"--user", "poor", "on", ">secret", "~sched:*", "-@all", "+cluster|slots",
		"+cluster|keyslot"}, fewest...)
	cluster := redistest.StartCluster(t, poor...)
	useAll(t, open(t, "shop", strings.Replace(cluster.URL, "://", "://poor:secret@", 1)))

	g := redistest.StartSentinels(t, append([]string{"--user", "poor", "on", ">secret", "~sched:*", "-@all"}, fewest...)...)
	for _, sentinel := range g.Sentinels {
		do(t, sentinel.URL, "ACL", "SETUSER", "watcher", "on", ">secret", "-@all", "+sentinel|get-master-addr-by-name")
	}
	useAll(t, open(t, "shop", strings.Replace(g.URL, "://", "://poor:secret@",
		1)+"?sentinel_user=watcher&sentinel_password=secret"))
}

// 200 tasks with both keys are decided in a second, 40 ms away; also for a server that comes too
// late.
func TestManyTasksAreDecidedInASecondFarAway(t *testing.T) {
	machine.Turn(t)
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server)
	proxy.Set(redistest.Fault{Delay: 40 * time.Millisecond})
	decide := func(run string) (took time.Duration, won int64) {
		s := open(t, "shop", proxy.URL)
		results := make([]bool, 200)
		begun := time.Now()
		mutex.Concurrently(200, func(i int) {
			var held *mutex.HeldError
			err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder(run))
			if err == nil {
				_, err = s.Acquire(ctx, fmt.Sprint("task-", i), holder(run))
			}
			if results[i] = err == nil; err != nil && !errors.As(err, &held) {
				t.Error(err)
			}
		})
		took = time.Since(begun)
		for _, is := range results {
			if is {
				won++
			}
		}
		return took, won
	}
	first, won := decide("run-1")
	second, lost := decide("run-2")
	for range 4 { // the machine may be busy: the fastest of five counts
		again, others := decide("run-2")
		second, lost = min(second, again), lost+others
	}
	t.Logf("the first took %s, the others %s at best", first, second)
	if won != 200 || lost != 0 {
		t.Errorf("they won %d and %d", won, lost)
	}
	if second > machine.Within(time.Second) {
		t.Errorf("it took %s and %s", first, second)
	}
}

func TestAnIdleProcessHasOneConnectionAndFewCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	traffic := server.TrafficOf(t, func() {
		s := open(t, "shop", server.URL)
		s.All(ctx, "pauses")
		s.Put(ctx, "servers", "web-1", []byte("here"), time.Hour)
		s.All(ctx, "servers")
		s.Close()
	})
	if traffic.Connections != 1 || traffic.Sum() > 5 {
		t.Errorf("%+v", traffic)
	}
}
