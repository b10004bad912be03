package run

import (
	"context"
	"fmt"
	"os"
	"slices"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// Finish ends a run of this process whose command is over, and returns its record.
func (r *Run) Finish(result outcome.Record) outcome.Record { return r.finish(runfile.State{}, result) }

// FailBeforeStart ends a run whose command cannot be started, or must not since a condition command is broken: printed is what there is to show of
// that. The run has a file of its own by then, so its hooks fire even if this process is killed.
func (r *Run) FailBeforeStart(err error, printed []byte) outcome.Record {
	r.output.Write(printed)
	result := r.Record()
	result.Snapshot = nil
	result.Outcome, result.Reason, result.Ended = outcome.Failed, err.Error(), clock.Now()
	return r.Finish(result)
}

// finish copies the output, fires the shell hooks, releases the lock, puts the notifications into the outbox, writes the
// record, and has the notifications delivered; each even if the one before failed. It is the same code for
// foreground runs, for `sched finish`, and for runs that were lost; state is what the file said when it was taken.
//
// This process holds the run's file, so no two finish it at once. One that is killed in the middle leaves the file
// without an end; the next tick finishes it again, and hooks that were started are not started twice.
func (r *Run) finish(state runfile.State, result outcome.Record) outcome.Record {
	if state.Result == nil {
		r.file.Append(runfile.Event{Result: &result})
	}
	note := func(err error) {
		if err != nil {
			result.Notes = append(result.Notes, err.Error())
		}
	}
	if !state.Hooks[outputCopied] {
		note(r.copyOutput(result.Output))
		if r.task.Output.File != "" {
			r.file.Append(runfile.Event{Hook: outputCopied})
		}
	}

	_, lease := r.renewLease(context.Background()) // the lock is held until the hooks are done
	hooks := r.hooksAfter(result)
	for _, h := range hooks {
		result.Notes = append(result.Notes, r.runHooks(h, state, result)...)
	}

	result.Notes = append(result.Notes, lease.end()...)
	if r.lock != nil {
		note(r.lock.Release(context.Background()))
	}
	for _, h := range hooks {
		r.queueNotifications(h, state, result)
	}
	result = r.end(result)
	if r.output != nil {
		r.output.Close()
	}
	r.file.Close()
	r.sendQueued()
	return result
}

// outputCopied is the mark of a copy that was made, among those of the hooks.
const outputCopied = "output"

// end writes the record as the last event of the run's file. Where that is impossible, as on a full disk, the
// record goes to a spare state folder, and the file is removed: its hooks must not fire again with
// every tick. A file that is gone, with the state folder or alone, is made anew.
func (r *Run) end(result outcome.Record) outcome.Record {
	if info, err := os.Stat(result.Output); err != nil || info.Size() == 0 {
		result.Output = "" // putAway removes the file, and what else is empty
	}
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
			fmt.Fprintf(os.Stderr, "sched: run %s of %s %s, but its record is lost: %v\n", result.Run, result.Task, result.Outcome, err)
		}
		if !gone { // or what is there is not ours
			os.Remove(runfile.Path(r.Dir, result.Run))
		}
	}
	result.Snapshot = r.Record().Snapshot
	return result
}

// keepAside writes the record into a spare state folder, where the next tick finds it.
func (r *Run) keepAside(result outcome.Record) bool {
	if statedir.IsSpare(r.Dir) {
		return false // nobody would look in the spare folder of a spare one
	}
	spare, _ := statedir.OpenAnySpare(r.Dir)
	return spare != "" && runfile.CreateEnded(spare, r.Record(), result) == nil
}

// copyOutput makes the copy that output: asks for.
func (r *Run) copyOutput(captured string) error {
	to := r.task.Output
	if to.File == "" {
		return nil
	}
	from, err := statedir.OpenPlain(captured, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer from.Close()
	if r.task.As == (schedule.As{}) {
		err = process.CopyTo(to, from)
	} else {
		err = process.Spec{Task: &r.task, Caller: r.Environ}.CopyOutput(to, from)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// settle says how a run ended whose supervisor did not live to say it. It first ends what the
// supervisor left: nobody would stop it in time, and nobody would see how it ends.
//
// The code is what the witness saw of the supervisor; it is nil when no witness lived either.
func (r *Run) settle(state runfile.State, code *int) outcome.Record {
	result := r.soFar(state.Deferral)
	result.ExitCode = nil
	result.Ended = clock.Now()
	for _, note := range state.Notes {
		if !slices.Contains(result.Notes, note) { // it may have come with what earlier attempts came to
			result.Notes = append(result.Notes, note)
		}
	}
	group := 0
	if a := state.Attempt; a != nil {
		result.Attempts, group = a.Number, a.PID
		if state.Deferral == nil {
			result.Started = a.At
		}
	}
	left := r.orphans(group, result.Attempts, code)
	for _, group := range left {
		process.EndGroup(context.Background(), group, r.task.KillAfter)
		result.Ended = clock.Now()
	}
	switch {
	case code != nil && *code < 128: // the supervisor could not write down what it saw
		result.ExitCode = code
		result.Outcome, result.Reason = r.judge(*code)
	case code != nil:
		result.Outcome, result.ExitCode = outcome.Failed, code
		result.Reason = fmt.Sprintf("its supervisor was killed (exit code %d), and the command with it", *code)
	case state.Attempt == nil && len(left) == 0:
		result.Outcome, result.Reason = outcome.Lost, "sched was killed before the command started"
	case len(left) > 0:
		result.Outcome, result.Reason = outcome.Lost, "nobody watched its command any more, so it was ended"
	default:
		result.Outcome, result.Reason = outcome.Lost, "its processes vanished, and nobody saw how it ended"
	}
	return result
}

// orphans returns the process groups of the command that live on. Where a witness saw the supervisor
// die, this process has the output open itself and cannot ask who else has.
func (r *Run) orphans(group, attempt int, witness *int) []int {
	if witness == nil && !outputInUse(r.Record().Output) {
		return nil
	}
	return process.Orphans(r.Record().Run, group, attempt)
}
