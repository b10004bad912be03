package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// A Caller is what a process gives to the runs that it begins or finishes.
type Caller struct {
	Storage
	Self    *state.Self    // this process in the database of the storage, as the owner of runs
	Environ []string       // the environment of this process, which commands and hooks inherit
	Sender  *notify.Sender // of messages; nil in a process that fires no hooks
	Leases  *Leases        // of the process; nil: each run keeps only its own
	queues  *queueView     // what runs that wait in the process have seen; nil: each looks itself
	// Terminate is done when this process was asked to end; nil: never. It ends what a run waits
	// for and could do without.
	Terminate context.Context
}

// NewCaller returns the Caller of a process that owns rows of the storage as that kind.
func NewCaller(storage Storage, kind state.OwnerKind, environ []string) Caller {
	return Caller{Storage: storage, Self: storage.DB.Self(kind), Environ: environ}
}

// A Run is one execution of a task for a slot, in any of the processes that have a part in it.
type Run struct {
	Caller
	task    schedule.Task // the snapshot
	row     ownRow
	lock    mutex.Lock // nil if the task needs none
	adopted bool       // another process took the lock
	output  *os.File   // what the command prints; nil in a process that only finishes the run

	hooks *hooks

	left  *leftover     // in a process that goes on after a killed supervisor, else nil
	apart bool          // it is finished in a process that may finish others, too (FinishInherited)
	kept  keptProcesses // of this process

	prepared  bool // its row is yet to be written
	unwritten bool // the attempt was started although that could not be written down
	unsettled bool // the result could not be written down before the hooks
}

// Begin is Prepare, and writes down that the run is about to start. From here on it will be
// finished, whatever happens to this process.
func (c Caller) Begin(row state.Row, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	r, err := c.Prepare(row, task, lock)
	if err == nil {
		err = r.Begin()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Prepare opens the output of a run that is to begin: see Begin and GiveTo. The lock (nil: none)
// belongs to the run; after an error it is still the caller's.
func (c Caller) Prepare(row state.Row, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	row.Snapshot = snapshot
	row.Output = output.Path(c.Dir, row)
	captured, err := output.Open(row.Output)
	if err != nil && c.DB.InMemory() { // what cannot be kept is not printed anywhere
		row.Output = ""
		captured, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	row.Pool = task.Pool.Name
	r := c.newRun(*task, row)
	r.lock, r.output, r.prepared = lock, captured, true
	return r, nil
}

// Begin writes down that a prepared run is about to start. After an error the lock of the run is
// the caller's again. The error is *state.StaleError if another process has the row.
func (r *Run) Begin() error {
	own, err := r.Self.Owned(context.Background())
	if err == nil {
		err = own.Begin(context.Background(), r.row.Row)
	}
	switch {
	case err == nil:
	case isStale(err): // the file is the output of that process
		r.output.Close()
		return err
	default:
		r.discard()
		return err
	}
	r.begins(own, own.ID)
	return nil
}

// BeginIn begins a prepared run in another storage than the one it was prepared for.
func (r *Run) BeginIn(c Caller) (*Run, error) {
	r.discard()
	return c.Begin(r.row.Row, &r.task, r.lock)
}

// FailUnbegun fails a prepared run that could not begin anywhere: see Caller.FailUnbegun.
func (r *Run) FailUnbegun(why error) state.Row {
	return r.Caller.FailUnbegun(r.row.Row, &r.task, r.lock, why)
}

// Abandon ends the part of this process in a prepared run that another process has.
func (r *Run) Abandon() {
	r.output.Close()
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
}

// Prepared reports whether the run is yet to begin.
func (r *Run) Prepared() bool { return r.prepared }

// discard removes the output of a run that does not begin.
func (r *Run) discard() {
	r.output.Close()
	if r.row.Output != "" {
		os.Remove(r.row.Output)
	}
}

// begins notes that the row of a prepared run is written, and who owns it.
func (r *Run) begins(own state.Owned, owner int64) {
	r.row.own = own
	r.row.Phase, r.row.Owner, r.prepared = state.Ready, owner, false
}

// newRun returns a run without its row, its lock and its output.
func (c Caller) newRun(task schedule.Task, row state.Row) *Run {
	r := &Run{Caller: c, task: task}
	r.row.Row, r.row.self, r.hooks = row, c.Self, &hooks{r: r}
	return r
}

// Begun reports whether a command or a hook of the run was started, even if that could not be
// written down.
func (c Caller) Begun(row state.Row) bool {
	if row.Begun() || c.unwritten(row) {
		return true
	}
	hooks, err := c.DB.Runs().Hooks(context.Background(), row.ID)
	return err == nil && len(hooks) > 0
}

// unwritten reports whether one more attempt was started than the row says, on a full disk.
func (c Caller) unwritten(row state.Row) bool {
	return (row.Phase == state.Ready || row.Phase == state.Running) && output.Unwritten(output.Path(c.Dir, state.Row{Task: row.Task, ID: row.ID}))
}

// restore returns the run of a row that belongs to this process now, without its lock and its
// output.
func (c Caller) restore(own state.Owned, row state.Row) (*Run, error) {
	unwritten := c.unwritten(row)
	if unwritten { // this process must not start the attempt again
		row.Phase, row.Attempt.Number, row.Attempt.PID = state.Running, row.Attempt.Number+1, 0
	}
	r := c.newRun(schedule.Task{}, row)
	r.row.own, r.unwritten = own, unwritten
	if err := json.Unmarshal(row.Snapshot, &r.task); err != nil {
		return nil, fmt.Errorf("run %s: its task cannot be read: %w", row.ID, err)
	}
	return r, nil
}

// Row is the row of the run, as far as this process knows.
func (r *Run) Row() state.Row { return r.row.Row }

// soFar returns what the attempts of the run have come to, without an outcome.
func (r *Run) soFar() state.Row {
	result := r.row.WithoutOutcome()
	result.Snapshot = nil
	return result
}

// Close ends the part of this process in a run. A run whose owner is dead counts as lost.
func (r *Run) Close() {
	r.Leases.Drop(r.lock)
	if r.output != nil {
		r.output.Close()
	}
	for _, lock := range r.inheritedLocks() {
		lock.Close()
	}
}

// inheritedLocks returns the files of the lock that every process of the command inherits: the lock
// is held as long as one of them lives. A run without a lock has no such files.
func (r *Run) inheritedLocks() []*os.File {
	if r.lock == nil {
		return nil
	}
	return r.lock.Inherit()
}
