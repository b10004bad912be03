package forecast

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sched/schedule/view"
)

// A Cache makes reports, one at a time. It keeps the last one until the schedule, the tasks that
// this machine runs, the pauses or the hour changes. It is safe for concurrent use.
type Cache struct {
	turn chan struct{} // holds an element while a report is made

	made string // what the last report was made of; "" for none
	last Report
}

// NewCache returns a cache that has nothing yet.
func NewCache() *Cache { return &Cache{turn: make(chan struct{}, 1)} }

// Report returns the report of a span, as if one server ticked. The error comes from the context or
// from CheckSpan.
func (c *Cache) Report(ctx context.Context, source view.Source, from time.Time, span time.Duration) (Report, error) {
	if err := CheckSpan(from, span); err != nil {
		return Report{}, err
	}
	in := &Inputs{Input: Input{Schedule: source.Schedule, From: from, To: from.Add(span), Servers: 1, Done: ctx.Done()}}
	in.readControls(source)
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
	defer func() { <-c.turn }()
	of := in.id(source.Now())
	if of == c.made {
		return c.last, nil
	}
	lacking := in.readHistory(ctx, source)
	r := Foresee(in.Of(source.Schedule))
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r.Done = nil // nothing of the request is kept
	if lacking == nil {
		c.made, c.last = of, r
	}
	return r, nil
}

// id tells reports apart: by the schedule, by the tasks of it that run, by the span and by the
// pauses. It also tells hours apart, because runs of the last hour may have changed the durations.
func (in *Inputs) id(now time.Time) string {
	s := in.Schedule
	pauses, _ := json.Marshal(in.Pauses)
	return fmt.Sprintf("%s %q %q %d %d %d %t %s", s.Digest, s.Environment, s.Machine, now.Unix()/3600, in.From.UnixNano(), in.To.UnixNano(), in.maintained, pauses)
}
