package tick

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/notify"
	"sched/schedule/output"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/schedule/tick/memory"
)

// records collects the rows of slots that have no run, for the history. Runs write their own rows.
// Safe for concurrent use.
type records struct {
	schedule *schedule.Schedule
	storage  holding.Storage
	report   Report
	fallback *memory.Fallback

	mu        sync.Mutex
	collected []state.Row         // rows of slots without a run, and of runs in memory
	notes     map[string][]string // by run, for rows that are in the history or collected
	reported  []reportedNote      // the notes that were reported as problems, too
	added     int                 // how many rows this tick has added to the history
}

// collect collects the row of a run in memory for the history: the folder may be writable again
// before this tick ends.
func (r *records) collect(row state.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collected = append(r.collected, row)
}

// addEnded counts or collects the row of a run that has ended, or of a slot without a run, and
// reports it. The next tick does not report a background run again.
func (r *records) addEnded(row state.Row) {
	r.countOrCollect(row)
	r.report.done(row)
	isBad := row.Background && row.Outcome.Failure()
	if isBad && r.report.Done != nil && !r.fallback.InUse() {
		_, _ = r.storage.DB.Runs().ClaimReport(context.Background(), row.ID) // after an error it is reported twice
	}
}

// countOrCollect counts the row of a run that has ended: the run has written the row itself. It
// collects the row of a slot without a run for the history.
func (r *records) countOrCollect(row state.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row.Ran() {
		r.added++
	} else {
		r.collected = append(r.collected, row)
	}
}

func (r *records) note(id string, notes ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = map[string][]string{}
	}
	r.notes[id] = append(r.notes[id], notes...)
}

// flush writes the collected rows into the history, so that a kill does not lose them. After an
// error they stay collected, for the next flush of this tick.
func (r *records) flush() error {
	r.mu.Lock()
	collected := r.collected
	r.collected = nil
	r.mu.Unlock()
	err := r.storage.DB.Runs().Record(context.Background(), collected, r.storage.Store != nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.collected = append(collected, r.collected...)
		return err
	}
	r.added += len(collected)
	return nil
}

// flushQuietly is flush before something that takes long. Once the folder could not be written,
// only writeAll tries again: a database that is locked would make each task wait.
func (r *records) flushQuietly() {
	if !r.fallback.InUse() {
		_ = r.flush() // writeAll tries again, and reports an error
	}
}

// writeAll writes everything that was collected into the history, publishes runs to other servers,
// and prunes. The ledger has added addedByLedger rows. After an error notes stay collected.
func (r *records) writeAll(addedByLedger int) {
	err := r.flush()
	r.mu.Lock()
	notes, added := r.notes, r.added+addedByLedger
	r.notes = nil
	r.mu.Unlock()
	if err == nil {
		err = r.storage.DB.Runs().Note(context.Background(), notes)
	}
	if err != nil {
		for id, notesOfRun := range notes {
			r.note(id, notesOfRun...)
		}
		r.reportUnlessInMemory("the history is not written: %v", err)
		return
	}
	if err := r.publish(); err != nil {
		r.reportUnlessInMemory("runs here are not shown to other servers yet: %v", err)
	}
	if err := r.prune(added); err != nil {
		r.reportUnlessInMemory("old runs are not removed: %v", err)
	}
}

// reportUnlessInMemory reports a problem with the database, unless the tick has taken one in memory
// in its place, which is reported then.
func (r *records) reportUnlessInMemory(format string, err error) {
	if !r.fallback.InUse() {
		r.report.Problem(format, err)
	}
}

// reportUndelivered reports that a delivery failed, and what becomes of it. It notes both in the
// row of the run.
func (r *records) reportUndelivered(failed *notify.Delivery, err error, what string) {
	r.report.Problem("%s: %s: %v; %s", failed.Message.Task, failed.Hook, err, what)
	note := failed.Hook + ": " + err.Error() + "; " + what
	r.note(failed.Run, note)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported = append(r.reported, reportedNote{failed.Run, note})
}

// A reportedNote is a note of a run that this tick has reported already.
type reportedNote struct{ run, note string }

// notReported returns the notes of a run that this tick has not reported as problems.
func (r *records) notReported(row state.Row) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(row.Notes), func(note string) bool {
		return slices.Contains(r.reported, reportedNote{row.ID, note})
	})
}

// publish copies the runs that ended here to the store: the other servers find them there. If the
// schedule has no store any more, the runs stop waiting. While the store fails they wait.
func (r *records) publish() error {
	if len(r.schedule.Store.Servers) == 0 {
		return r.storage.DB.Runs().Unshare(context.Background())
	}
	if r.storage.Store == nil {
		return nil
	}
	err := cluster.PublishAll(context.Background(), r.storage.Dir, r.storage.DB, r.storage.Store)
	if errors.As(err, new(*mutex.StoreError)) { // tasks that need a lock report it, and so does status
		r.report.detail("other servers are not told of the runs here: %v", err)
		return nil
	}
	return err
}

// prune removes rows that the history need not keep, with their outputs, when that is due. It makes
// a pass a day, in steps. A step has twice as many rows as this tick adds, so that the pass ends.
// prune goes by the clock and not by the minute of the tick: a tick of a minute to come would
// remove the whole history.
func (r *records) prune(added int) error {
	ctx, now := context.Background(), clock.Now()
	db, dir, history := r.storage.DB, r.storage.Dir, r.schedule.History
	if due, err := db.PruneDue(ctx, now); err != nil || !due {
		return err
	}
	staleErr := db.Owners().RemoveStale(ctx)
	step := state.SmallStep
	step.MinRows = 2 * added
	bounds := state.Keep{For: history.Keep, RunsPerTask: history.RunsPerTask, Failures: history.KeepFailures}
	pruned, err := db.Prune(ctx, now, bounds, step)
	for _, removed := range pruned.Removed {
		output.Remove(dir, removed)
	}
	err = errors.Join(err, staleErr)
	if n := pruned.Unpublished; n > 0 {
		r.report.Problem("%d runs were too old to keep before other servers could be told of them", n)
	}
	if err == nil && !pruned.More {
		err = errors.Join(checkPages(db), sweepOutputs(db, dir, now, history.Keep))
	}
	return err
}

// maxUpkeep bounds how long checkPages and sweepOutputs each take once a day. While checkPages goes
// on, no other tick can write into the database.
const maxUpkeep = 3 * time.Second

// checkPages finds damage in pages that ticks do not read, before people need them.
func checkPages(db *state.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxUpkeep)
	defer cancel()
	return db.CheckPages(ctx)
}

// sweepOutputs removes outputs of runs that the history does not have. It removes only outputs that
// are older than the oldest run of the history may be.
func sweepOutputs(db *state.DB, dir string, now time.Time, keep time.Duration) error {
	const minAge = 24 * time.Hour // no run that is about to begin has such an id
	if keep <= 0 {
		return nil
	}
	return output.Sweep(dir, now.Add(-max(keep, minAge)), maxUpkeep, func(runs []string) ([]string, error) {
		return db.Runs().Unknown(context.Background(), runs)
	})
}
