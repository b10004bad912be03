package run

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/state"
)

// ErrNothing says that no run of the mutex was ever recorded.
var ErrNothing = errors.New("nothing was recorded")

// An AliveError says that a run cannot be finished, since it is not over.
type AliveError struct {
	Run string
}

func (e *AliveError) Error() string { return "run " + e.Run + " is still running" }

// FinishNewest finishes the newest run of the mutex that is lost or waits for a deferred retry. Where there is none it
// returns *AliveError if one is running, and the record of the last one if that has ended. Where there never was any it ends the newest
// one that waits for its turn and that no process watches; else the error is ErrNothing.
func (c Caller) FinishNewest(mutex string, code *int) (outcome.Record, error) {
	ids, err := runfile.List(c.Dir)
	if err != nil {
		return outcome.Record{}, err
	}
	var alive *AliveError
	var last *outcome.Record
	var queued string
	for _, id := range slices.Backward(ids) {
		state, lives, err := runfile.Read(c.Dir, id)
		switch {
		case err != nil || state.Begin.Mutex != mutex:
		case state.End != nil:
			if last == nil {
				last = state.End
			}
		case lives:
			alive = &AliveError{id}
		case state.Queued(): // nothing of it has started: the code is that of another run
			queued = cmp.Or(queued, id)
		default:
			if r, state, err := c.take(id); err == nil {
				defer r.sendAlone()()
				return r.conclude(state, code), nil
			}
			alive = &AliveError{id} // another process takes it at this moment
		}
	}
	switch {
	case alive != nil:
		return outcome.Record{}, alive
	case last != nil:
		return *last, nil
	}
	record, err := newestRecorded(c.Dir, mutex)
	if errors.Is(err, ErrNothing) && queued != "" {
		return c.FinishByHand(queued, nil)
	}
	return record, err
}

// newestRecorded returns the newest run of the mutex in the history; ErrNothing when there is none.
func newestRecorded(dir, mutex string) (outcome.Record, error) {
	db, err := history.OpenRead(dir)
	if err != nil {
		return outcome.Record{}, err
	}
	defer db.Close()
	records, err := db.Find(context.Background(), state.Query{Mutex: mutex, Outcomes: outcome.Ran, Limit: 1})
	if err != nil {
		return outcome.Record{}, err
	}
	if len(records) == 0 {
		return outcome.Record{}, ErrNothing
	}
	return records[0], nil
}

// FinishUnrecorded fires the hooks of a task that has no recorded run, as if one had ended now with the code (nil: 0).
func (c Caller) FinishUnrecorded(record outcome.Record, task *schedule.Task, code *int) (outcome.Record, error) {
	if code == nil {
		code = new(int)
	}
	r, err := c.Begin(record, task, nil)
	if err != nil {
		return outcome.Record{}, err
	}
	result := r.settle(runfile.State{}, code)
	result.Reason = join(result.Reason, "finished by hand")
	defer r.sendAlone()()
	return r.Finish(result), nil
}

// join joins two reasons, of which the first may be empty.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
