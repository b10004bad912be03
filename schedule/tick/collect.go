package tick

import (
	"context"
	"errors"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/run"
	"sched/schedule/state"
)

// collectLost finishes lost runs, goes on with the runs whose deferred retry is due, and tries
// again to deliver what waits in the outbox.
func (r *running) collectLost(noNewStarts context.Context) {
	if r.quiet {
		return
	}
	retry := func(d run.Deferred) (state.Row, bool) { return r.retryDeferred(noNewStarts, d) }
	r.starter.caller().CollectLost(r.starter.handedOver.has, retry, func(err error) {
		if _, unwritable := r.records.memory.instead(err); !unwritable { // else that is said once
			r.Report.Problem("%v", err)
		}
	})
	r.deliveries.sendWaiting()
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
			r.retryDeferred(noNewStarts, r.starter.caller().Deferred(row))
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

// retryDeferred goes on with a run whose retry was deferred, if its time has come. Ended reports
// that the run has ended instead, with the record.
func (r *running) retryDeferred(noNewStarts context.Context, d run.Deferred) (record state.Row, ended bool) {
	task := r.task(d.Row.Task)
	if task == nil { // it goes by its snapshot
		task = &schedule.Task{Name: d.Row.Task}
	}
	switch {
	case d.Row.Stop != nil:
		return d.Finish()
	case noNewStarts.Err() != nil, r.Only != "" && r.Only != task.Name:
		return record, false
	case !d.Row.Queued() && (r.early(d.Row.Wait.NotBefore) || r.admission.paused(task, d.Row.Wait.NotBefore) != "" || r.admission.inMaintenance(task, r.Minute) != ""):
		return record, false // for a run that waits for its turn, a pause counts when the turn comes
	}
	record, started, ended, err := d.Retry(r.starter.resume)
	if err != nil {
		r.Report.Problem("%s waits on: %v", task.Name, err)
	}
	if started && !d.Row.Queued() {
		r.Report.Started(record)
		r.Report.flush()
	}
	return record, ended
}

// early reports whether a request or a deferred retry for the given time has to wait. A tick of a
// minute that has not come (--at) does not make it start earlier
// (docs/internals/decisions.md#requests-never-come-early).
func (t *Tick) early(at time.Time) bool {
	return at.After(t.Minute) || t.Replay && at.After(clock.Now().Truncate(time.Minute))
}
