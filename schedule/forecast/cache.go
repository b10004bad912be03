package forecast

import (
	"context"
	"time"

	"sched/schedule/view"
)

// A Cache makes reports, for one goroutine. It keeps the last one until the schedule, the tasks
// that this machine runs, the pauses or the hour changes. The zero Cache has nothing yet.
type Cache struct {
	lastID string // the id of the basis of the last report; "" for none
	last   Report
}

// Report returns the report of a span, as if one server ticked. The error comes from the context or
// from CheckSpan.
func (c *Cache) Report(ctx context.Context, source view.Source, from time.Time, span time.Duration) (Report, error) {
	if err := CheckSpan(from, span); err != nil {
		return Report{}, err
	}
	b := &Basis{Input: Input{Schedule: source.Schedule, From: from, To: from.Add(span), Servers: 1, Done: ctx.Done()}}
	b.readControls(source)
	id := b.id(source.Now())
	if id == c.lastID {
		return c.last, nil
	}
	historyErr := b.readHistory(ctx, source)
	r := Foresee(b.WithSchedule(source.Schedule))
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r.Done = nil // nothing of the request is kept
	if historyErr == nil {
		c.lastID, c.last = id, r
	}
	return r, nil
}
