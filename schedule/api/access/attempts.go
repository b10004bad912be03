package access

import (
	"sync"
	"time"
)

type attempts struct {
	now func() time.Time

	mu     sync.Mutex
	failed map[string]tries
	known  map[string]bool // addresses with the hash of a token that was right from there
}

type tries struct {
	count int
	since time.Time
}

const (
	MostAttempts  = 10 // an address may be wrong so often
	attemptsSpan  = time.Minute
	mostAddresses = 10_000 // more are forgotten together: the count is there against guessing, and each guess is one of 2^256
)

// exhausted returns for how long an address may not try any more; 0 when it may.
func (a *attempts) exhausted(address string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.failed[address]
	left := attemptsSpan - a.now().Sub(t.since)
	if t.count < MostAttempts || left <= 0 {
		return 0
	}
	return left
}

func (a *attempts) wrong(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.failed[address]
	if a.now().Sub(t.since) >= attemptsSpan {
		t = tries{since: a.now()}
	}
	if a.failed == nil || len(a.failed) >= mostAddresses {
		a.failed = map[string]tries{}
	}
	t.count++
	a.failed[address] = t
}

func (a *attempts) right(address, hash string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= mostAddresses {
		a.known = map[string]bool{}
	}
	a.known[address+" "+hash] = true
}

func (a *attempts) knows(address, hash string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[address+" "+hash]
}
