package mutex_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// The schedule says 1.2 s now, and the run that began under 60 s renews its lock every 20 s: a Redis without its data would have given
// the mutex to another run before the renewal came.
func TestAShorterLeaseDoesNotShortenTheWaitForRunsThatLive(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	path := filepath.Join(t.TempDir(), "store.json")
	tick := func(lease time.Duration) *mutex.Redis {
		r := dialWith(t, mutex.Config{Servers: []string{s.URL}, Lease: lease})
		r.RememberInstances(path)
		return r
	}
	lives := tick(time.Minute)
	acquire(t, lives, "backup", "run-1")
	lives.Close()
	edited := tick(1200 * time.Millisecond)
	release(t, acquire(t, edited, "report", "run-2"))
	edited.Close()

	s.Restart()
	until(t, "the shorter lease is over", func() bool {
		info, _ := do(t, s.URL, "INFO", "server").(string)
		return strings.Contains(info, "uptime_in_seconds:3")
	})
	_, err := tick(1200*time.Millisecond).Acquire(ctx, "backup", holder("run-3"))
	if e := unknown(t, err); !strings.Contains(e.Text, "it takes none before") {
		t.Error(e.Text)
	}
	lives = tick(time.Minute)
	if err := lives.Adopt("backup", mutex.Holder{Run: "run-1", Since: time.Now()}, nil).Renew(ctx); err != nil {
		t.Error(err)
	}
	if holders, err := tick(1200*time.Millisecond).Held(ctx, "backup"); err != nil || holders["backup"].Run != "run-1" {
		t.Errorf("%+v, %v", holders, err)
	}
}
