package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"sched/schedule/history"

	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/outbox"
)

// lostAtOnce is how many lost runs are finished at the same time: their hooks may be slow.
const lostAtOnce = 16

// finishLost finishes every run of the state folder that nobody watches, and returns the records
// of these and of those that were finished already and wait to be put into the history. A run that
// waits for its next attempt is left to resume, which says whether it has ended.
func finishLost(state State, env []string, post *outbox.Sender, resume func(*Run, runfile.State) (outcome.Record, bool), problem func(error)) []outcome.Record {
	ids, err := runfile.List(state.Dir)
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
		r, log, err := take(state, id, env)
		if err == nil {
			r.postman = post
		}
		switch {
		case errors.Is(err, runfile.ErrAlive), errors.Is(err, os.ErrNotExist):
		case errors.Is(err, runfile.ErrUnreadable):
			if to, moved := runfile.SetAside(state.Dir, id); !errors.Is(moved, os.ErrNotExist) { // not recycled since
				problem(errors.Join(fmt.Errorf("%w; it is now %s", err, to), moved))
			}
		case err != nil:
			problem(err)
		case log.End != nil:
			add(r.conclude(log, nil))
		default:
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if !log.Deferred() {
					add(r.conclude(log, nil))
				} else if record, over := resume(r, log); over {
					add(record)
				}
			})
		}
	}
	wg.Wait()
	return records
}

// survey looks at the runs that have a file, oldest first: those that live or wait for their next attempt, those
// that nobody watches though they have no end, and the records of those that have ended.
func survey(state string) (live, lost []runfile.State, ended []outcome.Record, err error) {
	ids, err := runfile.List(state)
	for _, id := range ids {
		log, watched, lerr := runfile.Read(state, id)
		switch {
		case errors.Is(lerr, os.ErrNotExist):
		case errors.Is(lerr, runfile.ErrUnreadable): // the next tick says so
		case lerr != nil:
			err = lerr
		case log.End != nil:
			ended = append(ended, *log.End)
		case watched, log.Deferred():
			live = append(live, log)
		default:
			lost = append(lost, log)
		}
	}
	return live, lost, ended, err
}

// Previous returns the record of the task's newest run before the given one that was neither
// skipped nor missed.
func Previous(state, task, run string) (last outcome.Record, ok bool) {
	ids, _ := runfile.List(state)
	for _, id := range ids {
		if id >= run {
			break
		}
		if log, _, err := runfile.Read(state, id); err == nil && log.End != nil && log.End.Task == task {
			last, ok = *log.End, true
		}
	}
	if ok {
		return last, true
	}
	db, err := history.OpenRead(state)
	if err != nil {
		return outcome.Record{}, false
	}
	defer db.Close()
	last, ok, err = db.Previous(context.Background(), task, run)
	return last, ok && err == nil
}
