// Package run is one execution of a task. Begin writes the run down. Its supervisor runs the
// before-hooks, and then the command as often as the task says. Finish copies the output, runs the
// hooks, releases the lock, and writes the row. In the foreground one process does all of that
// (Execute). A background run is given to a supervisor (Supervisors), which receives and supervises
// it (Receive, superviseBackground) and starts the process that finishes it (FinishInherited). If a
// supervisor is killed, another process takes the run over (takeOver). If no process watches the
// run any more, Collect finishes it.
//
// The supervisor watches the background runs of a tick (Supervise): their commands are its
// children. The tick starts it by a witness when it has the first such run (Supervisors). The
// witness only waits for the supervisor. On Linux the commands become children of the witness when
// the supervisor is killed. Then the witness becomes a supervisor itself, and goes on
// with them. If the witness was killed, too, the next tick finishes their runs as lost.
//
// A run uses the snapshot of its task: later changes of the schedule do not change the run. Caller
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
	"strconv"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// A Caller is what a process gives to the runs that it begins or finishes.
type Caller struct {
	Storage
	Self       *state.Self    // this process in the database of the storage, as the owner of runs
	Environ    []string       // the environment of this process, which commands and hooks inherit
	Sender     *notify.Sender // of messages; nil in a process that fires no hooks
	Leases     *Leases        // of the process; nil: each run keeps only its own
	queueCache *queueView     // what runs that wait in the process have seen; nil: each looks itself
	// Terminate is done when this process was asked to end. It ends what a run waits for and could
	// do without.
	Terminate context.Context
}

// NewCaller returns the Caller of a process that owns rows of the storage as that kind, and that
// nobody asks to end.
func NewCaller(storage Storage, kind state.OwnerKind, environ []string) Caller {
	return Caller{
		Storage:   storage,
		Self:      storage.DB.Self(kind),
		Environ:   environ,
		Terminate: context.Background(),
	}
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

	leftover      *leftover         // of a killed supervisor whose place this process has taken; else nil
	sharesProcess bool              // it is finished in a process that may finish others, too (FinishInherited)
	unreaped      unreapedProcesses // children of this process

	startsUnrecorded int         // attempts that were started although that could not be written down
	resultUnrecorded bool        // the result could not be written down before the hooks
	unrecordedEnd    *state.Step // the end could not be written down; else nil
}

// newRun returns a run without its row, its lock and its output.
func (c Caller) newRun(task schedule.Task, row state.Row) *Run {
	r := &Run{Caller: c, task: task}
	r.row.Row, r.row.self = row, c.Self
	r.hooks = &hooks{run: r, marks: hookMarks{&r.row}}
	return r
}

// hasStarted reports whether a command or a hook of the run was started, even if that could not be
// written down.
func (c Caller) hasStarted(row state.Row) bool {
	if row.Attempted() || UnrecordedStarts(c.Dir, row) > 0 {
		return true
	}
	hooks, err := c.DB.Hooks(context.Background(), row.ID)
	return err == nil && len(hooks) > 0
}

// UnrecordedStarts returns how many more attempts were started than the row of the state folder
// says, on a full disk.
func UnrecordedStarts(dir string, row state.Row) int {
	if row.Phase != state.Planned && row.Phase != state.Ready && row.Phase != state.Running {
		return 0
	}
	return output.Unwritten(output.Path(dir, state.Row{Task: row.Task, ID: row.ID}))
}

// restore returns the run of a row that belongs to this process now, without its lock and its
// output.
func (c Caller) restore(own state.Owned, row state.Row) (*Run, error) {
	starts := UnrecordedStarts(c.Dir, row)
	if starts > 0 { // this process must not start the attempts again
		row.Phase, row.Attempt.Number, row.Attempt.PID = state.Running, row.Attempt.Number+starts, 0
	}
	r := c.newRun(schedule.Task{}, row)
	r.row.own, r.startsUnrecorded = own, starts
	if err := json.Unmarshal(row.Snapshot, &r.task); err != nil {
		return nil, fmt.Errorf("run %s: its task cannot be read: %w", row.ID, err)
	}
	return r, nil
}

