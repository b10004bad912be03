// Package history keeps what became of every slot: the ended rows of sched.db (package state), as
// records. Only ticks add records; other commands read them. Open slots are in package ledger.
package history

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A DB is sched.db in a state folder. Several goroutines may call it and, through a DB each, any
// number of processes.
type DB struct {
	*state.DB
	state.Past
	output string // the folder of the outputs, absolute
}

// Open opens the database to write, and makes it and its folder if they are missing: see
// state.Open.
func Open(dir string) (*DB, error) {
	return opened(dir, state.Open)
}

// OpenRead opens the database to read: see state.OpenRead.
func OpenRead(dir string) (*DB, error) {
	return opened(dir, state.OpenRead)
}

func opened(dir string, open func(string, time.Duration) (*state.DB, error)) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	db, err := open(dir, state.Patience)
	if err != nil {
		return nil, err
	}
	return In(db, dir), nil
}

// In returns the history in a database of the state folder, whose path is absolute.
func In(db *state.DB, dir string) *DB { return &DB{db, db.Past(), filepath.Join(dir, "output")} }

// Add adds all records or none: see state.Runs.Record. Times are kept to the microsecond.
func (db *DB) Add(ctx context.Context, records []outcome.Record) error {
	return db.Runs().Record(ctx, db.rows(records), false)
}

// AddShared is Add for a history whose runs are published to other servers.
func (db *DB) AddShared(ctx context.Context, records []outcome.Record) error {
	return db.Runs().Record(ctx, db.rows(records), true)
}

// Find returns the records that q says, the newest slot first, and the newest run of a slot first.
func (db *DB) Find(ctx context.Context, q state.Query) ([]outcome.Record, error) {
	q.Ended = true
	rows, err := db.Runs().Find(ctx, q)
	return db.records(rows), err
}

// Get is state.Runs.Get for a run that has ended.
func (db *DB) Get(ctx context.Context, id string) (outcome.Record, error) {
	row, err := db.Runs().Get(ctx, id)
	if err == nil && row.Phase != state.Ended {
		err = fmt.Errorf("%w: %q", state.ErrNotFound, id)
	}
	return db.record(row), err
}

// Last returns, without snapshots, each task's newest record that is neither skipped nor missed.
func (db *DB) Last(ctx context.Context, tasks []string) (map[string]outcome.Record, error) {
	rows, err := db.Runs().Last(ctx, tasks)
	last := make(map[string]outcome.Record, len(rows))
	for task, row := range rows {
		last[task] = db.record(row)
	}
	return last, err
}

// Previous returns the newest run of the task that is older than run, or false if there is no such
// run. The run itself may be unrecorded.
func (db *DB) Previous(ctx context.Context, task, run string) (outcome.Record, bool, error) {
	row, ok, err := db.Runs().Previous(ctx, task, run)
	return db.record(row), ok, err
}

// Newest is state.Past.Newest: records come with few of their fields.
func (db *DB) Newest(ctx context.Context, spans []state.Span, until time.Time, n int) (map[string][]outcome.Record, error) {
	rows, err := db.Past.Newest(ctx, spans, until, n)
	return db.recordsOfTasks(rows), err
}

// Ranges is state.Past.Ranges: records come with few of their fields.
func (db *DB) Ranges(ctx context.Context, spans []state.Span, until time.Time) (map[string][]outcome.Record, error) {
	rows, err := db.Past.Ranges(ctx, spans, until)
	return db.recordsOfTasks(rows), err
}

// Added is state.Runs.Added.
func (db *DB) Added(ctx context.Context, mark int64, limit int) ([]outcome.Record, int64, error) {
	rows, next, err := db.Runs().Added(ctx, mark, limit)
	return db.records(rows), next, err
}

// Unpublished is state.Runs.Unpublished.
func (db *DB) Unpublished(ctx context.Context, limit int) ([]outcome.Record, error) {
	rows, err := db.Runs().Unpublished(ctx, limit)
	return db.records(rows), err
}

// Prune is state.DB.Prune, but the files are whole paths.
func (db *DB) Prune(ctx context.Context, now time.Time, keep state.Keep, budget state.Budget) (state.Pruned, error) {
	did, err := db.DB.Prune(ctx, now, keep, budget)
	for i, o := range did.Outputs {
		if o.File != "" {
			did.Outputs[i].File = filepath.Join(db.output, o.File)
		}
	}
	return did, err
}

// Matches reports whether q describes a record, whatever its Limit.
func Matches(q state.Query, r outcome.Record) bool { return q.Matches(RowOf("", r)) }

// aheadBy is how far ahead of the clock a run may have begun. If a run began later than that, the
// clock is taken to have been wrong then.
const aheadBy = time.Minute

