package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
)

// unknown checks that an error says that the state is unknown: not held, and not lost.
func unknown(t *testing.T, err error) *mutex.StoreError {
	t.Helper()
	var e *mutex.StoreError
	var held *mutex.HeldError
	var lost *mutex.LostError
	if !errors.As(err, &e) || errors.As(err, &held) || errors.As(err, &lost) {
		t.Fatalf("not an outage: %v", err)
	}
	return e
}

// unhurried tells a story in which something must not take long. What was slow is told again from the beginning, since the machine may
// have been busy, and fails when it was slow each time. All else that is wrong fails at once.
func unhurried(t *testing.T, story func(slow func(format string, a ...any))) {
	t.Helper()
	for try := 1; ; try++ {
		var mu sync.Mutex
		var slow []string
		story(func(format string, a ...any) {
			mu.Lock()
			defer mu.Unlock()
			slow = append(slow, fmt.Sprintf(format, a...))
		})
		if len(slow) == 0 || t.Failed() {
			return
		}
		if try == 5 {
			t.Errorf("slow five times; at last:\n%s", strings.Join(slow, "\n"))
			return
		}
		t.Logf("slow, and so told again:\n%s", strings.Join(slow, "\n"))
	}
}

// within tells slow of what takes longer than the timeout of two seconds, with some time for a machine that is busy.
func within(slow func(string, ...any), f func()) {
	begun := time.Now()
	f()
	if took := time.Since(begun); took > 5*time.Second {
		slow("it took %s", took)
	}
}

// together runs tests that mostly wait at the same time, however few processors there are.
func together(t *testing.T, tests map[string]func(*testing.T)) {
	var all sync.WaitGroup
	for name, test := range tests {
		all.Go(func() { t.Run(name, test) })
	}
	all.Wait()
}

func TestOutages(t *testing.T) {
	t.Parallel()
	together(t, map[string]func(*testing.T){
		"a paused server costs one deadline in all":              func(t *testing.T) { testOneDeadline(t, paused) },
		"so does one that was never reached":                     func(t *testing.T) { testOneDeadline(t, pausedBefore) },
		"and one where a process listens and says nothing":       func(t *testing.T) { testOneDeadline(t, mute) },
		"a later request does not wait anew":                     testLaterRequests,
		"after an outage the store is used again":                testAfterwards,
		"a request that was given up takes nothing":              testTooLate,
		"a call that is cancelled is no outage":                  testShortCalls,
		"of three, one killed changes nothing, two are many":     func(t *testing.T) { testOneOfThree(t, (*redistest.Server).Kill) },
		"of three, one paused changes nothing, two are too many": func(t *testing.T) { testOneOfThree(t, (*redistest.Server).Pause) },
	})
}

// everything calls all that a tick may call.
func everything(t *testing.T, r *mutex.Redis, i int) {
	name := fmt.Sprintf("task-%d", i)
	_, err := r.Acquire(ctx, name, holder("run-2"))
	unknown(t, err)
	unknown(t, r.Claim(ctx, name+"@1", time.Now().Add(time.Hour), holder("run-2")))
	_, claimed, err := r.Claimed(ctx, name+"@1", time.Now())
	unknown(t, err)
	_, err = r.Held(ctx, name)
	unknown(t, err)
	_, err = r.Break(ctx, name)
	unknown(t, err)
	unknown(t, r.Adopt(name, holder("run-1"), nil).Release(ctx))
	unknown(t, r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error { return c.Ping(ctx).Err() }))
	if claimed {
		t.Error("it is claimed")
	}
}

// paused is a server that was in use until it stopped to answer.
func paused(t *testing.T) *mutex.Redis {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	acquire(t, r, "backup", "run-1")
	if r.Down() != nil {
		t.Error(r.Down())
	}
	s.Pause()
	return r
}

func pausedBefore(t *testing.T) *mutex.Redis {
	s := redistest.Start(t)
	s.Pause()
	return dial(t, s.URL)
}

