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
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// records collects the slots that have no run, for the history. Runs write down themselves what
// became of them. Safe for concurrent use, but for write.
type records struct {
	tick     *Tick
	memory   *memory
	ledger   *ledger.Account
	history  *history.DB    // in the database of the tick
	expected *overdue.Watch // nil where nothing is expected

	mu      sync.Mutex
	skipped []outcome.Record
	notes   map[string][]string // by run, for records that are in the history or in skipped
	runs    int                 // that have ended in this tick
}

// done reports what became of a run, or of a slot without one, which it keeps for the history.
func (r *records) done(record outcome.Record) {
	r.add(record)
	r.tick.Report.Done(record)
}

// add is done without the report.
func (r *records) add(record outcome.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record.Ran() {
		r.runs++
		r.expected.Ended(record)
	} else {
		r.skipped = append(r.skipped, record)
	}
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

// write puts the collected records into the history. Where that fails they stay collected, for the
// next write of this tick.
func (r *records) write() {
	r.mu.Lock()
	skipped, notes, runs := r.skipped, r.notes, r.runs
	r.skipped, r.notes, r.runs = nil, nil, 0
	r.mu.Unlock()
	skipped = append(skipped, r.ledger.Backfill()...)
	mayPublish := r.tick.Storage.Store != nil && !state.NothingWaits(r.tick.Storage.Dir)
	if err := r.expected.Keep(); err != nil {
		r.tick.Report.Problem("which tasks succeeded is not kept: %v", err)
	}
	if len(skipped)+runs == 0 && len(notes) == 0 && !mayPublish {
		r.ledger.Written()
		return
	}
	add := r.history.Add
	if r.tick.Storage.Store != nil {
		add = r.history.AddShared
	}
	err := add(context.Background(), skipped)
	if err == nil {
		r.ledger.Written()
		err = errors.Join(r.history.Runs().Note(context.Background(), notes), r.tick.publish(r.history), r.prune(len(skipped)+runs))
	} else {
		r.ledger.NotWritten()
		r.collectAgain(skipped, notes)
	}
	if err != nil && !r.memory.inUse() { // else that was reported already
		r.tick.Report.Problem("the history is not written: %v", err)
	}
}

// collectAgain takes back what could not be written.
func (r *records) collectAgain(skipped []outcome.Record, notes map[string][]string) {
	r.mu.Lock()
	r.skipped = append(skipped, r.skipped...)
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
	r.tick.Storage.Queue().Sweep(now)
	stale := db.Owners().RemoveStale(ctx)
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
