// Package run is one execution of a task. Begin writes the run down. Its supervisor runs the
// before-hooks, and then the command as often as the task says (package supervise). Finish copies
// the output, runs the hooks, releases the lock, and ends the row. In the foreground one process
// does all of that. A background run is handed over to a supervisor, which watches it and hands it
// over to the process that finishes it (package handover).
//
// Next says what is to be done with a row. Four words say who has a run: a process takes a run that
// nobody looks after (Collect), hands it over to another process, gives it back to the ticks, or
// finishes it.
//
// A run uses the snapshot of its task: later changes of the schedule do not change the run.
// holding.Process has what a run needs of its process. The run's row has what must survive that
// process (packages ownrow and state).
//
// Non-goals: whether and when there is a run (package tick), and how a command is started and ended
// (package process).
package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/judge/evidence"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/run/holding"
	"sched/schedule/run/hook"
	"sched/schedule/run/lease"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// A Run is one execution of a task for a slot, in any of the processes that have a part in it.
type Run struct {
	holding.Process
	Task     schedule.Task // the snapshot
	Own      ownrow.Row
	Lock     mutex.Lock // nil if the task needs none
	Output   *os.File   // what the command prints; nil in a process that only finishes the run
	Hooks    *hook.Hooks
	Unreaped process.Unreaped // children of this process

	IsAnnounced bool // the first attempt was written down when the run began: it starts at once
	TakenOver   bool // this process has taken the place of a killed supervisor
	Adopted     bool // another process took the lock

	StartsUnrecorded int         // attempts that were started although that could not be written down
	resultUnrecorded bool        // the result could not be written down before the hooks
	unrecordedEnd    *state.Step // the end could not be written down; else nil
}

// newRun returns a run without its row, its lock and its output.
func newRun(p holding.Process, task schedule.Task, row state.Row) *Run {
	r := &Run{Process: p, Task: task, Own: ownrow.New(p.Self, row)}
	r.Hooks = hook.New(&r.Process, &r.Task, &r.Own, &r.Unreaped)
	return r
}

// Of returns the run of a row that belongs to this process now, without its lock and its output.
func Of(p holding.Process, own state.Owned, row state.Row) (*Run, error) {
	starts := UnrecordedStarts(p.Dir, row)
	if starts > 0 { // this process must not start the attempts again
		row.Phase, row.Attempt.Number, row.Attempt.PID = state.Running, row.Attempt.Number+starts, 0
	}
	r := newRun(p, schedule.Task{}, row)
	r.Own.As, r.StartsUnrecorded = own, starts
	if err := json.Unmarshal(row.Snapshot, &r.Task); err != nil {
		return nil, fmt.Errorf("run %s: its task cannot be read: %w", row.ID, err)
	}
	return r, nil
}

// UnrecordedStarts returns how many more attempts were started than the row of the state folder
// says, on a full disk.
func UnrecordedStarts(dir string, row state.Row) int {
	if row.Phase != state.Planned && row.Phase != state.Ready && row.Phase != state.Running {
		return 0
	}
	return output.Unwritten(output.Path(dir, state.Row{Task: row.Task, ID: row.ID}))
}

// TakeLock makes the lock ours that another process acquired for the run, at an unknown time. The
// files are its descriptors: of the mutex, then of the seat; there may be none.
func (r *Run) TakeLock(files []*os.File) {
	for _, file := range files {
		unix.CloseOnExec(int(file.Fd()))
	}
	holder := holding.NewHolder(r.Own.Row)
	var locks []mutex.Lock
	add := func(name string) {
		var file *os.File
		if len(files) > 0 {
			file, files = files[0], files[1:]
		}
		locks = append(locks, r.Mutexes().Adopt(name, holder, file))
	}
	if r.Own.Locked {
		add(r.Task.Mutex)
	}
	if r.Own.Seat != "" {
		add(r.Own.Seat)
	}
	r.Lock, r.Adopted = mutex.Join(locks...), true
}