func mute(t *testing.T) *mutex.Redis {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return dial(t, "redis://"+l.Addr().String())
}

func testOneDeadline(t *testing.T, silent func(*testing.T) *mutex.Redis) {
	unhurried(t, func(slow func(string, ...any)) {
		r := silent(t)
		within(slow, func() {
			for i := range 75 { // more than a thousand operations, half of them one after another
				everything(t, r, i)
			}
			var all sync.WaitGroup
			for i := range 75 {
				all.Go(func() { everything(t, r, i) })
			}
			all.Wait()
		})
		unknown(t, r.Down())
	})
}

// A request that begins while others wait ends with them.
func testLaterRequests(t *testing.T) {
	unhurried(t, func(slow func(string, ...any)) { tellLaterRequests(t, slow) })
}

func tellLaterRequests(t *testing.T, slow func(string, ...any)) {
	r := paused(t)
	var all sync.WaitGroup
	first := time.Now()
	for i := range 40 {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 45 * time.Millisecond) // not to wait: to come late
			begun := time.Now()
			_, err := r.Acquire(ctx, fmt.Sprint("task-", i), holder("run-2"))
			unknown(t, err)
			if late, took := begun.Sub(first), time.Since(begun); late > time.Second && took > 1700*time.Millisecond {
				slow("a request that came after %s waited for %s", late, took)
			}
		})
	}
	all.Wait()
}

func testAfterwards(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	lock := acquire(t, r, "backup", "run-1")
	for _, end := range []func(){func() { s.Pause() }, func() { s.Kill() }} {
		end()
		everything(t, r, 1)
		unknown(t, r.Down())
		unknown(t, lock.Renew(ctx)) // it is sent although the store is down
	}
	s.Restart()
	if err := lock.Renew(ctx); err != nil {
		t.Errorf("it is not sent while the store is down: %v", err)
	}
	until(t, "the store is up", func() bool { return r.Down() == nil })
	held(t, dial(t, s.URL), "backup", "run-1")
}

// A paused server does not do late what it was sent: a claim of a run that gave up would keep the slot
// from all servers.
func testTooLate(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	release(t, acquire(t, r, "report", "run-0"))
	s.Pause()
	late := dial(t, s.URL) // its connection waits in the server's queue, too
	var all sync.WaitGroup
	for _, store := range []*mutex.Redis{r, late} {
		all.Go(func() {
			_, err := store.Acquire(ctx, "backup", holder("run-1"))
			unknown(t, err)
		})
		all.Go(func() { unknown(t, store.Claim(ctx, "backup@1", time.Now().Add(time.Hour), holder("run-1"))) })
	}
	all.Wait()
	s.Resume()
	next := dial(t, s.URL)
	do(t, s.URL, "PING")
	acquire(t, next, "backup", "run-2")
	if err := next.Claim(ctx, "backup@1", time.Now().Add(time.Hour), holder("run-2")); err != nil {
		t.Error(err)
	}
}

func testShortCalls(t *testing.T) {
	unhurried(t, func(slow func(string, ...any)) { tellShortCalls(t, slow) })
}

func tellShortCalls(t *testing.T, slow func(string, ...any)) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	release(t, acquire(t, r, "backup", "run-1"))
	s.Pause()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := r.Acquire(short, "backup", holder("run-1"))
	unknown(t, err)
	err = r.Do(short, func(ctx context.Context, _ int, c *redis.Client) error { return c.Ping(ctx).Err() })
	if err == nil || r.Down() != nil {
		t.Errorf("%v; down: %v", err, r.Down())
	}
	if took := time.Since(begun); took > 1500*time.Millisecond {
		slow("it took %s", took)
	}
	s.Resume()
	free(t, r, "backup")
}

func testOneOfThree(t *testing.T, end func(*redistest.Server)) {
	unhurried(t, func(slow func(string, ...any)) { tellOneOfThree(t, slow, end) })
}

