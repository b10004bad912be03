package tick

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/pause"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/state"
)

// This file is about runs that other ticks have begun: runs that wait and whose time has come, runs
// of processes that were killed, runs that have ended badly, and runs that a pause stops.

// resumeQueued gives the runs that wait for their turn, and whose supervisor was killed, to the
// supervisor of this tick, in their order. It comes before the slots of the minute, so that no slot
// overtakes such a run.
func (r *tickRun) resumeQueued() {
	if r.records.fallback.inUse() {
		return
	}
	rows, _ := r.unwatched() // collectLost reports an error
	for _, row := range rows {
		if row.Queued() {
			r.collect(row)
		}
	}
}

// startLongestWaiting starts the runs that have waited for their mutex or a seat, the longest
// waiting first. It comes before the slots of the minute. Otherwise a task that is due every minute
// would take its own mutex each time, and a request for it, or the next attempt of another task,
// would never run. A slot of a task that replaces its runs comes before the next attempt of an
// older one.
func (r *tickRun) startLongestWaiting() {
	if r.records.fallback.inUse() {
		return
	}
	rows, _ := r.tick.Storage.DB.Runs().Waiting(context.Background()) // requests.startBackground reports an error
	for _, row := range rows {
		switch {
		case row.Wait.Since.IsZero(): // it has not waited yet
		case row.Deferred() && r.tick.taskOf(row).Replace:
		case row.Deferred():
			r.collect(row)
		case row.Requested():
			r.requests.handOverAll([]state.Row{row})
		}
	}
}

// settleCopied ends the rows of a copied state folder whose runs belong to the folder that was
// copied, before any other step of the tick could end their commands or fire their hooks. An error
// is left to the plan, which meets it, too.
func (t *Tick) settleCopied() {
	rows, err := t.Storage.DB.Owners().SettleCopied(context.Background())
	if err == nil && len(rows) > 0 {
		const format = "%s is a copy of another state folder: what goes on there is left alone, and is over here (%s)"
		t.Report.Problem(format, t.Storage.Dir, state.NamesOf(rows))
	}
}

// maxCollecting is how many runs are collected at the same time: their hooks may be slow.
const maxCollecting = 16

// collectLost removes cgroups that dead runs left, finishes lost runs, goes on with the runs whose
// deferred retry is due, and tries again to deliver the messages that wait in the outbox.
func (r *tickRun) collectLost() {
	needsCgroup := func(t *schedule.Task) bool { return t.Limits.NeedsCgroup() }
	if slices.ContainsFunc(r.tick.Schedule.Tasks, needsCgroup) {
		process.SweepCgroups()
	}
	rows, err := r.unwatched()
	r.records.fallback.reportOrFallBack(err)
	var collecting sync.WaitGroup
	places := make(chan struct{}, maxCollecting)
	for _, row := range rows {
		if _, handedOver := r.launcher.handedOverIDs.Load(row.ID); handedOver {
			continue
		}
		if row.Queued() { // one after another: such runs keep their order
			r.collect(row)
			continue
		}
		places <- struct{}{}
		collecting.Go(func() {
			defer func() { <-places }()
			r.collect(row)
		})
	}
	collecting.Wait()
	r.launcher.sender.SendWaiting()
}

// collect finishes a run that no process looks after, or goes on with it if its time has come.
func (r *tickRun) collect(row state.Row) {
	goesOn, err := r.launcher.caller().Collect(row, r.factsOf(row))
	r.records.fallback.reportOrFallBack(err)
	if goesOn == nil {
		return
	}
	switch run.Next(*goesOn, r.factsOf(*goesOn)) {
	case run.Start, run.Queue:
		r.resume(*goesOn)
	}
}

// factsOf returns what this tick knows about a run that no process looks after.
func (r *tickRun) factsOf(row state.Row) run.Facts {
	task := r.tick.taskOf(row)
	return run.Facts{
		Unrecorded:  run.UnrecordedStarts(r.tick.Storage.Dir, row),
		Now:         clock.Now(),
		DueBy:       r.tick.dueBy(),
		MayNotBegin: r.stops.noNewStarts.Err() != nil || r.tick.Only != "" && r.tick.Only != task.Name,
		IsPaused: (row.Deferred() || row.BetweenAttempts()) && (r.admission.pauseOf(task, row.Wait.NotBefore) != "" ||
			r.admission.maintenanceOf(task, r.tick.Minute) != ""),
	}
}

