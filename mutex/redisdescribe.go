package mutex

import (
	"context"
	"sync"

	"sched/mutex/redisserver"
)

// A description is what people read about the holder of a lock, and how far it is written to Redis.
type description struct {
	mu      sync.Mutex
	holder  Holder
	unsaved bool // holder has changed since it was last written
	writing bool // a goroutine writes it
}

func (d *description) get() Holder {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holder
}

// next returns the holder and whether it is still to be written; if not, the goroutine that writes
// must end.
func (d *description) next() (Holder, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	unsaved := d.unsaved
	d.unsaved, d.writing = false, unsaved
	return d.holder, unsaved
}

// Describe writes the holder to Redis in the background. A text that could not be written yet is left
// out when there is a newer one.
func (l *lease) Describe(holder Holder) {
	d := &l.description
	d.mu.Lock()
	defer d.mu.Unlock()
	holder.Run = l.run
	d.holder, d.unsaved = holder, true
	if !d.writing {
		d.writing = true
		l.redis.inFlight.Go(l.writeDescription)
	}
}

func (l *lease) writeDescription() {
	for holder, unsaved := l.description.next(); unsaved; holder, unsaved = l.description.next() {
		l.redis.tally(l.redis.send(deadline(context.Background()), redisserver.Request{Script: &describeScript, Keys: l.keys()[:2],
			Args: []any{l.run, holderText(holder)}}, nil), nil)
	}
}
