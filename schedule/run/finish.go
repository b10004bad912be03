package run

import (
	"context"
	"os"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/run/previous"

	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// Finish ends a run of this process whose command is over, and returns its record.
func (r *Run) Finish(result outcome.Record) outcome.Record { return r.finish(runfile.State{}, result) }

// FailBeforeStart finishes a run whose command cannot be started, or must not since a condition command failed: the error is
// the reason, and printed becomes the run's output. Like any run that began, it fires its hooks even if this process is killed.
func (r *Run) FailBeforeStart(err error, printed []byte) outcome.Record {
	r.output.Write(printed)
	result := r.Record()
	result.Snapshot = nil
	result.Outcome, result.Reason, result.Ended = outcome.Failed, err.Error(), clock.Now()
	return r.Finish(result)
}

// finish copies the output, runs the commands of the hooks, releases the lock, puts the notifications into the outbox, asks for the
// runs that it triggers, writes the record, and begins to send the notifications; each even if the one before failed. It is the same code for
// foreground runs, for `sched finish`, and for lost runs; state is what the file said when this process took it.
//
// This process holds the run's file, so no two finish it at once. One that is killed in the middle leaves the file
// without an end; the next tick finishes it again, and hooks that were started are not started twice.
func (r *Run) finish(state runfile.State, result outcome.Record) outcome.Record {
	if state.Result == nil && !r.endsAtOnce() {
		r.file.Append(runfile.Event{Result: &result})
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
	if !state.Hooks[outputCopied] && result.Ran() {
		note(r.copyOutput(result.Output))
		if r.task.Output.File != "" {
			r.file.Append(runfile.Event{Hook: outputCopied})
		}
	}

	hooks := r.hooks.after(result)
	for _, h := range hooks {
		result.Notes = append(result.Notes, r.hooks.run(h, state, result)...)
	}

	result.Notes = append(result.Notes, renewer.End()...)
	if r.lock != nil {
		note(r.lock.Release(context.Background()))
	}
	for _, h := range hooks {
		r.hooks.queue(h, state, result)
		r.hooks.trigger(h, state, &result)
	}
	result = r.end(result)
	if r.output != nil {
		r.output.Close()
	}
	r.file.Close()
	r.hooks.startTriggered(result) // only now its mutex counts as free
	r.hooks.send()
	return result
}

// endsAtOnce reports whether nothing stands between the result of the run and its record, which says the same.
func (r *Run) endsAtOnce() bool {
	hooks := r.task.Hooks
	return r.lock == nil && r.task.Output.File == "" && len(hooks.After)+len(hooks.OnSuccess)+len(hooks.OnFailure)+len(hooks.OnRecovery)+len(hooks.OnSkip) == 0
}

// end writes the record as the last event of the run's file, and returns it. Where that is impossible, as on a full disk,
// the record goes to a spare state folder, and the file is removed: the hooks of the run must not fire again at every tick. A file that is gone, with the state folder or alone, is made anew.
func (r *Run) end(result outcome.Record) outcome.Record {
	if !r.hasOutput(result.Output) {
		result.Output = "" // RemoveFiles removes the file
	}
	previous.Keep(r.Dir, &r.task, result)
	gone := !statedir.IsAt(r.file.Descriptor(), runfile.Path(r.Dir, result.Run)) // before readers can see that the run is over
	err := r.file.Append(runfile.Event{End: &result})
	if err == nil && (r.output == nil || result.Duration() >= syncAfter) {
		err = r.file.Sync() // a short foreground run is in the database before its tick ends
	}
	if gone && err == nil {
		if err = statedir.Check(r.Dir); err == nil {
			err = runfile.CreateEnded(r.Dir, r.Record(), result)
		}
	}
	if err != nil {
		if !r.keepAside(result) {
			r.complain("run %s of %s %s, but its record is lost: %v", result.Run, result.Task, result.Outcome, err)
		}
		if !gone { // or what is there is not ours
			os.Remove(runfile.Path(r.Dir, result.Run))
		}
		r.file.Descriptor().Truncate(0) // whoever inherited the file must not finish the run again
	}
	result.Snapshot = r.Record().Snapshot
	return result
}

// keepAside writes the record into a spare state folder, where the next tick finds it. It reports whether that was possible.
func (r *Run) keepAside(result outcome.Record) bool {
	if statedir.IsSpare(r.Dir) {
		return false // ticks do not look into the spare folders of a spare one
	}
	spare, _ := statedir.OpenAnySpare(r.Dir)
	return spare != "" && runfile.CreateEnded(spare, r.Record(), result) == nil
}

// hasOutput reports whether anything was printed into the output of the run, which is at the path.
func (r *Run) hasOutput(path string) bool {
	if r.output != nil {
		if info, err := r.output.Stat(); err == nil && info.Size() == 0 {
			return false
		}
	}
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}
