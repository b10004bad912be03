package tick

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
)

// heldAtMost is how long every tick tries again to begin a request, or a deferred retry, whose mutex is held.
const heldAtMost = 24 * time.Hour

// requests answers what people asked for with trigger and retry.
type requests struct{ *starter }

// waiting returns the requests that wait, also those of hooks that found the state folder full.
func (r requests) waiting() (all []runfile.Request, err error) {
	for _, storage := range r.Storage.Folders() {
		some, rerr := runfile.Requests(storage.Dir)
		all, err = append(all, some...), errors.Join(err, rerr)
	}
	return all, err
}

// startTriggered hands over the runs that hooks asked for.
func (r requests) startTriggered(noNewStarts context.Context) {
	waiting, _ := r.waiting()
	r.handOverAll(noNewStarts, slices.DeleteFunc(waiting, func(request runfile.Request) bool { return !request.Triggered }))
}

// startHeld is startBackground for requests that have waited for their mutex. It comes before the slots of the minute: a task that is due
// every minute would take its own mutex each time, and its request would never run.
func (r requests) startHeld(noNewStarts context.Context) {
	waiting, _ := r.waiting()
	r.handOverAll(noNewStarts, slices.DeleteFunc(waiting, func(request runfile.Request) bool { return request.HeldSince.IsZero() }))
}

// startBackground hands over the requested background runs whose time has come.
func (r requests) startBackground(noNewStarts context.Context) {
	waiting, err := r.waiting()
	if err != nil {
		r.Report.Problem("%v", err)
	}
	r.handOverAll(noNewStarts, waiting)
}

func (r requests) handOverAll(noNewStarts context.Context, waiting []runfile.Request) {
	r.each(noNewStarts, waiting, func(request runfile.Request, task *schedule.Task) {
		if inBackground(request, task) {
			if begun, ok := r.begin(request, task); ok {
				r.handOver(begun)
			}
		}
	})
}

// runRequested runs the requested foreground runs, in the order of the times they were requested for.
func (q *foregroundQueue) runRequested() {
	requests := q.tick.requests
	waiting, _ := requests.waiting() // again: the tasks of the minute may have taken long
	requests.each(q.contexts.noNewStarts, waiting, func(request runfile.Request, task *schedule.Task) {
		if !inBackground(request, task) {
			if begun, ok := requests.begin(request, task); ok {
				q.execute(begun)
			}
		}
	})
}

// inBackground reports whether the run of a request does not wait for its turn in the foreground: what is triggered starts at once, and
// no tick waits for it (docs/internals/decisions.md#what-is-triggered-runs-in-the-background).
func inBackground(request runfile.Request, task *schedule.Task) bool {
	return task.Background || request.Cause != nil
}

// each calls start for each of the waiting requests whose time has come, and refuses those that can never run. Requests for tasks
// that are paused or in maintenance go on waiting (docs/internals/decisions.md#requests-wait-for-the-end-of-a-maintenance).
func (r requests) each(ctx context.Context, waiting []runfile.Request, start func(runfile.Request, *schedule.Task)) {
	for _, request := range waiting {
		if ctx.Err() != nil {
			return
		}
		if !request.Triggered && r.early(request.At) || r.Only != "" && r.Only != request.Task {
			continue
		}
		switch task := r.task(request.Task); {
		case task == nil:
			r.refuse(request, "it is no longer in the schedule")
		case !r.Schedule.Active(task):
			r.refuse(request, "it is "+r.Schedule.Inactive(task))
		case r.admission.paused(task, request.At) != "", r.admission.inMaintenance(task, r.Minute) != "": // it waits on
		default:
			start(request, task)
		}
	}
}

// task returns the task with the name, or nil.
func (t *Tick) task(name string) *schedule.Task {
	for _, task := range t.Schedule.Tasks {
		if task.Name == name {
			return task
		}
	}
	return nil
}

