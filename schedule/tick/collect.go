package tick

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/overdue"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/state"
)

// collectLost finishes lost runs, goes on with the runs whose deferred retry is due, and tries
// again to deliver what waits in the outbox.
func (r *running) collectLost() {
	if r.nothingToDo {
		return
	}
	if slices.ContainsFunc(r.tick.Schedule.Tasks, func(t *schedule.Task) bool { return t.Limits.NeedsCgroup() }) {
		process.SweepCgroups()
	}
	rows, err := r.launcher.caller().Unwatched(context.Background())
	r.problemUnlessUnwritable(err)
	slices.SortFunc(rows, state.InOrder)
	var all sync.WaitGroup
	busy := make(chan struct{}, collectedAtOnce)
	for _, row := range rows {
		if r.launcher.handedOverIDs.has(row.ID) {
			continue
		}
		if row.Queued() { // none may overtake another
			r.resume(row)
			continue
		}
		busy <- struct{}{}
		all.Go(func() {
			defer func() { <-busy }()
			waits, err := r.launcher.caller().Collect(row)
			r.problemUnlessUnwritable(err)
			if waits != nil {
				r.resume(*waits)
			}
		})
	}
	all.Wait()
	r.deliveries.sender.SendWaiting()
}

// stopPaused stops the runs of this machine that had begun before a pause which stops runs. Each
// tick in the pause does so, whatever became of the one before.
func (r *running) stopPaused() {
	if r.nothingToDo || r.tick.Replay || r.tick.Only != "" {
		return
	}
	live, _, err := r.tick.Storage.DB.LiveAndLost(context.Background())
	r.problemUnlessUnwritable(err)
	live = slices.DeleteFunc(live, func(row state.Row) bool { return row.Waits() || row.Test || row.Outcome != "" })
	if len(live) == 0 {
		return
	}
	var all sync.WaitGroup
	pauses, now := r.controls.now().Pauses, clock.Now()
	for _, row := range live {
		task := r.tick.Schedule.Task(row.Task)
		if task == nil {
			continue
		}
		if one, ok := pauses.Stopping(task, now); ok && row.Started.Before(one.Since) {
			all.Go(func() {
				err := r.launcher.caller().StopForPause(row.ID, one.By, "because it is "+one.Text(now, r.tick.Schedule.Location))
				gone := errors.Is(err, run.ErrNotRunning) || errors.Is(err, run.ErrVanished) || errors.Is(err, state.ErrNotFound)
				if err != nil && !gone {
					r.tick.Report.Problem("%s is not stopped: %v", row.Task, err)
				}
			})
		}
	}
	all.Wait()
}

// collectedAtOnce is how many runs are collected at the same time: their hooks may be slow.
const collectedAtOnce = 16

// problemUnlessUnwritable reports an error. That the database cannot be written is said once.
func (r *running) problemUnlessUnwritable(err error) {
	if _, unwritable := r.records.fallback.storageFor(err); err != nil && !unwritable {
		r.tick.Report.Problem("%v", err)
	}
}

// resumeQueued gives the runs that wait for their turn, and whose supervisor was killed, to the
// supervisor of this tick, in their order. It comes before the slots of the minute, so that none
// overtakes them.
func (r *running) resumeQueued() {
	if r.nothingToDo || r.records.fallback.inUse() {
		return
	}
	rows, _ := r.launcher.caller().Unwatched(context.Background()) // collectLost reports an error
	rows = slices.DeleteFunc(rows, func(row state.Row) bool { return !row.Queued() })
	slices.SortFunc(rows, state.InOrder)
	for _, row := range rows {
		r.resume(row)
	}
}

// startHeld starts runs that have waited for their mutex or a seat. It comes before the slots of
// the minute, and takes the run first that has waited longest. Otherwise a task that is due every
// minute would take its own mutex each time, and a request for it, or the next attempt of another
// task, would never run.
func (r *running) startHeld() {
	if r.nothingToDo || r.records.fallback.inUse() {
		return
	}
	rows, _ := r.tick.Storage.DB.Runs().Waiting(context.Background()) // startBackground of the requests reports an error
	for _, row := range rows {
		switch {
		case row.Wait.Since.IsZero():
		case row.Deferred():
			r.resume(row)
		case row.Requested():
			r.requests.handOverAll([]state.Row{row})
		}
	}
}

// reportEnded reports lost runs, and background runs that ended badly. No tick has reported them
// (docs/internals/decisions.md#the-next-tick-prints-a-failed-background-run). The runs that this
// tick handed over are for the next tick, however soon they end.
func (r *running) reportEnded() {
	if r.nothingToDo {
		return
	}
	ctx := context.Background()
	rows, err := r.tick.Storage.DB.Runs().Unreported(ctx)
	for _, row := range rows {
		if r.launcher.handedOverIDs.has(row.ID) {
			continue
		}
		ours, rerr := r.tick.Storage.DB.Runs().Report(ctx, row.ID)
		if ours {
			r.tick.Report.Done(row)
		}
		err = errors.Join(err, rerr)
	}
	if err != nil && !r.records.fallback.inUse() { // else that was reported already
		r.tick.Report.Problem("which runs have ended is not known: %v", err)
	}
}

