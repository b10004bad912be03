package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

// finished is the record of a run, the state folder that has its file, and whether people have yet
// to be told of it.
type finished struct {
	outcome.Record
	state string
	tell  bool
}

// putAway moves finished runs into the history of the state folder, and does what else the
// database is open for. What is recorded twice is there once, so two ticks, or a tick and a person
// who looks at the history, may do it at the same time.
func putAway(state State, records []finished, also func(*history.DB) error) error {
	if err := os.MkdirAll(state.Dir, 0o700); err != nil {
		return err
	}
	db, err := history.Open(state.Dir)
	if err != nil {
		return err
	}
	defer db.Close()
	rows := make([]outcome.Record, len(records))
	for i, f := range records {
		rows[i] = f.Record
	}
	add := db.Add
	if state.Remote != nil {
		add = db.AddShared
	}
	if err := add(context.Background(), rows); err != nil {
		return err
	}
	return also(db)
}

// clean removes the files of runs that are in the history, and calls removed for each run whose file
// was removed by this call and no other process.
func clean(records []finished, removed func(finished)) (err error) {
	for _, f := range records {
		if f.state == "" {
			continue // it has no files
		}
		output := runfile.OutputPath(f.state, f.Record)
		if f.Output == "" {
			recycleOutput(output)
		}
		if info, err := os.Stat(HooksPath(output)); err == nil && info.Size() == 0 {
			os.Remove(HooksPath(output))
		}
		switch rerr := runfile.Recycle(f.state, f.Run, f.Task); {
		case rerr == nil:
			removed(f)
		case !errors.Is(rerr, os.ErrNotExist):
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// Finished puts the finished runs of the state folder into the history, for those who want to read
// it; lost runs are left to the next tick. It returns the runs that live, also those that wait for their
// next attempt (Log.Waiting), and those that are lost.
func Finished(state string) (live []runfile.State, lost []runfile.State, err error) {
	live, lost, ended, err := survey(state)
	if err != nil || len(ended) == 0 {
		return live, lost, err
	}
	var done []finished
	for _, record := range ended {
		done = append(done, finished{record, state, false})
	}
	err = putAway(State{Dir: state}, done, func(*history.DB) error { return nil })
	if err != nil {
		return live, lost, err
	}
	// A background run that failed keeps its file: the next tick has yet to tell of it.
	told := slices.DeleteFunc(done, func(f finished) bool { return f.Background && f.Outcome.Failure() })
	return live, lost, clean(told, func(finished) {})
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

// prune removes what the history need not keep, with its output: a little at a time, once a day, but
// twice as much as was added, so that the pass ends.
func (t *Tick) prune(db *history.DB, added int) error {
	ctx, keep := context.Background(), t.Schedule.History
	if !db.PruneDue(ctx, t.Minute) {
		return nil
	}
	runfile.SweepDrafts(t.State.Dir, t.Minute)
	outbox.In(t.State.Dir).Sweep(t.Minute)
	did, err := db.Prune(ctx, t.Minute, keep.Keep, keep.RunsPerTask, 2*added)
	for _, output := range did.Outputs {
		os.Remove(output)
		os.Remove(HooksPath(output))
	}
	if did.Unpublished > 0 {
		t.Problem("%d runs were too old to keep before other servers could be told of them", did.Unpublished)
	}
	return err
}
