package mutex_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// threeBehindProxies starts three independent servers, each with a proxy before it.
func threeBehindProxies(t *testing.T) (proxies []*redistest.Proxy, urls []string) {
	servers, _ := three(t)
	for _, s := range servers {
		p := redistest.StartProxy(t, s)
		proxies, urls = append(proxies, p), append(urls, p.URL)
	}
	return proxies, urls
}

// Several ticks want each slot at the same moment, and one of three servers does not answer, or late. Each slot is claimed, and once;
// a round once waited two seconds for the silent one, and gave up.
func TestARoundDoesNotWaitForTheSlowestOfThree(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]redistest.Fault{
		"silent":            {Silent: true},
		"swallows answers":  {Swallow: true},
		"late by 300 ms":    {Delay: 300 * time.Millisecond},
		"refuses":           {Refuse: true},
		"closes half of it": {HalfEnd: true},
		"as fast as others": {},
	} {
		t.Run(name, func(t *testing.T) {
			unhurried(t, func(slow func(string, ...any)) { tellOfARound(t, slow, fault) })
		})
	}
}

func tellOfARound(t *testing.T, slow func(string, ...any), fault redistest.Fault) {
	proxies, urls := threeBehindProxies(t)
	const ticks, slots = 3, 25
	var stores []*mutex.Redis
	for range ticks {
		stores = append(stores, dial(t, urls...))
	}
	proxies[1].Set(fault)
	var claimed [slots]atomic.Int32
	var slowest atomic.Int64
	var all sync.WaitGroup
	for tick, store := range stores {
		for slot := range slots {
			all.Go(func() {
				begun := time.Now()
				err := store.Claim(ctx, fmt.Sprint("backup@", slot), time.Now().Add(time.Hour), holder(fmt.Sprintf("run-%d-%d", tick, slot)))
				var held *mutex.HeldError
				switch {
				case err == nil:
					claimed[slot].Add(1)
				case !errors.As(err, &held):
					slow("slot %d: %v", slot, err) // what comes too late leaves it unknown who has it
				}
				for took := int64(time.Since(begun)); took > slowest.Load(); {
					slowest.Store(took)
				}
			})
		}
	}
	all.Wait()
	for slot := range claimed {
		switch n := claimed[slot].Load(); {
		case n > 1:
			t.Errorf("slot %d is claimed %d times", slot, n)
		case n == 0:
			slow("slot %d is not claimed", slot)
		}
	}
	if took := time.Duration(slowest.Load()); took > 1900*time.Millisecond {
		slow("the slowest took %s", took)
	}
}

// A server that is restarted, or a network that drops connections for a moment, is no outage: what is refused is tried again.
func TestARefusalOfAMomentIsNoOutage(t *testing.T) {
	t.Parallel()
	p := redistest.StartProxy(t, redistest.Start(t))
	for name, r := range map[string]*mutex.Redis{"before the first connection": dial(t, p.URL), "later": dial(t, p.URL)} {
		if name == "later" {
			release(t, acquire(t, r, "warm", "run-0"))
		}
		p.Set(redistest.Fault{Refuse: true})
		back := time.AfterFunc(700*time.Millisecond, func() { p.Set(redistest.Fault{}) })
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				run := fmt.Sprintf("%s-%d", name[:5], i)
				if err := r.Claim(ctx, run, time.Now().Add(time.Hour), holder(run)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		all.Wait()
		back.Stop()
		if err := r.Down(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However many locks and claims a tick takes, they cost a few round trips: at 40 ms each, a tick with 200 of them once ran none.
func TestManyLocksAndClaimsTakeFewRoundTrips(t *testing.T) {
	t.Parallel()
	unhurried(t, func(slow func(string, ...any)) { tellOfRoundTrips(t, slow) })
}

func tellOfRoundTrips(t *testing.T, slow func(string, ...any)) {
	p := redistest.StartProxy(t, redistest.Start(t))
	r := dial(t, p.URL)
	p.Set(redistest.Fault{Delay: 100 * time.Millisecond})
	const tasks = 200
	begun := time.Now()
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() {
			name := fmt.Sprint("task-", i)
			if err := r.Claim(ctx, name+"@1", time.Now().Add(time.Hour), holder(name)); err != nil {
				t.Error(err)
				return
			}
			if _, err := r.Acquire(ctx, name, holder(name)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took > 2*time.Second {
		slow("it took %s", took)
	}
	if n := p.Requests(); n > tasks/4 { // a large one may arrive in several pieces, and on a busy machine fewer come together
		slow("it took %d round trips", n)
	}
}
