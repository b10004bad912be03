package history

import (
	"time"

	"sched/schedule/outcome"
)

// aheadBy is how far ahead of the clock a run may have begun before the clock is taken to have been wrong then.
const aheadBy = time.Minute

// NewestBefore returns the run of a task that began last by the clock of now, in place of last where that one was begun by a clock that
// was ahead: its id stays the highest until the clock has caught up. It looks among the newest hundred that find finds, and returns
// last where there is no other.
func NewestBefore(last outcome.Record, now time.Time, find func(Query) ([]outcome.Record, error)) outcome.Record {
	if !last.Started.After(now.Add(aheadBy)) {
		return last
	}
	past, err := find(Query{Task: last.Task, Outcomes: outcome.Ran, Until: now, Limit: 100})
	if err != nil {
		return last
	}
	var newest outcome.Record
	for _, r := range past {
		if !r.Started.After(now) && r.Started.After(newest.Started) {
			newest = r
		}
	}
	if newest.Run == "" {
		return last
	}
	return newest
}