func tellOneOfThree(t *testing.T, slow func(string, ...any), end func(*redistest.Server)) {
	servers, urls := three(t)
	r := dial(t, urls...)
	lock := acquire(t, r, "backup", "run-1")
	end(servers[1])

	begun := time.Now()
	for i := range 50 {
		run := fmt.Sprint("run-", i)
		if err := lock.Renew(ctx); err != nil {
			t.Fatal(err)
		}
		held(t, r, "backup", "run-1")
		release(t, acquire(t, r, "report", run))
		if err := r.Claim(ctx, "report@"+run, time.Now().Add(time.Hour), holder(run)); err != nil {
			t.Fatal(err)
		}
		heldBy(t, r.Claim(ctx, "report@"+run, time.Now().Add(time.Hour), holder("run")), "report@"+run, run)
	}
	if took := time.Since(begun); took > 5*time.Second {
		slow("it took %s", took)
	}
	if r.Down() != nil {
		t.Error(r.Down())
	}

	end(servers[2])
	within(slow, func() {
		for i := range 50 {
			everything(t, r, i)
		}
	})
	down := unknown(t, r.Down())
	if !strings.HasPrefix(down.Text, "2 of 3 servers of the store are of no use: redis at 127.0.0.1:") || down.Hint == "" {
		t.Errorf("%q, hint %q", down.Text, down.Hint)
	}
	unknown(t, lock.Renew(ctx))
}

// What one of three servers says decides nothing.
func TestOneOfThreeIsNoMajority(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	r := dial(t, urls...)
	taken := func(i int, name, run string) { do(t, urls[i], "SET", r.Key("lock", name), run, "PX", 60000) }
	missing := func(i int, name string) {
		t.Helper()
		if v := do(t, urls[i], "GET", r.Key("lock", name)); v != nil {
			t.Errorf("server %d says that %v has %s", i, v, name)
		}
	}

	// Three runs got one server each: none of them has it, and each releases what it got.
	taken(0, "backup", "run-a")
	taken(1, "backup", "run-b")
	_, err := r.Acquire(ctx, "backup", holder("run-c"))
	unknown(t, err)
	until(t, "what it got is released", func() bool { return do(t, urls[2], "GET", r.Key("lock", "backup")) == nil })

	// A key on a minority, left by another run, keeps no run from the mutex.
	taken(0, "report", "run-a")
	lock := acquire(t, r, "report", "run-b")
	held(t, r, "report", "run-b")
	release(t, lock)

	// One has it, and two are down.
	servers[1].Kill()
	servers[2].Kill()
	_, err = r.Acquire(ctx, "backup", holder("run-c"))
	unknown(t, err)
	_, err = r.Acquire(ctx, "other", holder("run-c"))
	unknown(t, err)
	until(t, "what it got is released", func() bool { return do(t, urls[0], "GET", r.Key("lock", "other")) == nil })
	missing(0, "other")
}

// Ticks on many machines try at the same moment, in any order: one gets it.
func TestOfManyThatTryThreeServersAtOnceOneWins(t *testing.T) {
	t.Parallel()
	_, urls := three(t)
	var stores []*mutex.Redis
	for range 5 {
		stores = append(stores, dial(t, urls...))
	}
	for round := range 40 {
		name := fmt.Sprintf("task-%d", round)
		results := make(chan error, 2*len(stores))
		for i, r := range stores {
			go func() {
				_, err := r.Acquire(ctx, name, holder(fmt.Sprint("run-", i)))
				results <- err
			}()
			go func() {
				results <- r.Claim(ctx, name+"@1", time.Now().Add(time.Hour), holder(fmt.Sprint("run-", i)))
			}()
		}
		won := 0
		for range cap(results) {
			var held *mutex.HeldError
			if err := <-results; err == nil {
				won++
			} else if !errors.As(err, &held) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if won != 2 {
			t.Errorf("%s: %d won, and not one lock and one claim", name, won)
		}
	}
}
