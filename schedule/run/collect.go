package run

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// lostAtOnce is how many lost runs are finished at the same time: their hooks may be slow.
const lostAtOnce = 16

// CollectLost finishes every run of the state folder that is lost (no process holds its file, and it has no end), and returns
// the records of these and of those that had ended already and wait to be put into the history. A run that waits for
// a deferred retry, or for its turn, is passed to retry, which reports whether it ended the run instead. It leaves runs alone that recent accepts. Errors
// about single runs go to problem.
func (c Caller) CollectLost(recent func(id string) bool, retry func(Deferred) (outcome.Record, bool), problem func(error)) []outcome.Record {
	ids, err := runfile.List(c.Dir)
	if err != nil {
		problem(err)
		return nil
	}
	var (
		mu      sync.Mutex
		records []outcome.Record
		wg      sync.WaitGroup
		slots   = make(chan struct{}, lostAtOnce)
	)
	add := func(record outcome.Record) {
		mu.Lock()
		defer mu.Unlock()
		records = append(records, record)
	}
	for _, id := range ids {
		if recent(id) {
			continue
		}
		r, state, err := c.take(id)
		switch {
		case errors.Is(err, runfile.ErrAlive), errors.Is(err, os.ErrNotExist):
		case errors.Is(err, runfile.ErrUnreadable):
			if to, moved := runfile.SetAside(c.Dir, id); !errors.Is(moved, os.ErrNotExist) { // not removed since
				problem(errors.Join(fmt.Errorf("%w; it is now %s", err, to), moved))
			}
		case err != nil:
			problem(err)
		case state.End != nil:
			add(r.conclude(state, nil))
		default:
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if !state.Waits() {
					if record, lost := r.concludeUnlessLost(&state); !lost {
						add(record)
						return
					}
				}
				if record, ended := retry(Deferred{r, state}); ended {
					add(record)
				}
			})
		}
	}
	wg.Wait()
	return records
}

// conclude finishes a run whose supervisor is gone: with the result that this wrote down, or else with what settle finds
// out. A run that has ended already stays as it is.
func (r *Run) conclude(state runfile.State, code *int) outcome.Record {
	switch {
	case state.End != nil:
		r.file.Close()
		return *state.End
	case state.Result != nil:
		return r.finish(state, *state.Result)
	case state.Queued(): // it has no exit code: nothing of it has started
		result := r.soFar(nil)
		result.Ended = clock.Now()
		if state.Stop != nil {
			stoppedBy(&result, *state.Stop)
		} else {
			stopped(&result, "finished by hand while it waited")
		}
		return r.finish(state, result)
	case state.Deferred():
		return r.finish(state, r.giveUp(state, code, fmt.Sprintf("finished by hand before attempt %d", state.Deferral.Attempt)))
	}
	return r.finish(state, r.settle(state, code))
}