// Row is the row of the run, as far as this process knows.
func (r *Run) Row() state.Row { return r.row.Row }

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
	for _, lock := range inherited(r.lock) {
		lock.Close()
	}
}

// inherited returns the files of a lock that every process of the command inherits: the lock is
// held as long as one of them lives. A run without a lock (nil) has no such files.
func inherited(lock mutex.Lock) []*os.File {
	if lock == nil {
		return nil
	}
	return lock.Inherit()
}

// complain prints a problem that no row can record. It goes to stderr; in a process that may finish
// several runs, to the output of the run.
func (r *Run) complain(format string, args ...any) {
	to := os.Stderr
	if r.sharesProcess {
		if captured, err := output.Append(r.row.Output); err == nil {
			defer captured.Close()
			to = captured
		}
	}
	fmt.Fprintf(to, "sched: "+format+"\n", args...)
}

// Overdue fires the on_overdue hooks of a task that the incident in the row is about, each once:
// the database notes which have ended. It returns notes about hooks that failed. The caller makes
// sure that no other process does the same.
func (c Caller) Overdue(row state.Row, task *schedule.Task) (notes []string) {
	r := c.newRun(*task, row)
	r.row.own = c.DB.Unowned()
	fired := keyedHooks{key: "on_overdue", hooks: task.Hooks.OnOverdue}
	notes = r.hooks.runCommands(fired, row)
	r.hooks.queueMessages(fired, row)
	r.hooks.send()
	return notes
}

// runVariables returns the variables that sched sets for the command of a run at that attempt.
func runVariables(r *Run, attempt int) []string {
	variables := append(TaskVariables(r.row.Row),
		"SCHED_ATTEMPT="+strconv.Itoa(attempt),
		"TRACEPARENT="+notify.TraceParent(r.row.ID, attempt))
	if last, _ := r.DB.Past().LastSuccess(context.Background(), r.row.Task, r.row.CommandSlot()); !last.IsZero() {
		variables = append(variables, "SCHED_LAST_SUCCESS="+last.Format(time.RFC3339))
	}
	return variables
}

// TaskVariables returns the SCHED_ variables that condition commands have, too, because they run
// before there is an attempt, and the params that somebody set for the run.
func TaskVariables(row state.Row) []string {
	variables := []string{
		"SCHED_TASK=" + row.Task,
		"SCHED_RUN=" + row.ID,
		"SCHED_SLOT=" + row.CommandSlot().UTC().Format(time.RFC3339),
		"SCHED_MUTEX=" + row.Mutex,
	}
	if !row.PreviousSlot.IsZero() {
		variables = append(variables, "SCHED_PREVIOUS_SLOT="+row.PreviousSlot.UTC().Format(time.RFC3339))
	}
	variables = append(variables, schedule.Pairs(row.Params)...)
	if cause := row.Cause; cause != nil {
		variables = append(variables,
			"SCHED_CAUSE_TASK="+cause.Task, "SCHED_CAUSE_RUN="+cause.Run, "SCHED_CAUSE_OUTCOME="+string(cause.Outcome))
	}
	return variables
}

// outcomeVariables returns the SCHED_ variables that hooks after a run have besides.
func outcomeVariables(result state.Row) []string {
	code := ""
	if result.ExitCode != nil {
		code = strconv.Itoa(*result.ExitCode)
	}
	return []string{
		"SCHED_OUTCOME=" + string(result.Outcome),
		"SCHED_EXIT_CODE=" + code,
		"SCHED_DURATION=" + strconv.FormatFloat(result.Duration().Seconds(), 'f', 3, 64),
		"SCHED_OUTPUT=" + result.Output,
		"SCHED_REASON=" + result.Reason,
	}
}
