package forecast

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"sched/schedule/view"
)

// A Cache makes reports, one at a time, and keeps the last ones: each until the schedule, what this machine runs of it, what is paused
// or the hour changes. It is safe for concurrent use.
type Cache struct {
	turn chan struct{} // whoever makes a report has put something into it

	mu   sync.Mutex
	kept []keptReport // the one that was asked for last first
}

// mostKept is how many reports a Cache keeps: one of a month and a thousand tasks takes half a megabyte.
const mostKept = 4

type keptReport struct {
	schedule string // its scheduleID
	of       string // what else it was made of
	report   Report
}

// NewCache returns a cache that has nothing yet.
func NewCache() *Cache { return &Cache{turn: make(chan struct{}, 1)} }

// Report returns the report of a span, as if one server ticked. The error is that of the context, or that of CheckSpan.
func (c *Cache) Report(ctx context.Context, source view.Source, from time.Time, span time.Duration) (Report, error) {
	if err := CheckSpan(from, span); err != nil {
		return Report{}, err
	}
	in := &Inputs{Input: Input{Schedule: source.Schedule, From: from, To: from.Add(span), Servers: 1, Done: ctx.Done()}}
	in.readControls(source)
	schedule, of := in.scheduleID(), in.id(source.Now())
	if r, ok := c.find(schedule, of); ok {
		return r, nil
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
	defer func() { <-c.turn }()
	if r, ok := c.find(schedule, of); ok { // whoever had the turn before wanted the same
		return r, nil
	}
	lacking := in.readHistory(ctx, source)
	r := Foresee(in.Of(source.Schedule))
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r.Done = nil // nothing of the request is kept
	if lacking == nil {
		c.keep(keptReport{schedule, of, r})
	}
	return r, nil
}

// scheduleID tells schedules apart, also those of one text that run other tasks: the environment and the labels of the machine are not in it.
func (in *Inputs) scheduleID() string {
	s := in.Schedule
	return fmt.Sprintf("%s %q %q", s.Digest, s.Environment, s.Machine)
}

// id tells reports of one schedule apart, and those of different hours: runs of the last hour may have taken something else.
func (in *Inputs) id(now time.Time) string {
	pauses, _ := json.Marshal(in.Pauses)
	return fmt.Sprint(now.Unix()/3600, in.From.UnixNano(), in.To.UnixNano(), in.maintained, string(pauses))
}

func (c *Cache) find(schedule, of string) (Report, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(k keptReport) bool { return k.schedule == schedule && k.of == of })
	if i < 0 {
		return Report{}, false
	}
	found := c.kept[i]
	c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, found)
	return found.report, true
}

// keep keeps a report, and forgets those of another schedule, which they would keep in memory.
func (c *Cache) keep(k keptReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(old keptReport) bool { return old.schedule != k.schedule })
	c.kept = slices.Insert(c.kept, 0, k)
	c.kept = slices.Clone(c.kept[:min(len(c.kept), mostKept)])
}