// NewestBefore returns last, unless last began by a clock that was ahead of now. Then it returns
// the run that began last by the clock of now, among the newest hundred that find returns. If it
// finds no such run, it returns last.
func NewestBefore(last outcome.Record, now time.Time, find func(state.Query) ([]outcome.Record, error)) outcome.Record {
	if !last.Started.After(now.Add(aheadBy)) {
		return last
	}
	past, err := find(state.Query{Task: last.Task, Outcomes: outcome.Ran, Until: now, Limit: 100})
	if err != nil {
		return last
	}
	var newest outcome.Record
	for _, r := range past {
		if !r.Started.After(now) && r.Started.After(newest.Started) {
			newest = r
		}
	}
	if newest.Run == "" {
		return last
	}
	return newest
}

func (db *DB) rows(records []outcome.Record) []state.Row {
	rows := make([]state.Row, len(records))
	for i, r := range records {
		rows[i] = db.row(r)
	}
	return rows
}

// row is RowOf for a record with an outcome.
func (db *DB) row(r outcome.Record) state.Row {
	row := RowOf(filepath.Dir(db.output), r)
	row.Phase = state.Ended
	return row
}

// RowOf returns the row of a record in a state folder. Its output is relative to the folder
// output/, so that the state folder can be moved.
func RowOf(dir string, r outcome.Record) state.Row {
	row := state.Row{
		ID: r.Run, Task: r.Task, Mutex: r.Mutex, Slot: r.Slot, LastSlot: r.Until, Slots: max(r.Slots, 1),
		Scheduled: r.Origin == "", Origin: r.Origin, Cause: r.Cause, Background: r.Background, Server: r.Server,
		Snapshot: r.Snapshot, Wait: state.Wait{Waited: r.Waited}, Attempt: state.Attempt{Number: r.Attempts},
		Locked: r.Locked, Seat: r.Seat, Started: r.Started, Notes: r.Notes, Triggered: r.Triggered, NoChain: r.NoChain, Result: ResultOf(dir, r),
	}
	if r.Queued() {
		row.Wait = state.Wait{For: state.ForMutex, Since: r.Wait.Since, Until: r.Wait.Until}
	}
	return row
}

// ResultOf returns the result of a run, for its row in a state folder.
func ResultOf(dir string, r outcome.Record) state.Result {
	result := state.Result{
		Outcome: r.Outcome, Reason: r.Reason, Ended: r.Ended, ExitCode: r.ExitCode, UserCPU: r.UserCPU, SystemCPU: r.SystemCPU,
		PeakMemory: r.PeakMemory, Output: r.Output,
	}
	if inside, ok := strings.CutPrefix(r.Output, filepath.Join(dir, "output")+string(filepath.Separator)); ok {
		result.Output = inside
	}
	return result
}

func (db *DB) records(rows []state.Row) []outcome.Record {
	var records []outcome.Record
	for _, row := range rows {
		records = append(records, db.record(row))
	}
	return records
}

func (db *DB) recordsOfTasks(rows map[string][]state.Row) map[string][]outcome.Record {
	records := make(map[string][]outcome.Record, len(rows))
	for task, some := range rows {
		records[task] = db.records(some)
	}
	return records
}

func (db *DB) record(row state.Row) outcome.Record { return RecordOf(filepath.Dir(db.output), row) }

// RecordOf returns the record of a row in a state folder. The record of a run that goes on has no
// outcome.
func RecordOf(dir string, row state.Row) outcome.Record {
	r := outcome.Record{
		Run: row.ID, Task: row.Task, Mutex: row.Mutex, Slot: row.Slot, Until: row.LastSlot, Origin: row.Origin, Cause: row.Cause,
		Background: row.Background, Server: row.Server, Started: row.Started, Ended: row.Ended, Outcome: row.Outcome,
		Reason: row.Reason, ExitCode: row.ExitCode, Attempts: row.Attempt.Number, UserCPU: row.UserCPU, SystemCPU: row.SystemCPU,
		PeakMemory: row.PeakMemory, Output: row.Output, Notes: row.Notes, Triggered: row.Triggered, NoChain: row.NoChain, Waited: row.Wait.Waited,
		Locked: row.Locked, Seat: row.Seat, Snapshot: row.Snapshot,
	}
	if r.IsRange() {
		r.Slots = row.Slots
	}
	if row.Queued() {
		r.Wait = outcome.Wait{Since: row.Wait.Since, Until: row.Wait.Until}
	}
	if r.Output != "" && !filepath.IsAbs(r.Output) {
		r.Output = filepath.Join(dir, "output", r.Output)
	}
	return r
}

// LiveRecord is RecordOf for a run that has not ended. The record has no outcome, even if only the
// hooks of the run are left to do.
func LiveRecord(dir string, row state.Row) outcome.Record {
	r := RecordOf(dir, row)
	r.Outcome, r.Reason, r.Ended = "", "", time.Time{}
	return r
}

// OneRun returns the id that name stands for, by the rules of Get; empty if no id fits.
func OneRun(ids []string, name string) (string, error) {
	var found []string
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) >= 4 && (strings.HasPrefix(id, name) || strings.HasSuffix(id, name)):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		slices.Reverse(found)
		return "", state.Ambiguous(name, found)
	}
	return found[0], nil
}