// resume goes on with a run that waits for its next attempt, or for its turn, if its time has come.
func (r *running) resume(row state.Row) {
	task := r.tick.Schedule.Task(row.Task)
	if task == nil { // it goes by its snapshot
		task = &schedule.Task{Name: row.Task}
	}
	switch {
	case row.Stop != nil:
		r.problemUnlessUnwritable(r.launcher.caller().GiveUp(row))
		return
	case r.stops.noNewStarts.Err() != nil, r.tick.Only != "" && r.tick.Only != task.Name:
		return
	case !row.Queued() && (r.tick.early(row.Wait.NotBefore) || r.admission.paused(task, row.Wait.NotBefore) != "" || r.admission.inMaintenance(task, r.tick.Minute) != ""):
		return // for a run that waits for its turn, a pause counts when the turn comes
	}
	begun, err := r.launcher.caller().Resume(row)
	if err == nil && begun != nil {
		if err = r.launcher.resume(begun); err != nil {
			begun.Leave()
		}
	}
	switch {
	case err != nil:
		r.tick.Report.Problem("%s waits on: %v", task.Name, err)
	case begun != nil && !row.Queued():
		r.tick.Report.Started(begun.Row())
		r.tick.Report.flush()
	}
}

// early reports whether a request or a deferred retry for the given time has to wait. A tick of a
// minute that has not come (--at) does not make it start earlier
// (docs/internals/decisions.md#requests-never-come-early).
func (t *Tick) early(at time.Time) bool {
	return at.After(t.Minute) || t.Replay && at.After(clock.Now().Truncate(time.Minute))
}

// deliveries are the notifications that a tick sends, beside everything else.
type deliveries struct {
	tick    *Tick
	records *records
	sender  *notify.Sender // nil until start
}

// start begins to deliver notifications, so that no server that hangs delays a task. When kill is
// done the undelivered ones are left to a later tick.
func (d *deliveries) start(kill context.Context) {
	d.sender = notify.NewSender(kill, d.tick.Storage.DB, d.tick.Host.Environ)
	d.sender.Undelivered = d.reportUndelivered
	d.sender.Delivered = func(sent *notify.Delivery, target string) {
		d.tick.Report.detail("%s: %s: sent %s", sent.Message.Task, sent.Hook, target)
	}
}

// reportUndelivered prints that a delivery failed and what becomes of it, and notes both in the
// row of its run.
func (d *deliveries) reportUndelivered(failed *notify.Delivery, err error, what string) {
	d.tick.Report.Problem("%s: %s: %v; %s", failed.Message.Task, failed.Hook, err, what)
	d.records.note(failed.Run, failed.Hook+": "+err.Error()+"; "+what)
}

// watch returns what looks for tasks that are overdue. It returns nil if nothing is expected of any
// task, and for ticks with --at or --only.
func (r *running) watch() *overdue.Watch {
	tasks := r.tick.Schedule.Expecting()
	if len(tasks) == 0 || r.tick.Replay || r.tick.Only != "" {
		return nil
	}
	w := &overdue.Watch{DB: r.tick.Storage.DB, Tasks: tasks, Server: r.tick.Host.Server, Now: clock.Now}
	if r.tick.Storage.Store != nil {
		w.Elsewhere = overdue.Elsewhere(r.tick.Storage.Store, r.tick.Host.Server)
	}
	return w
}

// lookForOverdue finds tasks that are overdue, says so once, and fires their on_overdue hooks
// beside everything else.
func (r *running) lookForOverdue() {
	w := r.watch()
	if w == nil {
		return
	}
	began, untold, err := w.Look(r.liveRuns(w.Tasks))
	if err != nil {
		r.tick.problemHourly("overdue", "whether a task is overdue is not known: %v", err)
	}
	for _, i := range began {
		r.tick.Report.Problem("%s is overdue: %s", i.Task, i.Text(i.Found))
	}
	for _, i := range untold {
		task := r.tick.Schedule.Task(i.Task)
		r.launcher.skipHooks.Go(func() {
			notes, err := w.Tell(r.launcher.caller(), task, i)
			for _, note := range notes {
				r.tick.Report.Problem("%s: %s", i.Task, note)
			}
			if err != nil {
				r.tick.Report.Problem("that %s is overdue is told later: %v", i.Task, err)
			}
		})
	}
}

// liveRuns returns the runs that live, if a task has a bound for them.
func (r *running) liveRuns(tasks []*schedule.Task) []state.Row {
	if r.nothingToDo || !slices.ContainsFunc(tasks, func(t *schedule.Task) bool { return t.Expect.Within > 0 }) {
		return nil
	}
	live, _, _ := r.tick.Storage.DB.LiveAndLost(context.Background()) // collectLost reports an error
	return live
}
