package serve

import (
	"sync"
	"time"
)

// attempts counts wrong tokens and login links by address. It decides only how wrong ones are
// answered: a right one is always let in, or any user of the machine could lock out all others. A
// token is one of 2^256, so that guessing is hopeless without a limit, too.
type attempts struct {
	now func() time.Time

	mu     sync.Mutex
	failed map[string]tries
}

type tries struct {
	count int
	since time.Time
}

const (
	MostAttempts  = 10 // an address may be wrong so often
	attemptsSpan  = time.Minute
	mostAddresses = 10_000 // more are forgotten together
)

// wrong counts a wrong attempt from an address. When there were too many it returns for how long
// the next wrong ones are refused unread; otherwise 0.
func (a *attempts) wrong(address string) time.Duration {
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
	if t.count <= MostAttempts {
		return 0
	}
	return attemptsSpan - a.now().Sub(t.since)
}
