package supervise

import (
	"context"
	"sync"
	"time"

	"sched/schedule/state"
)

// A queueView caches the queue of one machine. Runs that wait in one process share it, so that
// hundreds of them read all rows once. Safe for concurrent use.
type queueView struct {
	mu     sync.Mutex
	readAt time.Time // when the reading began; zero: the queue was not read yet
	rows   []state.Row
	err    error
}

// queueMaxAge is how old the queue may be that runs see. A run that begins to wait meanwhile comes
// after them.
const queueMaxAge = 50 * time.Millisecond

// read returns the queue as it was at some moment after since. A nil queueView caches nothing.
func (v *queueView) read(db *state.DB, since time.Time) ([]state.Row, error) {
	if v == nil {
		return db.LiveQueue(context.Background())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); !v.readAt.After(since) || now.Sub(v.readAt) > queueMaxAge {
		v.readAt = now
		v.rows, v.err = db.LiveQueue(context.Background())
	}
	return v.rows, v.err
}
