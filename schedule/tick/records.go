package tick

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule/clock"
	"sched/schedule/run"
	"sched/schedule/run/output"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// records collects the slots that have no run, for the history. Runs write down themselves what
// became of them. Safe for concurrent use.
type records struct {
	tick     *Tick
	fallback *fallback
	db       *state.DB // of the tick

	mu        sync.Mutex
	collected []state.Row         // slots without a run, and runs in memory
	notes     map[string][]string // by run, for records that are in the history or collected
	runs      int                 // that have ended in this tick
}

// keep collects what became of a run in memory, for the case that the folder can be written again
// before this tick ends.
func (r *records) keep(row state.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collected = append(r.collected, row)
}

// done reports what became of a run, or of a slot without one, which it keeps for the history.
func (r *records) done(row state.Row) {
	r.add(row)
	r.tick.Report.Done(row)
}

// add is done without the report.
func (r *records) add(row state.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row.Ran() {
		r.runs++
	} else {
		r.collected = append(r.collected, row)
	}
}

// note keeps a note for the row of a run.
func (r *records) note(id, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = map[string][]string{}
	}
	r.notes[id] = append(r.notes[id], note)
}

// flush puts the collected slots into the history: a kill from here on leaves them as they are. If
// that fails they stay collected, for the next write of this tick.
func (r *records) flush() (flushed int, err error) {
	r.mu.Lock()
	collected := r.collected
	r.collected = nil
	r.mu.Unlock()
	if err := r.db.Runs().Record(context.Background(), collected, r.tick.Storage.Store != nil); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.collected = append(collected, r.collected...)
		return 0, err
	}
	return len(collected), nil
}

// flushNow is flush before something that takes long. If the folder cannot be written, only the end
// of the tick tries: a database that is locked would make each task wait.
func (r *records) flushNow() {
	if !r.fallback.inUse() {
		r.flush() //nolint: see above
	}
}

// write puts everything that was collected into the history, tells other servers, and prunes.
// Recorded is how many rows the ledger has added.
func (r *records) write(recorded int) {
	flushed, err := r.flush()
	r.mu.Lock()
	notes, added := r.notes, r.runs+flushed+recorded
	r.notes, r.runs = nil, 0
	r.mu.Unlock()
	if err == nil {
		err = errors.Join(r.db.Runs().Note(context.Background(), notes), r.publish(), r.prune(added))
	} else {
		r.collectAgain(notes)
	}
	if err != nil && !r.fallback.inUse() { // else that was reported already
		r.tick.Report.Problem("the history is not written: %v", err)
	}
}

// collectAgain takes back the notes that could not be written.
func (r *records) collectAgain(notes map[string][]string) {
	for id, all := range notes {
		for _, note := range all {
			r.note(id, note)
		}
	}
}

// prune removes records that the history need not keep, with their outputs, when that is due: a
// pass a day in steps, each of twice as many records as this tick adds, so that the pass ends. It
// goes by the clock, whatever the minute of the tick: a tick of a minute to come would remove the
// whole history.
func (r *records) prune(added int) error {
	db := r.db
	ctx, keep, dir, now := context.Background(), r.tick.Schedule.History, r.tick.Storage.Dir, clock.Now()
	if due, err := db.PruneDue(ctx, now); err != nil || !due {
		return err
	}
	stale := db.Owners().RemoveStale(ctx)
	step := state.SmallStep
	step.Least = 2 * added
	did, err := db.Prune(ctx, now, state.Keep{For: keep.Keep, RunsPerTask: keep.RunsPerTask, Failures: keep.KeepFailures}, step)
	for _, removed := range did.Removed {
		output.Remove(dir, removed)
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

// checkFor bounds the daily look at all pages of the history: meanwhile no other tick can write
// into it.
const checkFor = 3 * time.Second

// checkPages finds damage in what ticks do not read, before people do.
func checkPages(db *state.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), checkFor)
	defer cancel()
	return db.CheckPages(ctx)
}

// sweepFor bounds the daily look for outputs of which the history knows nothing.
const sweepFor = 3 * time.Second

// sweepOutputs removes the outputs of which the history knows nothing, when they are older than it
// may be.
func sweepOutputs(db *state.DB, dir string, now time.Time, keep time.Duration) error {
	const least = 24 * time.Hour // no run that is about to begin has such an id
	if keep <= 0 {
		return nil
	}
	return output.Sweep(dir, now.Add(-max(keep, least)), sweepFor, func(runs []string) ([]string, error) {
		return db.Runs().Unknown(context.Background(), runs)
	})
}

// A fallback is the storage that a tick uses when its own storage cannot be written, or belongs to
// a newer sched: a database that ends with the tick, and the locks of the kernel as far as their
// files can be opened. Safe for concurrent use.
type fallback struct {
	storage run.Storage
	problem func(format string, a ...any)

	mu   sync.Mutex
	used *run.Storage // nil until it is needed
}

// storageFor returns the storage in memory if err means that the storage of the tick cannot be
// written. The first time it reports that.
func (m *fallback) storageFor(err error) (run.Storage, bool) {
	var newer *state.NewerError
	if err == nil || !state.Unwritable(err) && !statedir.Unwritable(err) && !errors.As(err, &newer) {
		return run.Storage{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		db, merr := state.OpenMemory()
		if merr != nil {
			return run.Storage{}, false
		}
		m.storage.DB.ShortenWaits()
		m.used = &run.Storage{Dir: m.storage.Dir, DB: db, Store: m.storage.Store}
		m.problem("the state folder cannot be written: %v; what is due runs, and nothing of it is recorded", err)
	}
	return *m.used, true
}

// inUse reports whether the storage in memory was needed.
func (m *fallback) inUse() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used != nil
}
