package mutex_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// expireSooner lets keys of Redis expire sooner, as if that much time had gone by for it.
func expireSooner(t *testing.T, url string, by time.Duration, keys ...string) {
	t.Helper()
	for _, key := range keys {
		left := do(t, url, "PTTL", key).(int64)
		if left <= 0 {
			t.Fatalf("%s has no expiry: %d", key, left)
		}
		if rest := left - by.Milliseconds(); rest > 0 {
			do(t, url, "PEXPIRE", key, rest)
		} else {
			do(t, url, "DEL", key)
		}
	}
}

// acquiredAgo returns the lock of a run as a process adopts it that long after the acquisition.
func acquiredAgo(r *mutex.Redis, name, run string, ago time.Duration) mutex.Lock {
	return r.Adopt(name, mutex.Holder{Run: run, Since: time.Now().Add(-ago)}, nil)
}

func lost(t *testing.T, err error, holder string) {
	t.Helper()
	var lost *mutex.LostError
	if !errors.As(err, &lost) || lost.Holder.Run != holder || lost.Broken {
		t.Fatalf("not lost to %q: %v", holder, err)
	}
}

func TestALeaseIsRenewedWhileTheRunLivesAndNoLonger(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	lock := acquire(t, r, "backup", "run-1")
	keys := []string{r.Key("lock", "backup"), r.Key("holder", "backup")}
	adopted := acquiredAgo(r, "backup", "run-1", 0)
	for range 20 {
		for _, l := range []mutex.Lock{lock, adopted} {
			expireSooner(t, s.URL, 50*time.Second, keys...)
			if err := l.Renew(ctx); err != nil {
				t.Fatal(err)
			}
			if left := do(t, s.URL, "PTTL", keys[0]).(int64); left < 55_000 || left > 60_000 {
				t.Errorf("%d ms are left", left)
			}
			held(t, r, "backup", "run-1")
		}
	}
	// Its server is dead: after one lease it is free.
	expireSooner(t, s.URL, 59*time.Second, keys...)
	held(t, r, "backup", "run-1")
	expireSooner(t, s.URL, time.Second, keys...)
	free(t, r, "backup")
}

// The clock of Redis alone decides here.
func TestTheLockOfADeadServerIsFreeAfterOneLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := dialWith(t, mutex.Config{Servers: []string{s.URL}, Lease: 400 * time.Millisecond})
	begun := time.Now()
	acquire(t, r, "backup", "run-1")
	until(t, "it is free", func() bool {
		_, err := r.Acquire(ctx, "backup", holder("run-2"))
		return err == nil
	})
	if took := time.Since(begun); took < 350*time.Millisecond {
		t.Errorf("it was free after %s", took)
	}
}

func TestAMutexThatRedisForgotIsTakenAgain(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	acquire(t, r, "backup", "run-1")
	lock := acquiredAgo(r, "backup", "run-1", 59*time.Second)
	lock.Describe(mutex.Holder{PID: 7, Host: "web-3", Since: since})
	// It forgets all but how much it granted: a new connection, which a busy machine may need, would have noticed.
	for _, key := range do(t, s.URL, "KEYS", "*").([]any) {
		if key != r.Key("granted") {
			do(t, s.URL, "DEL", key)
		}
	}
	if err := lock.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	holders, err := r.Held(ctx, "backup", "other")
	if had := holders["backup"]; err != nil || len(holders) != 1 || had.Run != "run-1" || had.Host != "web-3" {
		t.Errorf("%+v, %v", holders, err)
	}
}

// The holder was stopped for 90 s, or its machine slept: it learns of it, whether another run came in between or not.
func TestALeaseThatRanOutIsLost(t *testing.T) {
	s := redistest.Start(t)
	r, another := dial(t, s.URL), dial(t, s.URL)
	acquire(t, r, "backup", "run-1")
	lock := acquiredAgo(r, "backup", "run-1", 90*time.Second)
	keys := []string{r.Key("lock", "backup"), r.Key("holder", "backup")}

	expireSooner(t, s.URL, 90*time.Second, keys...)
	lost(t, lock.Renew(ctx), "") // another run may have had it
	held(t, another, "backup", "run-1")
	if err := lock.Renew(ctx); err != nil {
		t.Errorf("it has it again: %v", err)
	}

	expireSooner(t, s.URL, 90*time.Second, keys...)
	next := acquire(t, another, "backup", "run-2")
	for range 3 {
		lost(t, lock.Renew(ctx), "run-2")
		held(t, another, "backup", "run-2")
	}
	release(t, lock) // comes late, and frees nothing
	held(t, another, "backup", "run-2")
	if err := next.Renew(ctx); err != nil {
		t.Error(err)
	}
	release(t, r.Adopt("backup", holder("run-1"), nil))
	held(t, another, "backup", "run-2")
}