// GiveBack gives back a run from Resume to a later tick.
func (r *Run) GiveBack() {
	if r.Own.Queued() { // its owner ends with this tick
		r.Close()
		return
	}
	r.Own.Apply(state.GiveBack(r.Own.Wait, r.Own.Reason))
	r.Release()
}

// Close ends the part of this process in a run. A run whose owner is dead counts as lost.
func (r *Run) Close() {
	if r.Output != nil {
		r.Output.Close()
	}
	r.closeLock()
}

// closeLock ends the part of this process in the lock of the run.
func (r *Run) closeLock() {
	r.Leases.Drop(r.Lock)
	for _, lock := range r.LockFiles() {
		lock.Close()
	}
}

// LockFiles returns the files of the run's lock that every process of the command inherits: the
// lock is held as long as one of them lives. A run without a lock has no such files.
func (r *Run) LockFiles() []*os.File {
	if r.Lock == nil {
		return nil
	}
	return r.Lock.Inherit()
}

// Release ends the part of this process in a run whose next attempt was deferred. Its mutex is
// free.
func (r *Run) Release() {
	r.releaseLock()
	r.Close()
}

// releaseLock releases the lock of a run that has one.
func (r *Run) releaseLock() {
	if r.Lock != nil {
		r.Lock.Release(context.Background())
	}
}

// Report adds to the result what the last attempt has reported. endedByItself says that nothing has
// ended it.
func (r *Run) Report(result *state.Row, endedByItself bool) {
	evidence.Report(r.Dir, result, &r.Task, endedByItself)
}

// Reported is where it is known what runs have reported.
func (r *Run) Reported() evidence.Known { return evidence.Known{DB: r.DB, Store: r.Store} }

// SetBudgetSpent sets that the next attempt does not begin, because a budget of the task is spent,
// and reports whether that is so.
func (r *Run) SetBudgetSpent(result *state.Row) bool {
	return evidence.SetBudgetSpent(r.Reported(), &r.Task, holding.ZoneOf(&r.Task), result)
}

// Judge sets the outcome of a command that ended by itself with the exit code.
func (r *Run) Judge(result *state.Row, code int, stderr evidence.Stderr) {
	quote := r.Hooks.Secrets().Quote
	evidence.End{Known: r.Reported(), Task: &r.Task, Code: code, Stderr: stderr, Quote: quote}.Judge(result)
}

// RecordResult writes down the result of the run, before its hooks fire.
func (r *Run) RecordResult(result state.Row) error {
	tries := ownrow.Persistence{Ending: r.Terminate, Patience: ownrow.ResultPatience}
	err := r.Own.Persist(tries, state.Settle(result.Result, result.Notes))
	r.resultUnrecorded = err != nil
	return err
}

// EndUnrecorded reports whether the end of the run could not be recorded.
func (r *Run) EndUnrecorded() bool { return r.unrecordedEnd != nil }

// RecordEndAgain tries once more to record the end of the run.
func (r *Run) RecordEndAgain() error { return r.Own.Apply(*r.unrecordedEnd) }

// RenewLease renews the lease of the run's lock until its renewer is ended. The context that it
// returns ends when the lease is lost, if the task has on_lost_lease: stop.
func (r *Run) RenewLease(ctx context.Context) (context.Context, *lease.Renewer) {
	terms := lease.Terms{
		Lock:    r.Lock,
		Note:    r.Own.Note,
		Stop:    r.Task.StopOnLostLease,
		Zone:    holding.ZoneOf(&r.Task),
		Adopted: r.TakenOver,
		Unknown: r.Adopted && r.Own.Phase == state.Ready,
	}
	if terms.Stop {
		terms.Renewed = func(began time.Time) { r.Own.Apply(state.Renew(began)) }
	}
	if terms.Stop && terms.Adopted {
		terms.Began, terms.Unknown = r.Own.Attempt.Leased, false
	}
	return r.Leases.Renew(ctx, terms)
}
