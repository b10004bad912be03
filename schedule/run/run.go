// Package run is one execution of a task. Begin writes the run down. Its supervisor runs the
// before-hooks, and then the command as often as the task says. finish copies the output, runs the
// hooks, releases the lock, and ends the row. In the foreground one process does all of that
// (Execute). A background run is handed over to a supervisor (Supervisors), which watches it
// (Supervise) and hands it over to the process that finishes it (FinishHandedOver).
//
// The supervisor watches the background runs of a tick: their commands are its children. The tick
// starts it by a witness when it has the first such run. The witness only waits for the supervisor.
// On Linux the commands become children of the witness when the supervisor is killed. Then the
// witness becomes a supervisor itself, and goes on with them. If the witness was killed, too, the
// next tick takes their runs, and finishes them as lost (Collect).
//
// Next says what is to be done with a row. Four words say who has a run: a process takes a run that
// nobody looks after, hands it over to another process, gives it back to the ticks, or finishes it.
//
// A run uses the snapshot of its task: later changes of the schedule do not change the run. Process
// has what a run needs of its process. The run's row has what must survive that process (package
// state).
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
	"sched/schedule/process"
	"sched/schedule/run/holding"
	"sched/schedule/run/hook"
	"sched/schedule/run/lease"
	"sched/schedule/run/output"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// A Run is one execution of a task for a slot, in any of the processes that have a part in it.
type Run struct {
	holding.Process
	task    schedule.Task // the snapshot
	row     ownrow.Row
	lock    mutex.Lock // nil if the task needs none
	adopted bool       // another process took the lock
	output  *os.File   // what the command prints; nil in a process that only finishes the run

	hooks *hook.Hooks

	isAnnounced bool // the first attempt was written down when the run began: it starts at once

	goesOn   bool             // this process has taken the place of a killed supervisor
	unreaped process.Unreaped // children of this process

	startsUnrecorded int         // attempts that were started although that could not be written down
	resultUnrecorded bool        // the result could not be written down before the hooks
	unrecordedEnd    *state.Step // the end could not be written down; else nil
}

// newRun returns a run without its row, its lock and its output.
func newRun(p holding.Process, task schedule.Task, row state.Row) *Run {
	r := &Run{Process: p, task: task, row: ownrow.New(p.Self, row)}
	r.hooks = hook.New(&r.Process, &r.task, &r.row, &r.unreaped)
	return r
}

// Row is the row of the run, as far as this process knows.
func (r *Run) Row() state.Row { return r.row.Row }

// runOf returns the run of a row that belongs to this process now, without its lock and its output.
func runOf(p holding.Process, own state.Owned, row state.Row) (*Run, error) {
	starts := UnrecordedStarts(p.Dir, row)
	if starts > 0 { // this process must not start the attempts again
		row.Phase, row.Attempt.Number, row.Attempt.PID = state.Running, row.Attempt.Number+starts, 0
	}
	r := newRun(p, schedule.Task{}, row)
	r.row.Own, r.startsUnrecorded = own, starts
	if err := json.Unmarshal(row.Snapshot, &r.task); err != nil {
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

// takeLock makes the lock ours that another process acquired for the run. The files are its
// descriptors: of the mutex, then of the seat; there may be none. It is not known when the lease
// began, so the lease is renewed before a command starts.
func (r *Run) takeLock(files []*os.File) {
	for _, file := range files {
		unix.CloseOnExec(int(file.Fd()))
	}
	holder := holding.NewHolder(r.row.Row)
	var locks []mutex.Lock
	add := func(name string) {
		var file *os.File
		if len(files) > 0 {
			file, files = files[0], files[1:]
		}
		locks = append(locks, r.Mutexes().Adopt(name, holder, file))
	}
	if r.row.Locked {
		add(r.task.Mutex)
	}
	if r.row.Seat != "" {
		add(r.row.Seat)
	}
	r.lock, r.adopted = mutex.Join(locks...), true
}

// GiveBack gives back a run from Resume to a later tick.
func (r *Run) GiveBack() {
	if r.row.Queued() { // its owner ends with this tick
		r.Close()
		return
	}
	r.row.Apply(state.GiveBack(r.row.Wait, r.row.Reason))
	r.release()
}

// Close ends the part of this process in a run. A run whose owner is dead counts as lost.
func (r *Run) Close() {
	if r.output != nil {
		r.output.Close()
	}
	r.closeLock()
}

// closeLock ends the part of this process in the lock of the run.
func (r *Run) closeLock() {
	r.Leases.Drop(r.lock)
	for _, lock := range r.lockFiles() {
		lock.Close()
	}
}

// lockFiles returns the files of the run's lock that every process of the command inherits: the
// lock is held as long as one of them lives. A run without a lock has no such files.
func (r *Run) lockFiles() []*os.File {
	if r.lock == nil {
		return nil
	}
	return r.lock.Inherit()
}

// release ends the part of this process in a run whose next attempt was deferred. Its mutex is
// free.
func (r *Run) release() {
	r.releaseLock()
	r.Close()
}

// releaseLock releases the lock of a run that has one.
func (r *Run) releaseLock() {
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
}

// recordResult writes down the result of the run, before its hooks fire.
func (r *Run) recordResult(result state.Row) error {
	tries := ownrow.Persistence{Ending: r.Terminate, Patience: ownrow.ResultPatience}
	err := r.row.Persist(tries, state.Settle(result.Result, result.Notes))
	r.resultUnrecorded = err != nil
	return err
}

// EndUnrecorded reports whether the end of the run could not be recorded.
func (r *Run) EndUnrecorded() bool { return r.unrecordedEnd != nil }

// RecordEndAgain tries once more to record the end of the run.
func (r *Run) RecordEndAgain() error {
	return r.row.Apply(*r.unrecordedEnd)
}

// renewLease renews the lease of the run's lock until its renewer is ended. The context that it
// returns ends when the lease is lost, if the task has on_lost_lease: stop.
func (r *Run) renewLease(ctx context.Context) (context.Context, *lease.Renewer) {
	terms := lease.Terms{
		Lock:    r.lock,
		Note:    r.row.Note,
		Stop:    r.task.StopOnLostLease,
		Zone:    holding.ZoneOf(&r.task),
		Adopted: r.goesOn,
		Unknown: r.adopted && r.row.Phase == state.Ready,
	}
	if terms.Stop {
		terms.Renewed = func(began time.Time) { r.row.Apply(state.Renew(began)) }
	}
	if terms.Stop && terms.Adopted {
		terms.Began, terms.Unknown = r.row.Attempt.Leased, false
	}
	return r.Leases.Renew(ctx, terms)
}
