package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
)

// heldAtMost is how long a request, or a deferred retry, that waits for its mutex is tried again with every tick.
const heldAtMost = 24 * time.Hour

// startRequested hands over the background runs that people asked for and whose time has come.
func (r *running) startRequested(noNewStarts context.Context) {
	requests, err := runfile.Requests(r.Storage.Dir)
	if err != nil {
		r.Report.Problem("%v", err)
	}
	r.eachRequest(noNewStarts, requests, func(request runfile.Request, task *schedule.Task) {
		if task.Background {
			if begun, ok := r.beginRequest(request, task); ok {
				r.handOver(begun)
			}
		}
	})
}

// runRequested runs the foreground runs that people asked for, in the order of the times they asked for.
func (q *foregroundQueue) runRequested() {
	requests, _ := runfile.Requests(q.tick.Storage.Dir) // again: the tasks of the minute may have taken long
	q.tick.eachRequest(q.contexts.noNewStarts, requests, func(request runfile.Request, task *schedule.Task) {
		if !task.Background {
			if begun, ok := q.tick.beginRequest(request, task); ok {
				q.execute(begun)
			}
		}
	})
}

// eachRequest calls start for each request whose time has come. What cannot run any more it refuses.
func (r *running) eachRequest(ctx context.Context, requests []runfile.Request, start func(runfile.Request, *schedule.Task)) {
	for _, request := range requests {
		if ctx.Err() != nil {
			return
		}
		if r.early(request.At) || r.Only != "" && r.Only != request.Task {
			continue
		}
		switch task := r.task(request.Task); {
		case task == nil:
			r.refuse(request, "it is no longer in the schedule")
		case !r.Schedule.Active(task):
			r.refuse(request, "it is switched off, or not for this environment")
		case r.paused(task, request.At) != "", r.inMaintenance(task, r.Minute) != "": // it waits on
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

// beginRequest begins the run of a request. While its mutex is held the request stays for a later tick. The task's conditions do not
// count, nor does one_server: a person asked for it, here.
func (r *running) beginRequest(request runfile.Request, task *schedule.Task) (*run.Run, bool) {
	taken, ok := r.take(request)
	if !ok {
		return nil, false
	}
	record, here := r.requestRecord(request, task), *task
	here.OneServer = false
	lock, reason := r.locks.take(&record, schedule.Slot{Task: &here, At: request.At})
	if reason != "" {
		r.putBack(taken, task, reason)
		return nil, false
	}
	begun, err := r.caller(r.Storage).BeginRequest(taken, record, task, lock)
	if err != nil {
		if lock != nil {
			lock.Release(context.Background())
		}
		taken.Close()
		r.Report.Problem("%s waits on, since it cannot begin: %v", request.Task, err)
		return nil, false
	}
	return begun, true
}

// take locks a request; false for one that another tick has, or took.
func (r *running) take(request runfile.Request) (*runfile.TakenRequest, bool) {
	taken, err := runfile.TakeRequest(r.Storage.Dir, request.Run)
	if err != nil && !errors.Is(err, runfile.ErrAlive) && !errors.Is(err, os.ErrNotExist) {
		r.Report.Problem("%s waits on: %v", request.Task, err)
	}
	return taken, err == nil
}

// putBack leaves a request whose mutex is held for later, but not for ever.
func (r *running) putBack(taken *runfile.TakenRequest, task *schedule.Task, reason string) {
	if !taken.HeldSince.IsZero() && r.Minute.Sub(taken.HeldSince) >= heldAtMost {
		r.refuseTaken(taken, task, fmt.Sprintf("it waited for %.0f hours: %s", heldAtMost.Hours(), reason))
		return
	}
	defer taken.Close()
	if taken.HeldSince.IsZero() {
		if err := taken.NoteHeld(r.Minute); err != nil {
			r.Report.Problem("%s waits on: %v", taken.Task, err)
		}
	}
}

// refuse records that a run which was asked for is skipped.
func (r *running) refuse(request runfile.Request, reason string) {
	if taken, ok := r.take(request); ok {
		r.refuseTaken(taken, r.taskOf(request), reason)
	}
}

func (r *running) refuseTaken(taken *runfile.TakenRequest, task *schedule.Task, reason string) {
	record := r.requestRecord(taken.Request, task)
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	if err := taken.Refuse(record); err != nil {
		r.Report.Problem("%s waits on: %v", taken.Task, err)
		return
	}
	r.skip(record, task, reason)
}

// Cancel takes a request back, and records that. The error is runfile.ErrAlive while a tick begins its run, and os.ErrNotExist when
// it does not wait any more.
func (t *Tick) Cancel(id, reason string) (outcome.Record, error) {
	taken, err := runfile.TakeRequest(t.Storage.Dir, id)
	if err != nil {
		return outcome.Record{}, err
	}
	record := t.requestRecord(taken.Request, t.taskOf(taken.Request))
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	return record, taken.Refuse(record)
}

// taskOf is the task of a request, or a stand-in for one that is no longer in the schedule.
func (t *Tick) taskOf(request runfile.Request) *schedule.Task {
	if task := t.task(request.Task); task != nil {
		return task
	}
	return &schedule.Task{Name: request.Task, Mutex: request.Task}
}

func (t *Tick) requestRecord(request runfile.Request, task *schedule.Task) outcome.Record {
	record := t.newRecord(schedule.Slot{Task: task, At: request.At})
	record.Run, record.Origin = request.Run, request.Origin
	return record
}
