package run

import (
	"context"
	"os"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// FailBeforeStart finishes a run whose command cannot be started, or must not start because a
// condition command failed. The error is the reason, and printed becomes the run's output. Like any
// run that began, it fires its hooks even if this process is killed.
func (r *Run) FailBeforeStart(err error, printed []byte) state.Row {
	if r.prepared {
		if berr := r.Begin(); berr != nil {
			return r.FailUnbegun(berr)
		}
	}
	r.output.Write(printed)
	result := r.soFar()
	result.Outcome, result.Reason, result.Ended = outcome.Failed, err.Error(), clock.Now()
	return r.finish(result)
}

// finish copies the output, runs the commands of the hooks, releases the lock, puts the
// notifications into the outbox, asks for the runs that the hooks trigger, ends the row, and begins
// to send the notifications. It goes on after a step that failed. Foreground runs, `sched finish`
// and lost runs share this code.
//
// This process owns the row, so no two processes finish the run at once. A process that is killed
// in the middle leaves the row finishing. The next tick finishes the run again, but does not fire
// hooks again that have ended.
func (r *Run) finish(result state.Row) state.Row {
	if r.row.Phase != state.Finishing && !r.endsAtOnce() && !r.unsettled && r.row.isTaken(r.settled(result)) {
		r.Close()
		return result
	}
	f := &finisher{run: r, result: result}
	_, renewer := r.renewLease(context.Background()) // the lock is held until the hooks are done
	f.keepOutput()
	f.pauseAfter()
	hooks := r.hooks.after(f.result)
	for _, h := range hooks {
		f.note(r.hooks.run(h, f.result)...)
	}
	f.note(renewer.End()...)
	if r.lock != nil {
		f.noteError(r.lock.Release(context.Background()))
	}
	for _, h := range hooks {
		r.hooks.queue(h, f.result)
		r.hooks.trigger(h, &f.result)
	}
	if r.unsettled { // the end cannot be written for now either, and the notifications cannot wait for that
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

// hooksAnyway is how long the hooks of a run wait for its result to be written.
const hooksAnyway = 10 * time.Second

// settled writes down what the run came to, before its hooks fire.
func (r *Run) settled(result state.Row) error {
	err := r.row.finishes(r.Terminate, result.Result, result.Notes)
	r.unsettled = err != nil
	return err
}

// endsAtOnce reports whether nothing stands between the result of the run and its end: it has no
// hooks to fire, no copy of its output to make, and does not pause its task.
func (r *Run) endsAtOnce() bool {
	hooks := r.task.Hooks
	return r.task.Output.File == "" && r.task.PauseAfter == 0 && len(hooks.After)+len(hooks.OnSuccess)+len(hooks.OnFailure)+len(hooks.OnRecovery)+len(hooks.OnSkip) == 0
}

// A finisher finishes a run. The result gets notes of what fails meanwhile.
type finisher struct {
	run    *Run
	result state.Row
}

func (f *finisher) note(notes ...string) { f.result.Notes = append(f.result.Notes, notes...) }

func (f *finisher) noteError(err error) {
	if err != nil {
		f.note(err.Error())
	}
}

// keepOutput cuts the output to its limit, and makes the copy for the key output.
func (f *finisher) keepOutput() {
	if f.hasOutput() {
		cut, err := output.Cut(f.result.Output, f.run.task.Output.Limit)
		f.noteError(err)
		if cut != "" {
			f.note(cut)
		}
	}
	if f.run.task.Output.File != "" && !f.run.row.none && f.result.Ran() && f.run.hooks.begin(outputCopied) {
		f.noteError(f.copyOutput())
		f.run.hooks.ended(outputCopied, "")
	}
}

// end ends the row of the run. It tries again until this process is asked to end: the hooks of the
// run must not fire again.
func (f *finisher) end() {
	r, path := f.run, output.Path(f.run.Dir, f.run.row.Row)
	if !f.hasOutput() {
		f.result.Output = ""
		os.Remove(path)
	}
	if hooks := output.HooksPath(path); !hasBytes(hooks) {
		os.Remove(hooks)
	}
	result := f.result
	waited := result.Outcome == outcome.Skipped && !result.Wait.Since.IsZero()
	err := r.row.ends(r.Terminate, state.End{
		Result: result.Result, Notes: result.Notes, Triggered: result.Triggered, Share: r.Store != nil,
		Unreported: r.row.Background && (result.Outcome.Failure() || waited) || result.Outcome == outcome.Lost,
	})
	if err != nil && !isStale(err) { // else another process has ended it
		r.complain("run %s of %s %s, but its record is lost: %v", result.ID, result.Task, result.Outcome, err)
	}
}

// hasOutput reports whether anything was printed into the output of the run.
func (f *finisher) hasOutput() bool {
	if f.run.output != nil {
		if info, err := f.run.output.Stat(); err == nil && info.Size() == 0 {
			return false
		}
	}
	return hasBytes(f.result.Output)
}

func hasBytes(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}
