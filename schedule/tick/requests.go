package tick

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/tick/claims"
	"sched/schedule/tick/plan"
)

// requests answers what people asked for with trigger and retry.
type requests struct {
	launcher *launcher
}

// waiting returns the requests that wait, the longest waiting first.
func (r requests) waiting() ([]state.Row, error) {
	rows, err := r.launcher.storage.DB.Runs().Waiting(context.Background())
	return slices.DeleteFunc(rows, func(row state.Row) bool { return !row.Requested() }), err
}

// startsAtOnce reports whether a hook or a person asked for a run that does not wait for its time.
func startsAtOnce(r state.Row) bool { return r.Wait.NotBefore.IsZero() }

func (r requests) startAtOnce() {
	waiting, _ := r.waiting()
	r.handOverAll(slices.DeleteFunc(waiting, func(row state.Row) bool { return !startsAtOnce(row) }))
}

// startBackground hands over the requested background runs whose time has come.
func (r requests) startBackground() {
	waiting, err := r.waiting()
	if err != nil && !state.Unwritable(err) { // the write of the history reports that
		r.launcher.report.Problem("what was asked for cannot be read: %v", err)
	}
	r.handOverAll(waiting)
}

func (r requests) handOverAll(waiting []state.Row) {
	r.beginAll(waiting, true, r.launcher.handOverBegun)
}

// inBackground reports whether a requested run does not wait for its turn in the foreground: no
// tick waits for a run that starts at once, or that a hook asked for
// (docs/internals/decisions.md#what-is-triggered-runs-in-the-background).
func inBackground(row state.Row, task *schedule.Task) bool {
	return task.Background || row.Cause != nil || startsAtOnce(row)
}

// beginAll begins the runs of the waiting requests whose time has come, in the background or the
// foreground, and has start go on with each. It refuses requests that can never run.
func (r requests) beginAll(waiting []state.Row, background bool, start func(*run.Run)) {
	for _, row := range waiting {
		if r.launcher.stops.noNewStarts.Err() != nil {
			return
		}
		isEarly := !startsAtOnce(row) && r.launcher.moment.isEarly(row.Wait.NotBefore)
		if isEarly || r.launcher.moment.excludes(row.Task) {
			continue
		}
		task := r.launcher.schedule.Task(row.Task)
		if reason := r.neverRuns(row, task); reason != "" {
			r.refuse(row, reason)
		} else if inBackground(row, task) == background && !r.waitsForPause(row, task) {
			if begun, ok := r.begin(row, task); ok {
				start(begun)
			}
		}
	}
}

// neverRuns returns why a request can never run now that the schedule has changed; "" if it can.
// The task is nil if the schedule has it no longer.
func (r requests) neverRuns(row state.Row, task *schedule.Task) string {
	if task == nil || !r.launcher.schedule.Active(task) {
		return "it is " + plan.WhyGone(r.launcher.schedule, row.Task)
	}
	if task.Lacks != "" {
		return task.Lacks + " (for ticks)"
	}
	if _, problem := task.CheckValues(row.Params); problem != nil {
		return problem.Error()
	}
	return ""
}

// waitsForPause reports whether a request waits for the end of a pause or a maintenance
// (docs/internals/decisions.md#requests-wait-for-the-end-of-a-maintenance).
func (r requests) waitsForPause(row state.Row, task *schedule.Task) bool {
	admitter := r.launcher.admission
	return admitter.PauseOf(task, row.Slot) != "" || admitter.MaintenanceOf(task, r.launcher.moment.minute) != ""
}

// begin begins the run of a request. While its mutex is held the request stays for a later tick.
// Neither the task's conditions nor one_server count: a person asked for the run, and on this
// server (docs/internals/decisions.md#a-request-overrides-conditions-not-the-mutex).
func (r requests) begin(row state.Row, task *schedule.Task) (*run.Run, bool) {
	current, err := r.launcher.storage.DB.Runs().Row(context.Background(), row.ID)
	if err != nil || !current.Requested() {
		return nil, false // another process has answered it: this one must not take its mutex, even for a moment
	}
	requested := *task // for its locks and its row; the snapshot has the task of the schedule
	requested.OneServer, requested.Background = false, inBackground(row, task)
	runRow := r.requestRow(row, &requested)
	lock, refusal := r.launcher.locks.Take(&runRow, schedule.Slot{Task: &requested, At: row.Slot})
	mayQueue := refusal.Cause == claims.Held && requested.Background && task.MaxWait > 0
	switch {
	case refusal.Cause == claims.None: // it has the lock
	case mayQueue && claims.WaitsAlready(r.launcher.storage.DB, task) == "":
		runRow.Wait, runRow.Attempt.Boot = waitOf(task), clock.BootID()
	case refusal.Cause == claims.Unknown: // this was reported: the request waits until the store answers
		r.launcher.locks.SkippedUnknown.Store(true)
		return nil, false
	default:
		r.putBack(row, task, refusal.Reason)
		return nil, false
	}
	begun, err := r.launcher.caller().Begin(runRow, task, lock)
	if err == nil {
		return begun, true
	}
	if !state.IsStale(err) { // else another tick has begun the run
		r.launcher.report.Problem("%s waits on, because it cannot begin: %v", row.Task, err)
	}
	if lock != nil {
		lock.Release(context.Background())
	}
	return nil, false
}

// putBack leaves a request whose mutex is held to later ticks, and refuses it after run.MaxHeld.
func (r requests) putBack(row state.Row, task *schedule.Task, reason string) {
	now := clock.Now().Truncate(time.Minute)
	switch {
	case row.Wait.Since.IsZero():
		row.Wait.For, row.Wait.Since = state.ForMutex, now
		if err := r.launcher.storage.DB.Runs().WaitOn(context.Background(), row.ID, row.Wait, reason); err != nil {
			r.launcher.report.Problem("%s waits on: %v", row.Task, err)
		}
	case clock.Now().Sub(row.Wait.Since) >= run.MaxHeld:
		r.refuse(row, fmt.Sprintf("it waited for %.0f hours: %s", run.MaxHeld.Hours(), reason))
	}
}

func (r requests) refuse(row state.Row, reason string) {
	task := taskOf(r.launcher.schedule, row)
	runRow := r.requestRow(row, task)
	if task.Lacks != "" {
		runRow.Kind = outcome.Lacking
	}
	if len(task.Hooks.OnSkip) > 0 { // its row takes the place of this one
		r.launcher.skip(runRow, task, reason)
		return
	}
	runRow = skippedRow(runRow, reason)
	result := state.Result{Outcome: outcome.Skipped, Kind: runRow.Kind, Reason: reason, Ended: runRow.Ended}
	settled, err := r.launcher.storage.DB.Runs().Settle(context.Background(), row.ID, result)
	if err != nil {
		r.launcher.report.Problem("%s waits on: %v", row.Task, err)
	} else if settled {
		r.launcher.skip(runRow, task, reason) // to report it: the history has the row already
	}
}

func (r requests) requestRow(row state.Row, task *schedule.Task) state.Row {
	runRow := rowOf(r.launcher.host.Server, schedule.Slot{Task: task, At: row.CommandSlot()})
	runRow.ID, runRow.Slot, runRow.Repeats = row.ID, row.Slot, row.Repeats
	if row.Nominal != "" {
		runRow.Nominal, runRow.Moved = row.Nominal, row.Moved
	}
	runRow.Origin, runRow.Cause = row.Origin, row.Cause
	runRow.NoChain, runRow.Params = row.NoChain, row.Params
	return runRow
}
