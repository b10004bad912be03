package mutex_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
)

// Redis's clock was an hour ahead; then it was set right, and its data were lost. What a lock protects refuses a fence that is less than
// the last one, for an hour.
func TestAFenceDoesNotFallWithTheClockAndTheDataOfRedis(t *testing.T) {
	t.Parallel()
	s := miniredis.RunT(t)
	url := "redis://" + s.Addr()
	path := filepath.Join(t.TempDir(), "store.json")
	tick := func(path string) *mutex.Redis {
		r := dial(t, url)
		r.RememberInstances(path)
		return r
	}
	s.SetTime(time.Now().Add(time.Hour))
	web1, web2 := tick(filepath.Join(t.TempDir(), "store.json")), tick(path)
	before := acquire(t, web1, "backup", "run-1")
	release(t, acquire(t, web2, "report", "run-2")) // it has met Redis meanwhile
	release(t, before)
	web1.Close()
	web2.Close()

	s.SetTime(time.Now())
	s.FlushAll()
	for _, name := range []string{"backup", "report"} {
		after := acquire(t, tick(path), name, "run-3")
		if after.Fence() <= before.Fence() {
			t.Errorf("the fence of %s is %d after %d", name, after.Fence(), before.Fence())
		}
		release(t, after)
	}

	// A clock that was always right makes no difference.
	fresh := acquire(t, tick(filepath.Join(t.TempDir(), "store.json")), "other", "run-4")
	if ahead := time.Until(time.UnixMicro(fresh.Fence())); ahead > time.Second {
		t.Errorf("it is %s ahead", ahead)
	}
	release(t, fresh)
}
