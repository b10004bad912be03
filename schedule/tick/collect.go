package tick

import (
	"context"
	"errors"
	"time"

	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
)

// collectLost finishes lost runs, collects ended ones, goes on with the runs whose deferred retry is due, and tries again to
// deliver what waits in the outbox. Lost runs, and background runs that failed, are reported when they are in the history: no tick
// has reported them (docs/internals/decisions.md#the-next-tick-prints-a-failed-background-run). The runs that this tick handed over are for
// the next one, however soon they end.
func (r *running) collectLost(noNewStarts context.Context) {
	r.starter.fireUnfired()
	for _, storage := range r.Storage.Folders() {
		caller := r.starter.caller(storage)
		retry := func(d run.Deferred) (outcome.Record, bool) { return r.retryDeferred(noNewStarts, d) }
		for _, record := range caller.CollectLost(r.starter.handedOver.has, retry, func(err error) { r.Report.Problem("%v", err) }) {
			task := r.task(record.Task)
			background := record.Background || task != nil && task.Retry.Lost // whose lost runs go on in the background
			skipped := record.Outcome == outcome.Skipped && record.Wait != (outcome.Wait{})
			unstated := background && (record.Outcome.Failure() || skipped) || record.Outcome == outcome.Lost
			r.records.add(run.Ended{Record: record, Dir: storage.Dir, Unstated: unstated})
		}
	}
	r.deliveries.sendWaiting()
}

// retryDeferred goes on with a run whose retry was deferred, if its time has come. Ended reports that the run has ended instead,
// with the record.
func (r *running) retryDeferred(noNewStarts context.Context, d run.Deferred) (record outcome.Record, ended bool) {
	task := d.Task()
	switch {
	case d.Stopped():
		return d.Finish(), true
	case d.Queued() && noNewStarts.Err() == nil && (r.Only == "" || r.Only == task.Name): // a pause counts when its turn comes
		if _, err := d.Retry(r.starter.handover.Give); err != nil {
			r.Report.Problem("%s waits on for its turn: %v", task.Name, err)
		}
		return record, false
	case d.Queued():
		d.Leave()
		return record, false
	case noNewStarts.Err() != nil, r.early(d.Until()), r.Only != "" && r.Only != task.Name,
		r.admission.paused(task, d.Until()) != "", r.admission.inMaintenance(task, r.Minute) != "":
		d.Leave()
		return record, false
	}
	record, err := d.Retry(r.starter.handover.Give)
	if held, ok := errors.AsType[*run.HeldError](err); ok {
		return d.Hold(clock.Now().Truncate(time.Minute), heldAtMost, held.Reason)
	}
	if err != nil {
		r.Report.Problem("%s waits on for attempt %d: %v", task.Name, d.Attempt(), err)
		return record, false
	}
	r.Report.Started(record)
	r.Report.flush()
	return record, false
}

// early reports whether a request or a deferred retry for the given time has to wait. A tick of a minute that has not come (--at)
// does not make it start earlier (docs/internals/decisions.md#requests-never-come-early).
func (t *Tick) early(at time.Time) bool {
	return at.After(t.Minute) || t.Replay && at.After(clock.Now().Truncate(time.Minute))
}
