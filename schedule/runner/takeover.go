package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/takeover"
	"sched/schedule/runfile"
	"sched/schedule/servers"
	"sched/schedule/text"
)

// This file is about deferred retries of one_server tasks whose servers do not tick any more (docs/many-servers.md#retries-that-survive-their-server):
// each tick tells of those that wait here, and takes over those of others. A later tick goes on with what was taken over as with its own.

// deferredRetry returns a run that waits here as the other servers are told of it; false for one that they cannot take over.
func (t *Tick) deferredRetry(state runfile.State) (retry servers.DeferredRetry, ok bool) {
	if !state.Deferred() || state.Deferral.Owner != "" || state.Stop != nil || state.Begin.Server != t.Host.Server {
		return retry, false
	}
	var task schedule.Task
	if json.Unmarshal(state.Begin.Snapshot, &task) != nil || !task.OneServer {
		return retry, false
	}
	d := state.Deferral
	retry = servers.DeferredRetry{Server: t.Host.Server, Environment: t.Schedule.Environment, Attempt: d.Attempt, Until: d.Until,
		Turn: d.Turn, Before: d.Before, Record: d.Record}
	retry.Record.Snapshot, retry.Record.Locks, retry.Record.Seat = nil, "", outcome.Seat{}
	return retry, true
}

// takeOver takes over what other servers were to go on with that do not tick any more, as far as its tasks may run here. What is
// impossible now is left to later ticks. What waits here was told of.
func (r *running) takeOver(found, here []servers.DeferredRetry) {
	for _, told := range found {
		if slices.ContainsFunc(here, func(own servers.DeferredRetry) bool { return own.Record.Run == told.Record.Run }) {
			servers.Withdraw(context.Background(), r.Storage.Store, told) //nolint: a later tick does, or it ends by itself
			continue
		}
		task := r.task(told.Record.Task)
		if task == nil || !r.mayTakeOver(told, task) {
			continue
		}
		from := fmt.Sprintf("attempt %d was taken over from %s, which has not ticked since %s", told.Attempt, told.Server,
			text.SecondZone(told.Seen, r.Schedule.Location))
		err := r.starter.caller(r.Storage).TakeRetry(told, task, r.Host.Server, from)
		var taken *takeover.TakenError
		switch {
		case err == nil:
			r.Report.Problem("%s: %s; the next tick starts it", task.Name, from)
		case errors.As(err, &taken) && taken.Over:
			servers.Withdraw(context.Background(), r.Storage.Store, told) //nolint: as above
		case taken != nil, errors.Is(err, os.ErrExist): // another server has it, or this one
		default:
			r.Report.detail("%s: attempt %d cannot be taken over from %s now: %v", task.Name, told.Attempt, told.Server, err)
			return
		}
	}
}

// mayTakeOver reports whether this tick may take a deferred retry of the task over.
func (r *running) mayTakeOver(told servers.DeferredRetry, task *schedule.Task) bool {
	switch {
	case r.Only != "" || r.Replay || r.locks.noNewStarts.Err() != nil:
		return false
	case !task.OneServer || !task.Background || told.Attempt < 2 || told.Attempt > task.Retry.Attempts:
		return false
	case !r.Schedule.Active(task) || told.Environment != r.Schedule.Environment:
		return false
	}
	return r.admission.paused(task, told.Until) == "" && r.admission.inMaintenance(task, r.Minute) == ""
}

// leaveTo leaves a deferred retry to the server that has taken it over; false where the error does not say so. Once the attempt was started
// there, that is recorded here. Until then it waits here, too: that server may be gone before it starts it.
func (r *running) leaveTo(d run.Deferred, err error) bool {
	var taken *takeover.TakenError
	switch {
	case !errors.As(err, &taken):
		return false
	case !d.Began():
		d.Forget()
	case taken.Over:
		r.records.add(d.TakenOver(taken))
	default:
		d.Leave()
	}
	return true
}
