package tick

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule/clock"
	"sched/schedule/history"
	"sched/schedule/ledger"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/run"
	"sched/schedule/run/output"
	"sched/schedule/runfile"
	"sched/schedule/state"
)

// records collects what a tick has to put into the history. Safe for concurrent use, but for write.
type records struct {
	tick     *Tick
	spare    *spare
	ledger   *ledger.Account
	history  *history.DB    // in the database of the tick
	expected *overdue.Watch // nil where nothing is expected

	mu    sync.Mutex
	ended []run.Ended
	notes map[string][]string // by run, for records that are in the history or in ended
}

// done reports an outcome and keeps its record for the history. Dir is the folder that has the run's files.
func (r *records) done(record outcome.Record, dir string) {
	r.add(run.Ended{Record: record, Dir: dir})
	r.tick.Report.Done(record)
}

// add keeps a record for the history without reporting it.
func (r *records) add(e run.Ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, e)
}

// note keeps a note for the record of a run.
func (r *records) note(id, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = map[string][]string{}
	}
	r.notes[id] = append(r.notes[id], note)
}

// writeAfter is how long what has ended may wait for the foreground runs of this tick, to be written together with them.
const writeAfter = time.Second

// writeUnlessSoon writes what was collected, unless soon comes in time: a transaction costs two fsyncs, however much is in it.
func (r *records) writeUnlessSoon(soon <-chan struct{}) {
	timer := time.NewTimer(writeAfter)
	defer timer.Stop()
	select {
	case <-soon:
	case <-timer.C:
		r.write()
	}
}

// write moves the collected records into the history, and reports those that no tick has reported. Where that fails they stay
// collected, for the next write of this tick, and the files of the runs stay for a later tick.
func (r *records) write() {
	r.mu.Lock()
	ended, notes := r.ended, r.notes
	r.ended, r.notes = nil, nil
	r.mu.Unlock()
	for _, row := range r.ledger.Backfill() {
		ended = append(ended, run.Ended{Record: row})
	}
	mayPublish := r.tick.Storage.Store != nil && history.HasUnpublished(r.tick.Storage.Dir)
	if len(ended) == 0 && len(notes) == 0 && !mayPublish {
		r.ledger.Written()
		return
	}
	for _, e := range ended {
		r.expected.Ended(e.Record)
	}
	if err := r.expected.Keep(); err != nil {
		r.tick.Report.Problem("which tasks succeeded is not kept: %v", err)
	}
	err := r.tick.Storage.PutAway(r.history, ended)
	if err == nil {
		r.ledger.Written()
		err = errors.Join(r.history.Runs().Note(context.Background(), notes), r.tick.publish(r.history), r.prune(len(ended)))
	} else {
		r.ledger.NotWritten()
		r.collectAgain(ended, notes)
	}
	if err == nil {
		err = run.RemoveFiles(ended, func(e run.Ended) {
			if e.Unstated {
				r.tick.Report.Done(e.Record)
			}
		})
	}
	if err != nil && !r.spare.InUse() { // else that was reported already
		r.tick.Report.Problem("the history is not written: %v", err)
	}
}

// collectAgain takes back what could not be written. A skipped slot has no file of its own from which another tick could know it,
// and where the disk is full its journal may lack it, too.
func (r *records) collectAgain(ended []run.Ended, notes map[string][]string) {
	r.mu.Lock()
	r.ended = append(ended, r.ended...)
	r.mu.Unlock()
	for id, all := range notes {
		for _, note := range all {
			r.note(id, note)
		}
	}
}

// prune removes records that the history need not keep, with their outputs, when that is due: a pass a day in steps, each of twice
// as many records as this tick adds, so that the pass ends. It goes by the clock, whatever the minute of the tick: a tick of a minute
// to come would remove the whole history.
func (r *records) prune(added int) error {
	db := r.history
	ctx, keep, dir, now := context.Background(), r.tick.Schedule.History, r.tick.Storage.Dir, clock.Now()
	if due, err := db.PruneDue(ctx, now); err != nil || !due {
		return err
	}
	runfile.SweepDrafts(dir, now)
	r.tick.Storage.Queue().Sweep(now)
	stale := db.RemoveStaleLocks(ctx)
	r.tick.removeSpares(now)
	step := state.SmallStep
	step.Least = 2 * added
	did, err := db.Prune(ctx, now, state.Keep{For: keep.Keep, RunsPerTask: keep.RunsPerTask}, step)
	for _, removed := range did.Outputs {
		output.Remove(dir, outcome.Record{Task: removed.Task, Run: removed.Run, Output: removed.File})
	}
	err = errors.Join(err, stale)
	if did.Unpublished > 0 {
		r.tick.Report.Problem("%d runs were too old to keep before other servers could be told of them", did.Unpublished)
	}
	if err == nil && !did.More {
		err = errors.Join(checkPages(db), sweepOutputs(db, dir, now, keep.Keep))
	}
	return err
}

// checkFor bounds the daily look at all pages of the history: meanwhile no other tick can write into it.
const checkFor = 3 * time.Second

// checkPages finds damage in what ticks do not read, before people do.
func checkPages(db *history.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), checkFor)
	defer cancel()
	return db.CheckPages(ctx)
}

// sweepFor bounds the daily look for outputs of which the history knows nothing.
const sweepFor = 3 * time.Second

// sweepOutputs removes the outputs of which the history knows nothing, when they are older than it may be.
func sweepOutputs(db *history.DB, dir string, now time.Time, keep time.Duration) error {
	const least = 24 * time.Hour // no run that is about to begin has such an id
	if keep <= 0 {
		return nil
	}
	return output.Sweep(dir, now.Add(-max(keep, least)), sweepFor, func(runs []string) ([]string, error) {
		return db.Runs().Unknown(context.Background(), runs)
	})
}

// noteSuccesses notes which runs have ended so far, for what is expected of their tasks.
func (r *records) noteSuccesses() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.ended {
		r.expected.Ended(e.Record)
	}
}
