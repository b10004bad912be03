package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/judge/evidence"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/pause"
	"sched/schedule/process"
	"sched/schedule/run/holding"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// Finish ends a run with the result, in these steps. It goes on after a step that failed.
//
//  1. It masks and copies the output, and pauses the task if pause_after says so.
//  2. It runs the commands of the hooks, and releases the lock.
//  3. It puts the notifications into the outbox, and asks for the runs that the hooks trigger.
//  4. It ends the row, and begins to send the notifications.
//  5. It tells the other servers of a background run; a tick tells them of its own.
//
// Foreground runs, `sched finish` and lost runs share this code.
//
// This process owns the row, so no two processes finish the run at once. A process that is killed
// in the middle leaves the row finishing. The next tick finishes the run again, but does not fire
// hooks again that have ended.
func Finish(r *Run, result state.Row) state.Row {
	recorded := r.Own.Phase == state.Finishing || r.resultUnrecorded // else nobody has tried to yet
	if !recorded && !EndsAtOnce(&r.Task) && r.Own.IsTaken(r.RecordResult(result)) {
		r.Close() // another process finishes it
		return result
	}
	f := &finisher{run: r, result: result}
	_, renewer := r.RenewLease(context.Background()) // the lock is held until the hooks are done
	f.keepOutput()
	f.pauseAfter()
	f.note(r.Hooks.RunAfter(f.result)...)
	f.note(renewer.End()...)
	f.shareSpent()
	f.release()
	r.Hooks.QueueAfter(&f.result)
	if r.resultUnrecorded { // the end cannot be written for now either: the notifications do not wait for that
		r.Hooks.Send()
	}
	f.end()
	if r.Output != nil {
		r.Output.Close()
	}
	r.Hooks.StartTriggered(f.result) // only now its mutex counts as free
	r.Hooks.Send()
	if r.Own.Background && !r.Own.Found && r.Store != nil {
		_ = cluster.PublishAll(context.Background(), r.Dir, r.DB, r.Store) // else the next tick does
	}
	f.result.Snapshot = r.Own.Snapshot
	return f.result
}

// EndsAtOnce reports whether nothing stands between the result of a run and its end: its task has
// no hooks to fire, no copy of its output to make, no budget to tell of, and does not pause its
// task.
func EndsAtOnce(task *schedule.Task) bool {
	if task.Output.File != "" || task.OTLP != "" || task.PauseAfter > 0 || len(task.Judge.Budgets()) > 0 {
		return false
	}
	h := task.Hooks
	return len(slices.Concat(h.After, h.OnSuccess, h.OnWarning, h.OnFailure, h.OnRecovery, h.OnSkip)) == 0
}

// A finisher finishes a run. The result gets notes of what fails meanwhile.
type finisher struct {
	run    *Run
	result state.Row
}

// keepOutput masks the output and cuts it to its limit, and makes the copy for the key output.
func (f *finisher) keepOutput() {
	if f.hasOutput() {
		f.note(f.run.Hooks.Secrets().Keep(f.result.Output, "sched: "+f.result.Reason+"\n")...)
	}
	if f.run.Task.Output.File != "" && !f.run.Own.Unstored && f.result.Ran() {
		f.run.Hooks.Once(outputCopied, func() { f.noteError(f.copyOutput()) })
	}
}

// hasOutput reports whether anything was printed into the output of the run.
func (f *finisher) hasOutput() bool {
	if f.run.Output != nil {
		if info, err := f.run.Output.Stat(); err == nil && info.Size() == 0 {
			return false
		}
	}
	return output.HasBytes(f.result.Output)
}

func (f *finisher) noteError(err error) {
	if err != nil {
		f.note(err.Error())
	}
}

func (f *finisher) note(notes ...string) { f.result.Notes = append(f.result.Notes, notes...) }

// outputCopied is the name under which the copy is noted among the hooks of the run.
const outputCopied = "output"

