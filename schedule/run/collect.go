package run

import (
	"context"
	"errors"
	"sync"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// lostAtOnce is how many lost runs are finished at the same time: their hooks may be slow.
const lostAtOnce = 16

// CollectLost finishes every run whose owner is dead, and returns their records. A run that waits
// for a deferred retry, or for its turn, is passed to retry, which reports whether it ended the run
// instead. It leaves a run alone if recent accepts its id. Errors about single runs go to problem.
func (c Caller) CollectLost(recent func(id string) bool, retry func(Deferred) (state.Row, bool), problem func(error)) []state.Row {
	live, lost, err := c.DB.Going(context.Background())
	if err != nil {
		problem(err)
		return nil
	}
	var (
		mu      sync.Mutex
		records []state.Row
		wg      sync.WaitGroup
		slots   = make(chan struct{}, lostAtOnce)
	)
	collect := func(row state.Row, do func(state.Row) (state.Row, bool)) {
		if recent(row.ID) {
			return
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if record, ended := do(row); ended {
				mu.Lock()
				records = append(records, record)
				mu.Unlock()
			}
		})
	}
	for _, row := range live {
		if row.Deferred() || row.Queued() && !c.DB.Owners().Alive(row.Owner) {
			collect(row, func(row state.Row) (state.Row, bool) { return retry(Deferred{c, row}) })
		}
	}
	for _, row := range lost {
		collect(row, func(row state.Row) (record state.Row, ended bool) {
			if row.Resting() && row.Background && !c.unwritten(row) {
				return retry(Deferred{c, row})
			}
			o, err := c.take(row)
			if err != nil {
				if !errors.Is(err, ErrAlive) {
					problem(err)
				}
				return record, false
			}
			if record, again := o.finishUnlessLost(); !again {
				return record, true
			}
			return retry(Deferred{c, o.run.row.Row})
		})
	}
	wg.Wait()
	return records
}

// ErrAlive says that a process looks after the run.
var ErrAlive = errors.New("the run is alive")

// An orphan is a run that this process has taken, because no process looked after it.
type orphan struct{ run *Run }

// take makes a run ours that has no owner, or a dead one. Its lock was dropped with its processes,
// or is held by a process that the command left behind. The error is ErrAlive if another process
// has the run.
func (c Caller) take(row state.Row) (*orphan, error) {
	ctx := context.Background()
	if row.Phase == state.Ended || row.Owner != 0 && c.DB.Owners().Alive(row.Owner) {
		return nil, ErrAlive
	}
	own, err := c.Self.Owned(ctx)
	if err == nil {
		err = own.Take(ctx, row)
	}
	if isStale(err) || errors.Is(err, state.ErrGone) {
		return nil, ErrAlive
	}
	if err != nil {
		return nil, err
	}
	row.Owner = own.ID
	if row.Phase == state.Waiting {
		row.Phase = state.Ready
	}
	r, err := c.restore(own, row)
	if err != nil {
		lost := state.Result{Outcome: outcome.Lost, Reason: err.Error(), Ended: clock.Now()}
		return nil, errors.Join(err, own.End(ctx, row.ID, state.End{Result: lost}))
	}
	r.adopt(nil)
	return &orphan{r}, nil
}

// finish finishes the run, with the result that its supervisor wrote down, or else with the one
// that the run has now. The code is the exit code of the command if a person has given it (`sched
// finish MUTEX CODE`); else nil.
func (o *orphan) finish(code *int) state.Row {
	r := o.run
	switch {
	case r.row.Phase == state.Finishing:
		return r.finish(r.resultInRow())
	case r.row.Queued(): // it has no exit code: nothing of it has started
		result := r.soFar()
		result.Ended = clock.Now()
		if r.row.Stop != nil {
			stoppedBy(&result, *r.row.Stop)
		} else {
			stopped(&result, "finished by hand while it waited")
		}
		return r.finish(result)
	case r.row.Resting():
		return r.finish(o.giveUp(code))
	}
	return r.finish(r.unwatched(code))
}

// resultInRow is the result of a run that its row has already.
func (r *Run) resultInRow() state.Row {
	result := r.row.Row
	result.Snapshot = nil
	return result
}
