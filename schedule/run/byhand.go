package run

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// ErrNothing says that no run of the mutex was ever recorded.
var ErrNothing = errors.New("nothing was recorded")

// An AliveError says that a run cannot be finished because it is still running.
type AliveError struct {
	Run string
}

func (e *AliveError) Error() string { return "run " + e.Run + " is still running" }

// FinishNewest finishes the newest run of the mutex that is lost or waits for a deferred retry. If
// there is no such run but another one is running, it returns *AliveError. Otherwise it returns the
// row of the last run that has ended. If no run has ever ended, it ends the newest run that
// waits for its turn and that no process watches. If there is no such run either, the error is
// ErrNothing.
func (c Caller) FinishNewest(mutex string, code *int) (state.Row, error) {
	ctx := context.Background()
	live, lost, err := c.DB.LiveAndLost(ctx)
	if err != nil {
		return state.Row{}, err
	}
	var alive *AliveError
	var queued string
	for _, row := range slices.Backward(slices.SortedFunc(slices.Values(append(live, lost...)), func(a, b state.Row) int { return cmp.Compare(a.ID, b.ID) })) {
		switch {
		case row.Mutex != mutex || row.Pending():
		case row.Owner != 0 && c.DB.Owners().Alive(row.Owner):
			alive = &AliveError{row.ID}
		case row.Queued(): // its command has not started: the code belongs to another run
			queued = cmp.Or(queued, row.ID)
		default:
			if o, err := c.take(row); err == nil {
				defer o.run.sendAlone()()
				return o.finish(code), nil
			}
			alive = &AliveError{row.ID} // another process takes it at this moment
		}
	}
	if alive != nil {
		return state.Row{}, alive
	}
	rows, err := c.DB.Runs().Find(ctx, state.Query{Mutex: mutex, Outcomes: outcome.Ran, Limit: 1})
	switch {
	case err != nil:
		return state.Row{}, err
	case len(rows) > 0:
		return rows[0], nil
	case queued != "":
		return c.FinishByHand(queued, nil)
	}
	return state.Row{}, ErrNothing
}

// FinishByHand finishes a run that no process looks after, even if it waits for a deferred retry.
// The code is the exit code of its command, or nil if the caller does not know it. The error is
// ErrAlive if a process looks after the run. It is state.ErrNotFound if there is no such run, or if
// it has ended.
func (c Caller) FinishByHand(id string, code *int) (state.Row, error) {
	row, err := c.DB.Runs().Row(context.Background(), id)
	if err == nil && row.Phase == state.Ended {
		err = state.ErrNotFound
	}
	if err != nil {
		return state.Row{}, err
	}
	o, err := c.take(row)
	if err != nil {
		return state.Row{}, err
	}
	defer o.run.sendAlone()()
	return o.finish(code), nil
}

// FinishUnrecorded fires the hooks of a task that has no recorded run, as if one had ended now with
// the code (nil: 0).
func (c Caller) FinishUnrecorded(row state.Row, task *schedule.Task, code *int) (state.Row, error) {
	if code == nil {
		code = new(int)
	}
	r, err := c.Begin(row, task, nil)
	if err != nil {
		return state.Row{}, err
	}
	result := r.endUnwatched(code)
	result.Reason = join(result.Reason, "finished by hand")
	defer r.sendAlone()()
	return r.finish(result), nil
}

// join joins two reasons, of which the first may be empty.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
