package runner

import (
	"context"
	"errors"
	"slices"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// ErrNothing says that no run of the mutex was ever recorded.
var ErrNothing = errors.New("nothing was recorded")

// An AliveError says that a run cannot be finished, since it is not over.
type AliveError struct {
	Run string
}

func (e *AliveError) Error() string { return "run " + e.Run + " is still running" }

// FinishNewest finishes the newest run of the mutex that nobody watches. Where there is none it
// returns *AliveError if one is running, the record of the last one if that is finished, and
// ErrNothing if there never was any.
func FinishNewest(state State, mutex string, code *int, env []string) (outcome.Record, error) {
	ids, err := runfile.List(state.Dir)
	if err != nil {
		return outcome.Record{}, err
	}
	var alive *AliveError
	var last *outcome.Record
	for _, id := range slices.Backward(ids) {
		log, watched, err := runfile.Read(state.Dir, id)
		switch {
		case err != nil || log.Begin.Mutex != mutex:
		case log.End != nil:
			if last == nil {
				last = log.End
			}
		case watched:
			alive = &AliveError{id}
		default:
			if r, log, err := take(state, id, env); err == nil {
				defer r.postAlone()()
				return r.conclude(log, code), nil
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
	return lastOf(state.Dir, mutex)
}

func lastOf(state, mutex string) (outcome.Record, error) {
	db, err := history.OpenRead(state)
	if err != nil {
		return outcome.Record{}, err
	}
	defer db.Close()
	records, err := db.Find(context.Background(), history.Query{Mutex: mutex, Outcomes: outcome.Ran, Limit: 1})
	if err != nil {
		return outcome.Record{}, err
	}
	if len(records) == 0 {
		return outcome.Record{}, ErrNothing
	}
	return records[0], nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