// unwatched returns the runs that no process looks after, in the order in which they wait.
func (r *tickRun) unwatched() ([]state.Row, error) {
	rows, err := r.launcher.caller().Unwatched(context.Background())
	slices.SortFunc(rows, state.InOrder)
	return rows, err
}

// resume gives a run that waits to the supervisor of this tick.
func (r *tickRun) resume(row state.Row) {
	begun, err := r.resumeNow(row)
	if err != nil {
		r.tick.Report.Problem("%s waits on: %v", r.tick.taskOf(row).Name, err)
		return
	}
	if begun != nil && !row.Queued() {
		r.tick.Report.Started(begun.Row())
		r.tick.Report.flush()
	}
}

// taskOf returns the task of a row, or one with only its name if it is no longer in the schedule:
// the run uses its snapshot.
func (t *Tick) taskOf(row state.Row) *schedule.Task {
	if task := t.Schedule.Task(row.Task); task != nil {
		return task
	}
	return &schedule.Task{Name: row.Task, Mutex: row.Task}
}

// resumeNow gives a run that waits to the supervisor of this tick. The result is nil if the run
// waits on, or if another process has it (run.Caller.Resume). After an error it waits on, too.
func (r *tickRun) resumeNow(row state.Row) (*run.Run, error) {
	begun, err := r.launcher.caller().Resume(row)
	if begun == nil || err != nil {
		return nil, err
	}
	r.launcher.handedOverIDs.Store(row.ID, true)
	if err := r.launcher.supervisors.HandOver(begun); err != nil { // the run still belongs to this process
		begun.GiveBack()
		return nil, err
	}
	return begun, nil
}

// reportEnded reports lost runs, and background runs that ended badly. No tick has reported them
// (docs/internals/decisions.md#the-next-tick-prints-a-failed-background-run). The runs that this
// tick handed over are for the next tick, however soon they end.
func (r *tickRun) reportEnded() {
	ctx := context.Background()
	rows, err := r.tick.Storage.DB.Runs().Unreported(ctx)
	for _, row := range rows {
		if _, handedOver := r.launcher.handedOverIDs.Load(row.ID); handedOver {
			continue
		}
		ours, rerr := r.tick.Storage.DB.Runs().ClaimReport(ctx, row.ID)
		if ours {
			row.Notes = r.records.notReported(row)
			r.tick.Report.done(row)
		}
		err = errors.Join(err, rerr)
	}
	if err != nil && !r.records.fallback.inUse() { // else that was reported already
		r.tick.Report.Problem("which runs have ended is not known: %v", err)
	}
}

// isEarly reports whether a request or a deferred retry for the given time has to wait. A tick of a
// minute that has not come (--at) does not make it start earlier
// (docs/internals/decisions.md#requests-never-come-early).
func (t *Tick) isEarly(at time.Time) bool { return at.After(t.dueBy()) }

// stopPaused stops the runs of this machine that had begun before a pause which stops runs. Each
// tick during the pause does that, whatever became of the tick before.
func (r *tickRun) stopPaused() {
	if r.tick.Replay || r.tick.Only != "" {
		return
	}
	live, _, err := r.tick.Storage.DB.LiveAndLost(context.Background())
	r.records.fallback.reportOrFallBack(err)
	live = slices.DeleteFunc(live, func(row state.Row) bool { return row.Waits() || row.Test || row.Outcome != "" })
	if len(live) == 0 {
		return
	}
	var stopping sync.WaitGroup
	pauses, now := r.controls.current().Pauses, clock.Now()
	for _, row := range live {
		task := r.tick.Schedule.Task(row.Task)
		if task == nil {
			continue
		}
		if p, ok := pauses.Stopping(task, now); ok && row.Started.Before(p.Since) {
			stopping.Go(func() { r.stopForPause(row, p, now) })
		}
	}
	stopping.Wait()
}

// stopForPause stops a run. A run that has ended meanwhile is no problem.
func (r *tickRun) stopForPause(row state.Row, p pause.Pause, now time.Time) {
	reason := "because it is " + p.Text(now, r.tick.Schedule.Location)
	err := r.launcher.caller().StopForPause(row.ID, p.By, reason)
	isErr := func(ended error) bool { return errors.Is(err, ended) }
	if err != nil && !slices.ContainsFunc([]error{run.ErrNotRunning, run.ErrVanished, state.ErrNotFound}, isErr) {
		r.tick.Report.Problem("%s is not stopped: %v", row.Task, err)
	}
}