// When an adopted lock was last renewed is unknown: its lease counts from holder.Since, and a zero time is long ago.
func TestALockThatWasAdoptedCountsFromItsAcquisition(t *testing.T) {
	r := dial(t, redistest.Start(t).URL)
	recent := mutex.Holder{Run: "run-1", Since: time.Now().Add(-59 * time.Second)}
	if err := r.Adopt("backup", recent, nil).Renew(ctx); err != nil {
		t.Error(err)
	}
	lost(t, r.Adopt("report", mutex.Holder{Run: "run-1"}, nil).Renew(ctx), "")
}

// With three servers a renewal repairs those that forgot, and counts a majority.
func TestARenewalCountsTheMajority(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	r := dial(t, urls...)
	lock := acquire(t, r, "backup", "run-1")
	key := r.Key("lock", "backup")
	until(t, "all have it", func() bool {
		return do(t, urls[0], "GET", key) != nil && do(t, urls[1], "GET", key) != nil && do(t, urls[2], "GET", key) != nil
	})
	do(t, urls[0], "FLUSHALL")
	if err := lock.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "the first has it again", func() bool { return do(t, urls[0], "GET", key) == "run-1" })

	// Two of three are another run's: ours is released, so that it is not in the way of that run.
	for _, url := range urls[:2] {
		do(t, url, "SET", key, "run-2", "PX", 60000)
	}
	lost(t, lock.Renew(ctx), "run-2")
	until(t, "the third is free", func() bool { return do(t, urls[2], "GET", key) == nil })
	servers[0].Kill()
	unknown(t, lock.Renew(ctx)) // one is another run's, one ours again, one does not answer
}

func TestARedisThatWasRestartedGrantsNothingForOneLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	path := filepath.Join(t.TempDir(), "redis.json")
	tick := func() *mutex.Redis {
		r := dial(t, s.URL)
		r.RememberInstances(path)
		return r
	}
	// A server that is met for the first time grants locks at once.
	living := tick()
	lock := acquire(t, living, "backup", "run-1")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, tick(), "report", "run-1"))
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("the file was written without need")
	}

	s.Restart()
	for range 3 { // at each request, of a process that was there at the restart and of new ones
		for _, r := range []*mutex.Redis{living, tick()} {
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					_, err := r.Acquire(ctx, fmt.Sprint("task-", i), holder("run-2"))
					e := unknown(t, err)
					if !strings.Contains(e.Text, "was started again at") || !strings.Contains(e.Text, "it takes none before") {
						t.Error(e.Text)
					}
					unknown(t, r.Claim(ctx, fmt.Sprint("task@", i), time.Now().Add(time.Hour), holder("run-2")))
				})
			}
			all.Wait()
			if r.Down() != nil {
				t.Error(r.Down())
			}
		}
	}
	for i := range 20 {
		if do(t, s.URL, "EXISTS", living.Key("lock", fmt.Sprint("task-", i)), living.Key("claim", fmt.Sprint("task@", i))) != int64(0) {
			t.Fatal("it was taken for a moment")
		}
	}
	// Runs that had locks have them again, and can release them.
	if err := lock.Renew(ctx); err != nil {
		t.Error(err)
	}
	release(t, acquire(t, dial(t, s.URL), "report", "run-1")) // a machine that meets it for the first time does not wait
	if holders, err := tick().Held(ctx, "backup"); err != nil || holders["backup"].Run != "run-1" {
		t.Errorf("%+v, %v", holders, err)
	}
	release(t, lock)
	if text, _ := os.ReadFile(path); len(text) > 200 {
		t.Errorf("%s", text)
	}
}

