package tick

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/state"
)

// collectLost finishes lost runs, goes on with the runs whose deferred retry is due, and tries
// again to deliver what waits in the outbox.
func (r *running) collectLost(noNewStarts context.Context) {
	if r.quiet {
		return
	}
	rows, err := r.starter.caller().Unwatched(context.Background())
	r.problemUnlessUnwritable(err)
	var all sync.WaitGroup
	slots := make(chan struct{}, collectedAtOnce)
	for _, row := range rows {
		if r.starter.handedOver.has(row.ID) {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			waits, err := r.starter.caller().Collect(row)
			r.problemUnlessUnwritable(err)
			if waits != nil {
				r.resume(noNewStarts, *waits)
			}
		})
	}
	all.Wait()
	r.deliveries.sendWaiting()
}

// collectedAtOnce is how many runs are collected at the same time: their hooks may be slow.
const collectedAtOnce = 16

// problemUnlessUnwritable reports an error. That the database cannot be written is said once.
func (r *running) problemUnlessUnwritable(err error) {
	if _, unwritable := r.records.memory.instead(err); err != nil && !unwritable {
		r.Report.Problem("%v", err)
	}
}

// startHeld starts runs that have waited for their mutex or a seat. It comes before the slots of
// the minute, and takes the run first that has waited longest. Otherwise a task that is due every
// minute would take its own mutex each time, and a request for it, or the next attempt of another
// task, would never run.
func (r *running) startHeld(noNewStarts context.Context) {
	if r.quiet || r.records.memory.inUse() {
		return
	}
	rows, _ := r.Storage.DB.Runs().Waiting(context.Background()) // startBackground of the requests reports an error
	for _, row := range rows {
		switch {
		case row.Wait.Since.IsZero():
		case row.Deferred():
			r.resume(noNewStarts, row)
		case row.Requested():
			r.requests.handOverAll(noNewStarts, []state.Row{row})
		}
	}
}

// reportEnded reports lost runs, and background runs that ended badly. No tick has reported them
// (docs/internals/decisions.md#the-next-tick-prints-a-failed-background-run). The runs that this
// tick handed over are for the next tick, however soon they end.
func (r *running) reportEnded() {
	if r.quiet {
		return
	}
	ctx := context.Background()
	rows, err := r.Storage.DB.Runs().Unreported(ctx)
	for _, row := range rows {
		if r.starter.handedOver.has(row.ID) {
			continue
		}
		ours, rerr := r.Storage.DB.Runs().Report(ctx, row.ID)
		if ours {
			r.Report.Done(row)
		}
		err = errors.Join(err, rerr)
	}
	if err != nil && !r.records.memory.inUse() { // else that was reported already
		r.Report.Problem("which runs have ended is not known: %v", err)
	}
}

// resume goes on with a run that waits for its next attempt, or for its turn, if its time has come.
func (r *running) resume(noNewStarts context.Context, row state.Row) {
	task := r.task(row.Task)
	if task == nil { // it goes by its snapshot
		task = &schedule.Task{Name: row.Task}
	}
	switch {
	case row.Stop != nil:
		r.problemUnlessUnwritable(r.starter.caller().GiveUp(row))
		return
	case noNewStarts.Err() != nil, r.Only != "" && r.Only != task.Name:
		return
	case !row.Queued() && (r.early(row.Wait.NotBefore) || r.admission.paused(task, row.Wait.NotBefore) != "" || r.admission.inMaintenance(task, r.Minute) != ""):
		return // for a run that waits for its turn, a pause counts when the turn comes
	}
	begun, err := r.starter.caller().Resume(row)
	if err == nil && begun != nil {
		if err = r.starter.resume(begun); err != nil {
			begun.Leave()
		}
	}
	switch {
	case err != nil:
		r.Report.Problem("%s waits on: %v", task.Name, err)
	case begun != nil && !row.Queued():
		r.Report.Started(begun.Row())
		r.Report.flush()
	}
}

// early reports whether a request or a deferred retry for the given time has to wait. A tick of a
// minute that has not come (--at) does not make it start earlier
// (docs/internals/decisions.md#requests-never-come-early).
func (t *Tick) early(at time.Time) bool {
	return at.After(t.Minute) || t.Replay && at.After(clock.Now().Truncate(time.Minute))
}
