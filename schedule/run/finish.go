package run

import (
	"context"
	"errors"
	"os"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// Finish ends a run of this process whose command is over, and returns its record.
func (r *Run) Finish(result state.Row) state.Row { return r.finish(result) }

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
	if r.row.Phase != state.Finishing && !r.endsAtOnce() && !r.unsettled && r.isTaken(r.settled(result)) {
		r.Close()
		return result
	}
	note := func(err error) {
		if err != nil {
			result.Notes = append(result.Notes, err.Error())
		}
	}
	_, renewer := r.renewLease(context.Background()) // the lock is held until the hooks are done
	if r.hasOutput(result.Output) {
		cut, err := output.Cut(result.Output, r.task.Output.Limit)
		note(err)
		if cut != "" {
			result.Notes = append(result.Notes, cut)
		}
	}
	if r.task.Output.File != "" && result.Ran() && r.hooks.begin(outputCopied) {
		note(r.copyOutput(result.Output))
		r.hooks.ended(outputCopied, "")
	}

	hooks := r.hooks.after(result)
	for _, h := range hooks {
		result.Notes = append(result.Notes, r.hooks.run(h, result)...)
	}

	result.Notes = append(result.Notes, renewer.End()...)
	if r.lock != nil {
		note(r.lock.Release(context.Background()))
	}
	for _, h := range hooks {
		r.hooks.queue(h, result)
		r.hooks.trigger(h, &result)
	}
	if r.unsettled { // the end cannot be written for now either, and the notifications cannot wait for that
		r.hooks.send()
	}
	result = r.end(result)
	if r.output != nil {
		r.output.Close()
	}
	r.hooks.startTriggered(result) // only now its mutex counts as free
	r.hooks.send()
	return result
}

// hooksAnyway is how long the hooks of a run wait for its result to be written.
const hooksAnyway = 10 * time.Second

// settled writes down what the run came to, before its hooks fire.
func (r *Run) settled(result state.Row) error {
	came := result.Result
	err := r.persist(hooksAnyway, func(ctx context.Context) error { return r.own.Finish(ctx, r.row.ID, came, result.Notes) },
		func(row *state.Row) { row.Phase, row.Result, row.Notes = state.Finishing, came, result.Notes })
	r.unsettled = err != nil
	return err
}

// endsAtOnce reports whether nothing stands between the result of the run and its end: it has no
// hooks to fire, and no copy of its output to make.
func (r *Run) endsAtOnce() bool {
	hooks := r.task.Hooks
	return r.task.Output.File == "" && len(hooks.After)+len(hooks.OnSuccess)+len(hooks.OnFailure)+len(hooks.OnRecovery)+len(hooks.OnSkip) == 0
}

// end ends the row of the run, and returns the record. It tries again until this process is asked
// to end: the hooks of the run must not fire again.
func (r *Run) end(result state.Row) state.Row {
	path := output.Path(r.Dir, r.record)
	if !r.hasOutput(result.Output) {
		result.Output = ""
		os.Remove(path)
	}
	if hooks := output.HooksPath(path); !hasBytes(hooks) {
		os.Remove(hooks)
	}
	waited := result.Outcome == outcome.Skipped && !result.Wait.Since.IsZero()
	err := r.persist(0, func(ctx context.Context) error {
		return r.own.End(ctx, r.row.ID, state.End{
			Result: result.Result, Notes: result.Notes, Triggered: result.Triggered, Share: r.Store != nil,
			Unreported: r.row.Background && (result.Outcome.Failure() || waited) || result.Outcome == outcome.Lost,
		})
	}, func(row *state.Row) { row.Phase = state.Ended })
	var stale *state.StaleError
	if err != nil && !errors.As(err, &stale) { // else another process has ended it
		r.complain("run %s of %s %s, but its record is lost: %v", result.ID, result.Task, result.Outcome, err)
	}
	result.Snapshot = r.record.Snapshot
	return result
}

// hasOutput reports whether anything was printed into the output of the run, which is at the path.
func (r *Run) hasOutput(path string) bool {
	if r.output != nil {
		if info, err := r.output.Stat(); err == nil && info.Size() == 0 {
			return false
		}
	}
	return hasBytes(path)
}

func hasBytes(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}