// A Redis that saves what it grants knows it after a restart, and goes on at once. One that saved it before the last grant has
// forgotten that, and waits; others that do not know it grant locks meanwhile, which proves nothing.
func TestARestartedRedisThatForgotNothingGoesOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		options  []string
		save     bool // before the last grant
		complete bool
	}{
		{"with a log of all writes", []string{"--appendonly", "yes"}, false, true},
		{"with a snapshot of some time before", nil, true, false},
		{"without its data", nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, tt.options...)
			path := filepath.Join(t.TempDir(), "redis.json")
			tick := func() *mutex.Redis {
				r := dial(t, s.URL)
				r.RememberInstances(path)
				return r
			}
			living := tick()
			acquire(t, living, "backup", "run-1")
			if tt.save {
				do(t, s.URL, "SAVE")
			}
			if err := living.Claim(ctx, "backup@1", time.Now().Add(time.Hour), holder("run-1")); err != nil {
				t.Fatal(err)
			}
			other := tick() // which remembers what the file says
			release(t, acquire(t, other, "warm", "run-1"))
			other.Close()

			s.Restart()
			stranger := dial(t, s.URL)
			for i := range 9 {
				acquire(t, stranger, fmt.Sprint("other-", i), "run-9")
			}
			for who, r := range map[string]*mutex.Redis{"a process that was there": living, "a new one": tick()} {
				_, err := r.Acquire(ctx, "of "+who, holder("run-2"))
				if (err == nil) != tt.complete {
					t.Errorf("%s: %v", who, err)
				}
				if tt.complete {
					held(t, r, "backup", "run-1")
				}
			}
		})
	}
}

func TestARestartedRedisGrantsLocksAgainAfterOneLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	path := filepath.Join(t.TempDir(), "redis.json")
	tick := func() *mutex.Redis {
		r := dialWith(t, mutex.Config{Servers: []string{s.URL}, Lease: 1200 * time.Millisecond})
		r.RememberInstances(path)
		return r
	}
	r := tick()
	release(t, acquire(t, r, "backup", "run-1"))
	s.Restart()
	_, err := r.Acquire(ctx, "backup", holder("run-1"))
	unknown(t, err)
	for _, r := range []*mutex.Redis{r, tick()} {
		until(t, "the lease is over", func() bool {
			lock, err := r.Acquire(ctx, "backup", holder("run-2"))
			return err == nil && lock.Release(ctx) == nil
		})
	}
}

// For one lease a server that was restarted does not count; the other two of three decide.
func TestAServerThatWasRestartedDoesNotCount(t *testing.T) {
	t.Parallel()
	servers, urls := three(t)
	r := dial(t, urls...)
	release(t, acquire(t, r, "backup", "run-1"))
	until(t, "all are met", func() bool {
		release(t, acquire(t, r, "backup", "run-1"))
		return do(t, urls[0], "EXISTS", r.Key("granted")) == int64(1) && do(t, urls[1], "EXISTS", r.Key("granted")) == int64(1)
	})
	servers[0].Restart()
	release(t, acquire(t, r, "backup", "run-2"))
	servers[1].Restart()
	_, err := r.Acquire(ctx, "backup", holder("run-3"))
	unknown(t, err)
}

func TestClaimsAreKeptWhateverTheClocksSay(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	for name, until := range map[string]time.Time{
		"an hour from now":           time.Now().Add(time.Hour),
		"a slot of long ago":         time.Now().Add(-12 * time.Hour),
		"a clock that is far behind": time.Unix(0, 0),
	} {
		if err := r.Claim(ctx, name, until, holder("run-1")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := do(t, s.URL, "PTTL", r.Key("claim", name)).(int64); left < 3_590_000 || left > 3_600_000 {
			t.Errorf("%s: %d ms", name, left)
		}
		heldBy(t, r.Claim(ctx, name, until, holder("run-2")), name, "run-1")
	}
}

// A tick with a hundred tasks claims them in parallel, over a few connections.
func TestAHundredClaimsNeedFewConnections(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	count := func(field string) (n int) {
		info := do(t, s.URL, "INFO", "all").(string)
		_, after, _ := strings.Cut(info, field+":")
		fmt.Sscan(after, &n)
		return n
	}
	commands, connections := count("total_commands_processed"), count("total_connections_received")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if err := r.Claim(ctx, fmt.Sprint("task@", i), time.Now().Add(time.Hour), holder("run-1")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	// Each count is itself a connection.
	if n := count("total_connections_received") - connections - 1; n > 8 {
		t.Errorf("%d connections", n)
	}
	if n := count("cmdstat_evalsha:calls=") + count("cmdstat_eval:calls="); n > 120 {
		t.Errorf("%d scripts for 100 claims", n)
	}
	// A claim is one script, which calls TIME, GET, SET and HINCRBY.
	if n := count("total_commands_processed") - commands; n > 600 {
		t.Errorf("%d commands, those of scripts too", n)
	}
}
