package mutex_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"sched/mutex/redistest"
)

// plainMutex is a mutex of redsync with its own connections: one attempt to take key for run, with a
// value by which any process can release it.
func plainMutex(t *testing.T, key, run string, urls ...string) *redsync.Mutex {
	t.Helper()
	var pools []redsyncredis.Pool
	for _, url := range urls {
		options, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		options.ContextTimeoutEnabled, options.MaxRetries = true, -1
		client := redis.NewClient(options)
		t.Cleanup(func() { client.Close() })
		pools = append(pools, goredis.NewPool(client))
	}
	return redsync.New(pools...).NewMutex(key, redsync.WithExpiry(time.Minute), redsync.WithTries(1), redsync.WithFailFast(true),
		redsync.WithTimeoutFactor(1), redsync.WithValue(run), redsync.WithGenValueFunc(func() (string, error) { return run, nil }))
}

// The reasons for conn in redlock.go. Each part says what our contract forbids; one that fails says
// that redsync has learned to keep it.
func TestAPlainRedsyncMutexDoesNotKeepTheContract(t *testing.T) {
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
		s := redistest.Start(t)
		lock := plainMutex(t, "lock", "run-1", s.URL)
		if err := lock.TryLock(); err != nil { // now it is connected
			t.Fatal(err)
		}
		if _, err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
		s.Pause()
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if err := lock.TryLockContext(short); err == nil {
			t.Fatal("a paused server answers")
		}
		s.Resume()
		until(t, "the lock is there", func() bool { return do(t, s.URL, "GET", "lock") == "run-1" })
	})
}
