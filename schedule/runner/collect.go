package runner

import (
	"context"
	"errors"
	"time"

	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/run"

	"sched/schedule/clock"
)

// collectLost finishes the runs that are lost, and collects those that have ended. No tick has reported those that were lost, and the
// background runs that failed. It also goes on with the runs whose deferred retry is due, and tries again what was not delivered.
func (r *running) collectLost(noNewStarts context.Context) {
	for _, storage := range r.Storage.Folders() {
		caller := r.caller(storage)
		retry := func(d run.Deferred) (outcome.Record, bool) { return r.retryDeferred(noNewStarts, d) }
		for _, record := range caller.CollectLost(retry, func(err error) { r.Report.Problem("%v", err) }) {
			unstated := record.Background && record.Outcome.Failure() || record.Outcome == outcome.Lost
			r.records.add(run.Ended{Record: record, Dir: storage.Dir, Unstated: unstated})
		}
		r.sendWaiting(outbox.In(storage.Dir))
	}
}

// retryDeferred goes on with a run whose retry was deferred, if its time has come. Ended says that the run has ended instead.
func (r *running) retryDeferred(noNewStarts context.Context, d run.Deferred) (record outcome.Record, ended bool) {
	task := d.Task()
	switch {
	case d.Stopped():
		return d.Finish(), true
	case noNewStarts.Err() != nil, r.early(d.Until()), r.Only != "" && r.Only != task.Name,
		r.paused(task, d.Until()) != "", r.inMaintenance(task, r.Minute) != "":
		d.Leave()
		return record, false
	}
	record, err := d.Retry(r.Host.Self)
	if held, ok := errors.AsType[*run.HeldError](err); ok {
		return d.Hold(r.Minute, heldAtMost, held.Reason)
	}
	if err != nil {
		r.Report.Problem("%s waits on for attempt %d: %v", task.Name, d.Attempt(), err)
		return record, false
	}
	r.Report.Started(record)
	return record, false
}

// early reports whether it is too early for what is to run at a time. A tick of a minute that has not come (--at) does not make
// it come.
func (t *Tick) early(at time.Time) bool {
	return at.After(t.Minute) || t.Replay && at.After(clock.Now().Truncate(time.Minute))
}