// begin begins the run of a request. While its mutex is held the request stays for a later tick. Neither the task's conditions nor
// one_server count: a person asked for the run, and on this server (docs/internals/decisions.md#a-request-overrides-conditions-not-the-mutex).
func (r requests) begin(request runfile.Request, task *schedule.Task) (*run.Run, bool) {
	taken, ok := r.take(request)
	if !ok {
		return nil, false
	}
	here := *task
	here.OneServer, here.Background = false, inBackground(request, task)
	record := r.requestRecord(request, &here)
	lock, no := r.locks.take(&record, schedule.Slot{Task: &here, At: request.At})
	switch {
	case no.held && here.Background && task.WaitAtMost > 0 && taken.Dir == r.Storage.Dir && r.waitsAlready(task) == "":
		record.Wait = waitOf(task)
	case no.unknown == nil && no.reason != "":
		r.putBack(taken, task, no.reason)
		return nil, false
	case no.unknown != nil: // the store is down, which was reported: the request goes on waiting, for as long as that takes
		r.locks.skippedUnknown.Store(true)
		taken.Close()
		return nil, false
	}
	begun, err := r.caller(run.Storage{Dir: taken.Dir, Store: r.Storage.Store}).BeginRequest(taken, record, task, lock)
	if err != nil {
		if lock != nil {
			lock.Release(context.Background())
		}
		taken.Close()
		r.Report.Problem("%s waits on, since it cannot begin: %v", request.Task, err)
		return nil, false
	}
	if record.Queued() {
		r.queued.add(task.Name, taken.Dir, record.Run)
	}
	return begun, true
}

// take locks a request; false for one that another tick has locked, or has begun.
func (r requests) take(request runfile.Request) (*runfile.TakenRequest, bool) {
	taken, err := runfile.TakeRequest(request.Dir, request.Run)
	if err != nil && !errors.Is(err, runfile.ErrAlive) && !errors.Is(err, os.ErrNotExist) {
		r.Report.Problem("%s waits on: %v", request.Task, err)
	}
	return taken, err == nil
}

// putBack leaves a request whose mutex is held to later ticks, and refuses it after heldAtMost.
func (r requests) putBack(taken *runfile.TakenRequest, task *schedule.Task, reason string) {
	if !taken.HeldSince.IsZero() && clock.Now().Sub(taken.HeldSince) >= heldAtMost {
		r.refuseTaken(taken, task, fmt.Sprintf("it waited for %.0f hours: %s", heldAtMost.Hours(), reason))
		return
	}
	defer taken.Close()
	if taken.HeldSince.IsZero() {
		if err := taken.NoteHeld(clock.Now().Truncate(time.Minute)); err != nil {
			r.Report.Problem("%s waits on: %v", taken.Task, err)
		}
	}
}

// refuse records that a requested run is skipped, and removes the request.
func (r requests) refuse(request runfile.Request, reason string) {
	if taken, ok := r.take(request); ok {
		r.refuseTaken(taken, r.taskOf(request), reason)
	}
}

// refuseTaken is refuse for a request that is locked.
func (r requests) refuseTaken(taken *runfile.TakenRequest, task *schedule.Task, reason string) {
	record := r.requestRecord(taken.Request, task)
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	if err := taken.Refuse(record); err != nil {
		r.Report.Problem("%s waits on: %v", taken.Task, err)
		return
	}
	r.skip(record, task, reason)
}

// Cancel removes the request of a run, and records it as skipped for the reason. The error is runfile.ErrAlive
// while a tick begins its run, and os.ErrNotExist when it does not wait any more.
func (t *Tick) Cancel(id, reason string) (outcome.Record, error) {
	taken, err := runfile.TakeRequest(t.Storage.Dir, id)
	if err != nil {
		return outcome.Record{}, err
	}
	record := t.requestRecord(taken.Request, t.taskOf(taken.Request))
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	return record, taken.Refuse(record)
}

// taskOf returns the task of a request, or one with only its name if it is no longer in the schedule.
func (t *Tick) taskOf(request runfile.Request) *schedule.Task {
	if task := t.task(request.Task); task != nil {
		return task
	}
	return &schedule.Task{Name: request.Task, Mutex: request.Task}
}

// requestRecord returns the record of the run of a request.
func (t *Tick) requestRecord(request runfile.Request, task *schedule.Task) outcome.Record {
	record := t.newRecord(schedule.Slot{Task: task, At: request.At})
	record.Run, record.Origin, record.Cause = request.Run, request.Origin, request.Cause
	return record
}
