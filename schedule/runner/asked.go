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

	"sched/schedule/runfile"
)

// heldAtMost is how long what waits for its mutex tries again with every tick.
const heldAtMost = 24 * time.Hour

// startAsked forks the background runs that people asked for and whose time has come.
func (t *Tick) startAsked(ctx context.Context) {
	requests, err := runfile.Requests(t.State.Dir)
	if err != nil {
		t.Problem("%v", err)
	}
	t.eachAsked(ctx, requests, func(request runfile.Request, task *schedule.Task) {
		if task.Background {
			if r, ok := t.answer(request, task); ok {
				t.launch(r)
			}
		}
	})
}

// runAsked runs the foreground runs that people asked for, in the order of the times they asked for.
func (t *Tick) runAsked(enough, stop, hurry context.Context) (failed bool) {
	requests, _ := runfile.Requests(t.State.Dir) // again: the tasks of the minute may have taken long
	t.eachAsked(enough, requests, func(request runfile.Request, task *schedule.Task) {
		if task.Background {
			return
		}
		if r, ok := t.answer(request, task); ok {
			t.begun(r)
			record := r.finish(runfile.State{}, r.supervise(stop, hurry))
			t.done(record, r.state.Dir)
			failed = failed || record.Outcome.Failure()
		}
	})
	return failed
}

// eachAsked calls do for each request whose time has come. What cannot run any more it refuses.
func (t *Tick) eachAsked(ctx context.Context, requests []runfile.Request, do func(runfile.Request, *schedule.Task)) {
	for _, request := range requests {
		if ctx.Err() != nil {
			return
		}
		if t.early(request.At) || t.Only != "" && t.Only != request.Task {
			continue
		}
		switch task := t.task(request.Task); {
		case task == nil:
			t.refuse(request, "it is no longer in the schedule")
		case !t.Schedule.Active(task):
			t.refuse(request, "it is switched off, or not for this environment")
		case t.paused(task, request.At) != "", t.maintenance(task, t.Minute) != "": // it waits on
		default:
			do(request, task)
		}
	}
}

// early reports whether it is too early for what was asked for. A tick of a minute that has not come
// (--at) does not make it come.
func (t *Tick) early(at time.Time) bool {
	return at.After(t.Minute) || t.Replay && at.After(clock.Now().Truncate(time.Minute))
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

// answer begins the run of a request. While its mutex is held the request stays for a later tick. The
// task's conditions do not count, nor does one_server: a person asked for it, here.
func (t *Tick) answer(request runfile.Request, task *schedule.Task) (*Run, bool) {
	taken, ok := t.take(request)
	if !ok {
		return nil, false
	}
	record, alone := t.askedRecord(request, task), *task
	alone.OneServer = false
	lock, reason := t.lock(&record, schedule.Slot{Task: &alone, At: request.At})
	if reason != "" {
		t.putBack(taken, task, reason)
		return nil, false
	}
	r, err := beginAs(taken.Begin, t.State, record, task, lock, t.Environ)
	if err != nil {
		if lock != nil {
			lock.Release(context.Background())
		}
		taken.Close()
		t.Problem("%s waits on, since it cannot begin: %v", request.Task, err)
		return nil, false
	}
	r.postman = t.postman
	return r, true
}

// take locks a request. What another tick has, or took, is none of ours.
func (t *Tick) take(request runfile.Request) (*runfile.TakenRequest, bool) {
	taken, err := runfile.TakeRequest(t.State.Dir, request.Run)
	if err != nil && !errors.Is(err, runfile.ErrAlive) && !errors.Is(err, os.ErrNotExist) {
		t.Problem("%s waits on: %v", request.Task, err)
	}
	return taken, err == nil
}

// putBack leaves a request whose mutex is held for later, but not for ever.
func (t *Tick) putBack(taken *runfile.TakenRequest, task *schedule.Task, reason string) {
	if !taken.HeldSince.IsZero() && t.Minute.Sub(taken.HeldSince) >= heldAtMost {
		t.refuseTaken(taken, task, fmt.Sprintf("it waited for %.0f hours: %s", heldAtMost.Hours(), reason))
		return
	}
	defer taken.Close()
	if taken.HeldSince.IsZero() {
		if err := taken.NoteHeld(t.Minute); err != nil {
			t.Problem("%s waits on: %v", taken.Task, err)
		}
	}
}

// refuse records that a run which was asked for is skipped.
func (t *Tick) refuse(request runfile.Request, reason string) {
	if taken, ok := t.take(request); ok {
		t.refuseTaken(taken, t.taskOf(request), reason)
	}
}

func (t *Tick) refuseTaken(taken *runfile.TakenRequest, task *schedule.Task, reason string) {
	record := t.askedRecord(taken.Request, task)
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	if err := taken.Refuse(record); err != nil {
		t.Problem("%s waits on: %v", taken.Task, err)
		return
	}
	t.skip(record, task, reason)
}

// Cancel takes a request back, and records that.
func (t *Tick) Cancel(run, reason string) (outcome.Record, error) {
	taken, err := runfile.TakeRequest(t.State.Dir, run)
	if err != nil {
		return outcome.Record{}, err
	}
	record := t.askedRecord(taken.Request, t.taskOf(taken.Request))
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
	return record, taken.Refuse(record)
}

// taskOf is the task of a request, or what is known of one that is no longer in the schedule.
func (t *Tick) taskOf(request runfile.Request) *schedule.Task {
	if task := t.task(request.Task); task != nil {
		return task
	}
	return &schedule.Task{Name: request.Task, Mutex: request.Task}
}

func (t *Tick) askedRecord(request runfile.Request, task *schedule.Task) outcome.Record {
	record := t.newRecord(schedule.Slot{Task: task, At: request.At})
	record.Run, record.Origin = request.Run, request.Origin
	return record
}