// copyOutput makes the copy for the key output of the task
// (docs/internals/decisions.md#the-copy-of-the-output-is-made-at-the-end).
func (f *finisher) copyOutput() error {
	r, to := f.run, f.run.Task.Output
	from, err := statedir.OpenPlain(f.result.Output, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer from.Close()
	ctx, cancel := f.copyContext()
	defer cancel()
	if r.Task.As == (schedule.As{}) {
		err = process.CopyTo(ctx, to, from)
	} else {
		err = process.Spec{Task: &r.Task, CallerEnv: r.Environ}.CopyOutput(ctx, to, from)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// copyContext bounds the copy.
func (f *finisher) copyContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(copyTimeout, func() { cancel(fmt.Errorf("no end after %s", copyTimeout)) })
	ending := f.run.Terminate
	release := context.AfterFunc(ending, func() {
		time.AfterFunc(stoppedCopyTimeout, func() { cancel(fmt.Errorf("stopped (%w)", context.Cause(ending))) })
	})
	return ctx, func() {
		timer.Stop()
		release()
		cancel(nil)
	}
}

const (
	// copyTimeout is how long the copy may take: it may go to a named pipe without a reader.
	copyTimeout = 30 * time.Second
	// stoppedCopyTimeout is how long it may take once this process was asked to end.
	stoppedCopyTimeout = 2 * time.Second
)

// pauseAfter pauses the task if its run was the last of as many failures in a row as pause_after
// says. Then the reason of the run names the pause, and with it each message about the run. A
// finish that begins again finds the pause of the finish before.
func (f *finisher) pauseAfter() {
	r, streak := f.run, f.run.Task.PauseAfter
	if streak == 0 || !f.result.Outcome.Failure() || r.DB.InMemory() {
		return
	}
	paused, err := f.pause(streak)
	f.noteError(err)
	if paused {
		f.result.Reason = joinReasons(f.result.Reason, fmt.Sprintf("%d in a row, so %s is paused", streak, r.Task.Name))
	}
}

// pause pauses the task if a streak of this many failures has come since its last pause ended. It
// reports whether sched has paused the task. It leaves a pause in effect alone.
func (f *finisher) pause(streak int) (paused bool, err error) {
	r, now := f.run, clock.Now()
	source := pause.Source{Dir: r.Dir, Store: r.Store, DB: r.DB}
	controls, err := source.Read()
	if err != nil {
		return false, err
	}
	if p, ok := controls.Pauses.InEffect(r.Task.Name, now); ok {
		return p.By == pause.BySched, nil
	}
	last := controls.Pauses.Last(r.Task.Name)
	since := last.Ended
	if since.IsZero() {
		since = last.Until
	}
	before, _ := r.DB.Runs().FailuresBefore(context.Background(), r.Own.Task, r.Own.ID, since, streak-1)
	if 1+before < streak {
		return false, nil
	}
	begun := pause.Pause{
		By:     pause.BySched,
		Server: r.Own.Server,
		Since:  now.UTC().Round(0),
		Reason: humanize.Count(streak, "failure") + " in a row",
	}
	err = source.Pause(func(pauses pause.Pauses) pause.Pauses {
		if _, ok := pauses.InEffect(r.Task.Name, now); ok {
			return nil
		}
		return pause.Pauses{r.Task.Name: {begun}}
	})
	return err == nil, err
}

// shareSpent tells the other servers what the run has spent of its budgets, before the next run can
// have its lock. While the store does not answer they are told when a run of the task begins or
// ends here.
func (f *finisher) shareSpent() {
	if r := f.run; r.Store != nil && len(r.Task.Judge.Budgets()) > 0 {
		_, err := r.Reported().Spent(context.Background(), &r.Task)
		f.noteError(err)
	}
}

// release releases the lock of the run. If processes of the run have survived KILL, it only closes
// the lock: as long as they live, the mutex counts as taken (holding.Storage.GoesOn).
func (f *finisher) release() {
	switch r := f.run; {
	case r.Lock == nil:
	case holding.LivesOn(f.result):
		r.closeLock()
	default:
		f.noteError(r.Lock.Release(context.Background()))
	}
}

// end ends the row of the run. It tries again until this process is asked to end: the hooks of the
// run must not fire again.
func (f *finisher) end() {
	r := f.run
	path := output.Path(r.Dir, r.Own.Row)
	printed := f.hasOutput()
	if !printed {
		f.result.Output = ""
	}
	if hooks := output.HooksPath(path); !output.HasBytes(hooks) {
		os.Remove(hooks)
	}
	result := f.result
	skippedLate := result.Outcome == outcome.Skipped && !result.Wait.Since.IsZero()
	endedBadly := r.Own.Background && (result.Outcome.Failure() || skippedLate)
	end := state.End(state.Ending{
		Result:     result.Result,
		Notes:      result.Notes,
		Triggered:  result.Triggered,
		Share:      r.Store != nil,
		Unreported: endedBadly || result.Outcome == outcome.Lost,
	})
	tries := ownrow.Persistence{Ending: r.Terminate}
	if !r.Own.Background { // the tick has other tasks to run, and tries again when they have ended
		tries.Patience = ownrow.ResultPatience
	}
	err := r.Own.Persist(tries, end)
	if err != nil && !state.IsStale(err) { // else another process has ended it
		r.unrecordedEnd = &end
		r.Own.Complain("run %s of %s %s, but its end is not recorded: %v", result.ID, result.Task, result.Outcome, err)
	} else {
		evidence.RemoveReport(r.Dir, r.Own.Row, &r.Task)
	}
	if !printed && err == nil && !r.DB.InMemory() { // else its mode tells that the run has started
		os.Remove(path)
	}
}

// joinReasons joins two reasons. The first may be empty.
func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// FailBeforeStart finishes a run whose command cannot be started, or must not start because a
// condition command failed. The error is the reason, and printed becomes the run's output. Like any
// run that began, it fires its hooks even if this process is killed.
func FailBeforeStart(r *Run, err error, printed []byte) state.Row {
	r.Output.Write(printed)
	result := r.Own.SoFar()
	result.Outcome, result.Reason, result.Ended = outcome.Failed, err.Error(), clock.Now()
	return Finish(r, result)
}

// FinishAndSend is finish in a process that has no Sender. It gives the run one, and waits for the
// attempts to deliver messages. Messages that are not delivered stay in the outbox, and ticks
// report them.
func FinishAndSend(r *Run, result state.Row) state.Row {
	r.Sender = notify.NewSender(context.Background(), r.DB, r.Environ)
	r.Sender.Lost = func(d *notify.Delivery, err error) { r.Own.Complain("%s: %s: %v", d.Message.Task, d.Hook, err) }
	defer r.Sender.Wait(context.Background(), notify.Patience)
	return Finish(r, result)
}
