package records

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/state"
)

// Records are the records of a state folder and of its spare ones at one moment. Close them after use.
type Records struct {
	Live []runfile.State // runs that live, or wait for a deferred retry, oldest first
	Lost []runfile.State // runs without a process, which the next tick will finish, oldest first
	Err  error           // why the history could not be opened: then there is nothing but Live and Lost

	db      *history.DB
	waiting []outcome.Record // records that are not in the history yet
}

// Open reads the files of the runs and opens the history, in this order: what is moved meanwhile is in one of them or in both. A
// history that does not exist is an empty one. Unread is why the file of a run could not be read; the records are good without it.
// With an error, which is their Err, too, the records have Live and Lost only, and need not be closed. Files may be nil.
func Open(ctx context.Context, dir string, files *runfile.Surveyor) (r *Records, unread error, err error) {
	r = &Records{}
	var ended []outcome.Record
	r.Live, r.Lost, ended, unread = Survey(dir, files)
	if r.db, r.Err = history.OpenRead(dir); r.Err != nil {
		return r, unread, r.Err
	}
	if r.waiting, r.Err = without(ctx, r.db, ended); r.Err != nil {
		r.Err = errors.Join(r.Err, r.db.Close())
	}
	return r, unread, r.Err
}

// Survey is that of the Surveyor, of a state folder and its spare ones.
func Survey(dir string, files *runfile.Surveyor) (live, lost []runfile.State, ended []outcome.Record, err error) {
	for _, storage := range (run.Storage{Dir: dir}).Folders() {
		inLive, inLost, inEnded, rerr := files.Survey(storage.Dir)
		live, lost, ended = append(live, inLive...), append(lost, inLost...), append(ended, inEnded...)
		err = errors.Join(err, rerr)
	}
	for _, states := range [][]runfile.State{live, lost} {
		slices.SortStableFunc(states, func(a, b runfile.State) int { return strings.Compare(a.Begin.Run, b.Begin.Run) })
	}
	return live, lost, ended, err
}

// without returns those of the records that the history does not have.
func without(ctx context.Context, db *history.DB, records []outcome.Record) ([]outcome.Record, error) {
	runs := make([]string, len(records))
	for i, record := range records {
		runs[i] = record.Run
	}
	unknown, err := db.Runs().Unknown(ctx, runs)
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, run := range unknown {
		missing[run] = true
	}
	return slices.DeleteFunc(records, func(r outcome.Record) bool { return !missing[r.Run] }), nil
}

// Waiting returns the runs of a state folder that wait for a tick and have no file yet, and the slots
// that wait. What has waited longest comes first.
func Waiting(dir string) ([]state.Row, error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Runs().Waiting(context.Background())
	return slices.DeleteFunc(rows, func(r state.Row) bool { return runfile.Exists(dir, r.ID) }), err
}

// Requests returns those of the waiting runs that somebody, or a hook, asked for.
func Requests(dir string) ([]state.Row, error) {
	rows, err := Waiting(dir)
	return slices.DeleteFunc(rows, func(r state.Row) bool { return r.Scheduled }), err
}

// Close closes the history.
func (r *Records) Close() error {
	if r.Err != nil { // it is not open
		return nil
	}
	return r.db.Close()
}

// Find returns the records that q asks for, the newest slot first, and the newest run of a slot first.
func (r *Records) Find(ctx context.Context, q state.Query) ([]outcome.Record, error) {
	found, err := r.db.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	waits := make(map[string]bool, len(r.waiting))
	for _, record := range r.waiting {
		waits[record.Run] = history.Matches(q, record)
	}
	for _, record := range found {
		delete(waits, record.Run) // it was moved into the history since that was opened
	}
	for _, record := range r.waiting {
		if waits[record.Run] {
			found = append(found, record)
		}
	}
	slices.SortStableFunc(found, outcome.NewestFirst)
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, nil
}

// Get is history.DB.Get, also for records that still wait.
func (r *Records) Get(ctx context.Context, id string) (outcome.Record, error) {
	known := map[string]outcome.Record{}
	for _, record := range r.waiting {
		known[record.Run] = record
	}
	if record, ok := known[id]; ok {
		return record, nil
	}
	record, err := r.db.Get(ctx, id)
	switch {
	case err == nil && record.Run != id:
		known[record.Run] = record
	case err == nil, !errors.Is(err, state.ErrNotFound):
		return record, err
	}
	run, several := history.OneRun(slices.Sorted(maps.Keys(known)), id)
	if run != "" {
		return known[run], nil
	}
	return outcome.Record{}, cmp.Or(several, err)
}

// Last returns, for each of the tasks that has one, its newest record that tells how its command went: neither skipped nor missed.
func (r *Records) Last(ctx context.Context, tasks []string) (map[string]outcome.Record, error) {
	last, err := r.db.Last(ctx, tasks)
	if err != nil {
		return nil, err
	}
	for _, record := range r.waiting {
		if slices.Contains(outcome.Ran, record.Outcome) && slices.Contains(tasks, record.Task) && record.Run > last[record.Task].Run {
			last[record.Task] = record
		}
	}
	return last, nil
}

// Usual is history.DB.Usual: of the records that are in the history.
func (r *Records) Usual(ctx context.Context, tasks []string) (map[string]state.Usual, error) {
	return r.db.Usual(ctx, tasks)
}

// Took is history.DB.Took: of the records that are in the history.
func (r *Records) Took(ctx context.Context) (map[string]state.Took, error) { return r.db.Took(ctx) }

// Summaries is history.DB.Summaries.
func (r *Records) Summaries(ctx context.Context, task string, since, until time.Time) ([]state.Summary, error) {
	waiting, err := without(ctx, r.db, slices.Clone(r.waiting)) // others were moved into the history since that was opened
	if err != nil {
		return nil, err
	}
	return r.db.Summaries(ctx, task, since, until, waiting...)
}

// Around is history.DB.Around.
func (r *Records) Around(ctx context.Context, task string, at time.Time, limit int) (state.Around, error) {
	a, err := r.db.Around(ctx, task, at, limit)
	earliest := func(t *time.Time, slot time.Time) {
		if t.IsZero() || slot.Before(*t) {
			*t = slot
		}
	}
	for _, record := range r.waiting {
		earliest(&a.First, record.Slot)
		if record.Slot.Before(at) {
			if record.Slot.After(a.Before) {
				a.Before = record.Slot
			}
		} else {
			earliest(&a.After, record.Slot)
		}
		if record.Task == task {
			earliest(&a.TaskFirst, record.Slot)
			if !record.Slot.Before(at) {
				a.TaskSince = min(a.TaskSince+1, limit)
			}
		}
	}
	return a, err
}
