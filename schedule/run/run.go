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
	"errors"
	"fmt"
	"os"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

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

// UnrecordedStarts returns how many more attempts were started than the row of the state folder
// says, on a full disk.
func UnrecordedStarts(dir string, row state.Row) int {
	if row.Phase != state.Planned && row.Phase != state.Ready && row.Phase != state.Running {
		return 0
	}
	return output.Unwritten(output.Path(dir, state.Row{Task: row.Task, ID: row.ID}))
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

// endUnwatched ends what is left of the command of a run whose supervisor was killed without a
// result, and returns the result of the run
// (docs/internals/decisions.md#an-unwatched-command-is-ended). The code is the exit code of the
// command if a person has given it (`sched finish MUTEX CODE`); else nil.
func (r *Run) endUnwatched(code *int) state.Row {
	result := r.row.soFar()
	result.ExitCode = nil
	result.Ended = clock.Now()
	group := r.row.Attempt.PID
	var alive []int // process groups of the command
	// If the system cannot tell which process groups of the command live on, the group that was
	// written down counts as one of them as long as a process has the run's output open.
	if process.FindsByRun || output.InUse(r.row.Output) {
		alive = liveGroups(r.row.Row)
	}
	if len(alive) > 0 {
		family := process.Family{
			Groups: alive, Run: result.ID, Attempt: result.Attempt.Number, User: r.task.As.User}
		survivors, _ := process.End(context.Background(), family, r.task.KillAfter)
		leaveBehind(&result, survivors)
		result.Ended = clock.Now()
	}
	if r.task.Limits.NeedsCgroup() {
		process.SweepCgroups()
	}
	result.Outcome = outcome.Lost
	switch {
	case code != nil:
		result.ExitCode = code
		judge(&result, &r.task, *code)
	case len(alive) > 0:
		result.Reason = "nobody watched it any more, so what was left of its command was ended"
	case r.row.Phase != state.Running || group == 0:
		result.Reason = "nobody knows whether its command started: the process that was to start it is gone"
	default:
		result.Reason = "its processes vanished, and nobody saw how it ended"
	}
	return result
}

// leaveDeferred ends the part of this process in a run whose next attempt was deferred. Its mutex
// is free.
func (r *Run) leaveDeferred() {
	r.releaseLock()
	r.Close()
}

// releaseLock releases the lock of a run that has one.
func (r *Run) releaseLock() {
	if r.lock != nil {
		r.lock.Release(context.Background())
	}
}

// deferNext leaves the attempt for which a run waits to a later tick, unless somebody asked to stop
// the run: no process waits for the attempt any more, also not in the foreground. It reports
// whether it did.
func (r *Run) deferNext() bool {
	if r.row.Stop != nil {
		return false
	}
	soFar := r.row.soFar()
	soFar.Reason = r.row.Reason
	return r.row.apply(state.Defer(soFar.Result, r.row.Wait.NotBefore, soFar.Notes)) == nil
}

// deferAfterLost leaves the attempt after a lost one to the next tick, if the task wants that and
// has an attempt left, and nobody asked to stop the run. It reports whether it did.
func (r *Run) deferAfterLost(result state.Row) bool {
	attempt := max(1, r.row.Attempt.Number)
	overlaps := r.lock != nil && result.Survivors != ""
	if r.row.Stop != nil || !r.task.Retry.Lost || attempt >= r.task.Retry.Attempts || overlaps {
		return false
	}
	result.Attempt.Number = attempt
	notes := append(slices.Clip(result.Notes), fmt.Sprintf("attempt %d was lost: %s", attempt, result.Reason))
	return r.row.apply(state.Defer(result.Result, clock.Now().Truncate(time.Minute), notes)) == nil
}

// Leave leaves a run from Resume to a later tick.
func (r *Run) Leave() {
	if r.row.Queued() { // its owner ends with this tick
		r.Close()
		return
	}
	r.row.apply(state.GiveBack(r.row.Wait, r.row.Reason))
	r.leaveDeferred()
}

// FailBeforeStart finishes a run whose command cannot be started, or must not start because a
// condition command failed. The error is the reason, and printed becomes the run's output. Like any
// run that began, it fires its hooks even if this process is killed.
func (r *Run) FailBeforeStart(err error, printed []byte) state.Row {
	r.output.Write(printed)
	result := r.row.soFar()
	result.Outcome, result.Reason, result.Ended = outcome.Failed, err.Error(), clock.Now()
	return r.finish(result)
}

// finish ends a run with the result, in these steps. It goes on after a step that failed.
//
//  1. It copies the output, and pauses the task if pause_after says so.
//  2. It runs the commands of the hooks, and releases the lock.
//  3. It puts the notifications into the outbox, and asks for the runs that the hooks trigger.
//  4. It ends the row, and begins to send the notifications.
//
// Foreground runs, `sched finish` and lost runs share this code.
//
// This process owns the row, so no two processes finish the run at once. A process that is killed
// in the middle leaves the row finishing. The next tick finishes the run again, but does not fire
// hooks again that have ended.
func (r *Run) finish(result state.Row) state.Row {
	recorded := r.row.Phase == state.Finishing || r.resultUnrecorded // else nobody has tried to yet
	if !recorded && !endsAtOnce(&r.task) && r.row.isTaken(r.recordResult(result)) {
		r.Close() // another process finishes it
		return result
	}
	f := &finisher{run: r, result: result}
	_, renewer := r.renewLease(context.Background()) // the lock is held until the hooks are done
	f.keepOutput()
	f.pauseAfter()
	fired := r.hooks.after(f.result)
	for _, h := range fired {
		f.note(r.hooks.runCommands(h, f.result)...)
	}
	f.note(renewer.End()...)
	f.release()
	for _, h := range fired {
		r.hooks.queueMessages(h, f.result)
		r.hooks.trigger(h, &f.result)
	}
	r.hooks.queueAttemptSpan(f.result)
	r.hooks.queueRunSpan(f.result)
	if r.resultUnrecorded { // the end cannot be written for now either: the notifications do not wait for that
		r.hooks.send()
	}
	f.end()
	if r.output != nil {
		r.output.Close()
	}
	r.hooks.startTriggered(f.result) // only now its mutex counts as free
	r.hooks.send()
	f.result.Snapshot = r.row.Snapshot
	return f.result
}

// finishAlone is finish in a process that has no Sender. It gives the run one, and waits for the
// attempts to deliver messages. Messages that are not delivered stay in the outbox, and ticks
// report them.
func (r *Run) finishAlone(result state.Row) state.Row {
	r.Sender = notify.NewSender(context.Background(), r.DB, r.Environ)
	r.Sender.Lost = func(d *notify.Delivery, err error) { r.complain("%s: %s: %v", d.Message.Task, d.Hook, err) }
	defer r.Sender.Wait(context.Background(), notify.Patience)
	return r.finish(result)
}

// recordResult writes down the result of the run, before its hooks fire.
func (r *Run) recordResult(result state.Row) error {
	tries := persistence{ending: r.Terminate, patience: resultPatience}
	err := r.row.persist(tries, state.Settle(result.Result, result.Notes))
	r.resultUnrecorded = err != nil
	return err
}

// EndUnrecorded reports whether the end of the run could not be recorded.
func (r *Run) EndUnrecorded() bool { return r.unrecordedEnd != nil }

// RecordEndAgain tries once more to record the end of the run.
func (r *Run) RecordEndAgain() error {
	return r.row.apply(*r.unrecordedEnd)
}

// adopt makes the lock ours that another process acquired for the run. The files are its
// descriptors: of the mutex, then of the seat; there may be none. It is not known when the lease
// began, so the lease is renewed before a command starts.
func (r *Run) adopt(files []*os.File) {
	for _, file := range files {
		unix.CloseOnExec(int(file.Fd()))
	}
	holder := NewHolder(r.row.Row)
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

// renewLease renews the lease of the run's lock until its renewer is ended. The context that it
// returns ends when the lease is lost, if the task has on_lost_lease: stop.
func (r *Run) renewLease(ctx context.Context) (context.Context, *Renewer) {
	terms := LeaseTerms{
		Lock:    r.lock,
		Note:    r.row.note,
		Stop:    r.task.StopOnLostLease,
		Zone:    ZoneOf(&r.task),
		Adopted: r.leftover != nil,
		Unknown: r.adopted && r.row.Phase == state.Ready,
	}
	if terms.Stop {
		terms.Renewed = func(began time.Time) { r.row.apply(state.Renew(began)) }
	}
	if terms.Stop && terms.Adopted {
		terms.Began, terms.Unknown = r.row.Attempt.Leased, false
	}
	return r.Leases.Renew(ctx, terms)
}

// reopenOutput opens the output of the run, which has begun. While that is impossible, as on a
// read-only disk, it tries again. After resultPatience the run goes on, and what its next attempts
// print is lost. When this process is asked to end, it gives up at once.
func (r *Run) reopenOutput() (err error) {
	persistence{ending: r.Terminate, patience: resultPatience}.try(func() bool {
		r.output, err = output.Open(r.row.Output)
		return err == nil
	})
	if err != nil {
		r.complain("what the next attempts of a run print is lost: %v", err)
		r.output, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return err
}

// Execute supervises and finishes the run in this process, and returns its row. When terminate
// is done the command is stopped; when kill is done too it is killed at once.
func (r *Run) Execute(terminate, kill context.Context) state.Row {
	return r.ExecuteThen(terminate, kill, func() {})
}

// ExecuteThen is Execute that calls ended when the command has ended, before the hooks after it.
func (r *Run) ExecuteThen(terminate, kill context.Context, ended func()) state.Row {
	r.Terminate = terminate
	result := r.supervise(terminate, kill)
	ended()
	return r.finish(result)
}

// superviseBackground supervises a background run to the end of its command, and calls handOver to
// start its `sched finish`. handOver returns nil when that process owns the run; after an error the
// run is still ours. A run without hooks ends here. When terminate is done it stops the command,
// when kill is done too it kills it.
func (r *Run) superviseBackground(terminate, kill context.Context, handOver func(*Run) error) {
	r.Terminate = terminate
	defer r.unreaped.reap()
	r.Sender = notify.NewSender(kill, r.DB, r.Environ)
	result := r.row.result()
	// If the row is finishing, the supervisor before this one was killed before it could start the
	// finish.
	if r.row.Phase != state.Finishing {
		var leftToTick bool
		if result, leftToTick = r.awaitResult(terminate, kill); leftToTick {
			return
		}
		if endsAtOnce(&r.task) {
			r.Sender.Wait(terminate, startDeliveryPatience)
			r.finish(result)
			return
		}
		if r.recordResult(result) == nil {
			r.unreaped.reap()
		}
		r.Sender.Wait(terminate, startDeliveryPatience)
	}
	// If the result could not be written, as on a full disk, this process alone knows it: the exit
	// code alone is no proof of a result
	// (docs/internals/decisions.md#an-exit-code-alone-is-no-result).
	if r.resultUnrecorded || handOver(r) != nil { // this process finishes the run
		r.finishAlone(result)
	}
}

// awaitResult waits until a background run has its mutex and its seat, runs its command, and
// returns the result. If leftToTick is true, a later tick goes on with the run: it waits on, or its
// next attempt was deferred.
func (r *Run) awaitResult(terminate, kill context.Context) (result state.Row, leftToTick bool) {
	if result, leftToTick = r.awaitLock(terminate); leftToTick {
		r.Close()
		return result, true
	}
	if result.Outcome == "" {
		result = r.supervise(terminate, kill)
	}
	if result.Outcome == "" {
		r.leaveDeferred()
		return result, true
	}
	return result, false
}

// supervise runs the before-hooks and then the command, as often as the task says, and returns the
// result. It is the same code for foreground and background runs. A result without an outcome means
// that the retry was deferred.
func (r *Run) supervise(terminate, kill context.Context) state.Row {
	s := &supervision{run: r, row: &r.row, task: &r.task, kill: kill, result: r.row.soFar()}
	s.terminate, s.lease = r.renewLease(terminate)
	if deferred := s.attempts(); deferred {
		s.lease.End()
		return r.row.soFar()
	}
	s.result.Ended = clock.Now()
	s.result.Notes = append(s.result.Notes, s.lease.End()...)
	return s.result
}

// awaitLock waits until the run has its mutex and its seat. If the result has an outcome, the
// command will not start. If leftToTick is true, the run waits on: its owner ends, and the next
// tick gives it to another supervisor.
func (r *Run) awaitLock(terminate context.Context) (result state.Row, leftToTick bool) {
	if !r.row.Queued() {
		return result, false
	}
	w := newWaiter(r)
	err := w.wait(terminate)
	if err == nil {
		r.leftover = nil // nothing of it had started before
		return result, false
	}
	result = r.row.soFar()
	result.Wait.Waited, result.Ended = w.waited(), clock.Now()
	if errors.Is(err, errStopAsked) && r.row.stopIfAsked(&result) {
		return result, false
	}
	var skip *skipError
	switch {
	case errors.As(err, &skip):
		result.Outcome, result.Reason = outcome.Skipped, skip.reason
	case r.task.CatchesUp && terminate.Err() != nil:
		return result, true
	default:
		setStopped(&result, "while it waited: %v", err)
	}
	return result, false
}
