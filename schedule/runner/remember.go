package runner

import (
	"context"
	"errors"
	"os"

	"sched/schedule/history"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

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

// finishLost finishes the runs that nobody watches any more, and collects the finished ones. Nobody
// has told yet of those that were lost, and of the background runs that failed. It also goes on with
// the runs whose next attempt was put off until now.
func (t *Tick) finishLost(ctx context.Context) {
	for _, state := range t.State.folders() {
		resume := func(r *Run, log runfile.State) (outcome.Record, bool) { return t.resume(ctx, state, r, log) }
		for _, record := range finishLost(state, t.Environ, t.postman, resume, func(err error) { t.Problem("%v", err) }) {
			tell := record.Background && record.Outcome.Failure() || record.Outcome == outcome.Lost
			t.keep(finished{record, state.Dir, tell})
		}
		t.deliverOld(outbox.In(state.Dir))
	}
}

// remember moves what is finished into the history, and tells of what nobody has told of. Where that
// fails the files of the runs stay, and a later tick tries again.
func (t *Tick) remember() {
	t.mu.Lock()
	records, debt, notes := t.records, t.debt, t.notes
	t.records, t.debt, t.notes = nil, nil, nil
	t.mu.Unlock()
	if debt != nil {
		for _, row := range debt.rows {
			records = append(records, finished{Record: row})
		}
	}
	if len(records) == 0 && len(notes) == 0 && !t.waiting() {
		t.settle(debt)
		return
	}
	written := false
	err := putAway(t.State, records, func(db *history.DB) error {
		written = true
		t.sayAside(db)
		return errors.Join(db.Note(context.Background(), notes), t.publish(db), t.prune(db, len(records)))
	})
	if written {
		t.settle(debt)
	} else {
		t.unwritten = true
	}
	if err == nil {
		err = clean(records, func(f finished) {
			if f.tell {
				t.Done(f.Record)
			}
		})
	}
	if err != nil && t.spare == nil { // else it was said already
		t.Problem("the history is not written: %v", err)
	}
}

// sayAside says that a damaged history was met.
func (t *Tick) sayAside(db *history.DB) {
	if path := db.SetAside(); path != "" {
		t.Problem("the history was damaged; it is now %s, and a new one was begun", path)
	}
}

func (t *Tick) keep(f finished) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, f)
}

// begun reports that a foreground run begins.
func (t *Tick) begun(r *Run) {
	if t.Begun != nil {
		t.Begun(r.record())
	}
}

// done reports an outcome and keeps its record for the history.
func (t *Tick) done(record outcome.Record, state string) {
	t.keep(finished{record, state, false})
	t.Done(record)
}
