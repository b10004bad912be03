package serve

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/schedule/forecast"
)

// maxPlaces is how many requests are answered at the same time: each may have a history open, with
// a cache of its own.
const maxPlaces = 4

// maxForecastPlaces is how many requests for forecasts wait or are answered at the same time: an
// answer may have half a megabyte.
const maxForecastPlaces = 8

// maxStopping is how many runs are being stopped at the same time: each is followed to its end,
// also when nobody waits for the answer.
const maxStopping = 64

// maxFollowing is how many answers wait for the end of a run at the same time: each asks the
// database ten times a second. Further ones do not wait.
const maxFollowing = 16

// A Work is how busy an answer keeps the server.
type Work int

const (
	Quick       Work = iota
	Forecasting      // it takes seconds of CPU; one such request of a caller at a time
	Waiting          // it waits for seconds, and takes no place of Server.places
)

// take waits for one of the places, which are as many as the channel has room for.
func take(ctx context.Context, places chan struct{}) (giveBack func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, tryAgain(1, "try again", "too much is asked at the same time")
	}
}

// turns lets each caller have one forecast made at a time. It has a channel with room for one, by
// the name of the caller: callers are few, and are not forgotten.
type turns struct{ all sync.Map }

// take waits until the caller has no other forecast made. The caller of take must call giveBack.
func (t *turns) take(ctx context.Context, caller string) (giveBack func(), err error) {
	turn, _ := t.all.LoadOrStore(caller, make(chan struct{}, 1))
	return take(ctx, turn.(chan struct{}))
}

// maxForecasts is how many forecasts are made at the same time. The long forecasts of one caller
// leave room for the forecasts of another.
const maxForecasts = 2

// newForecasts returns the caches that make forecasts. Each has the last forecast that it made.
func newForecasts() chan *forecast.Cache {
	all := make(chan *forecast.Cache, maxForecasts)
	for range maxForecasts {
		all <- &forecast.Cache{}
	}
	return all
}

// A hook starts at most maxHookCalls runs in hookSpan. A stranger with its key could otherwise
// start as many processes as the machine bears, and fill the audit log.
const (
	maxHookCalls = 10
	hookSpan     = time.Minute
)

// A hookThrottle counts the calls of each hook. It is safe for concurrent use.
type hookThrottle struct {
	mu    sync.Mutex
	calls map[string][]time.Time // in the last hookSpan, by the name of the hook
}

// take counts a call, unless the hook has had its calls: then it returns after how long the hook
// has another one.
func (t *hookThrottle) take(hook string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isOld := func(at time.Time) bool { return now.Sub(at) >= hookSpan || at.After(now) }
	calls := slices.DeleteFunc(t.calls[hook], isOld)
	if len(calls) >= maxHookCalls {
		wait = hookSpan - now.Sub(calls[0])
	} else {
		calls = append(calls, now)
	}
	if t.calls == nil {
		t.calls = map[string][]time.Time{}
	}
	t.calls[hook] = calls
	return wait
}

// A throttle counts wrong tokens and login links by address. It decides only how soon wrong ones
// are answered: a right one is always let in at once, or any user of the machine could lock out all
// others. A token is one of 2^256, so guessing is hopeless even without it.
type throttle struct {
	now   func() time.Time
	delay time.Duration // wrongDelay, but for tests

	mu        sync.Mutex
	byAddress map[string]wrongAttempts
}

// wrongAttempts are the attempts of one address in a span that begins with the first of them.
type wrongAttempts struct {
	count int
	since time.Time
}

const (
	maxWrong     = 10 // wrong attempts of one address in wrongSpan; each further one is delayed
	wrongSpan    = time.Minute
	wrongDelay   = time.Second
	maxAddresses = 10_000 // more are forgotten together
)

// countWrong counts a wrong attempt from an address, and returns how long its answer must wait.
func (t *throttle) countWrong(address string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wrong := t.byAddress[address]
	if t.now().Sub(wrong.since) >= wrongSpan {
		wrong = wrongAttempts{since: t.now()}
	}
	if t.byAddress == nil || len(t.byAddress) >= maxAddresses {
		t.byAddress = map[string]wrongAttempts{}
	}
	wrong.count++
	t.byAddress[address] = wrong
	if wrong.count <= maxWrong {
		return 0
	}
	return t.delay
}
