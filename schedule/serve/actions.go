package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sched/schedule"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// maxRunWait is how long the answer to a trigger may wait for the end of the run.
const maxRunWait = 10 * time.Minute

func postTrigger(r *Visit, a Asking) (any, error) {
	var patience time.Duration
	if given := r.query.Get("wait"); given != "" {
		var err error
		if patience, err = yamldoc.ParseDuration(given); err != nil || patience <= 0 || patience > maxRunWait {
			return nil, badRequest("write it as 60s, at most 10m", "wait %q is not a time to wait", Shortened(given))
		}
	}
	request, err := r.Trigger(r.PathValue("name"), a)
	if err != nil || patience == 0 {
		return request, err
	}
	source := r.View
	return content{later: func(ctx context.Context) (any, error) {
		select {
		case r.server.following <- struct{}{}:
			defer func() { <-r.server.following }()
		default:
			return request, nil
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return afterRun(ctx, source, request)
	}}, nil
}

// afterRun answers with a request: when its run has ended with the record and status 200, or else
// when ctx ends. An error of the history ends the waiting, and not the run.
func afterRun(ctx context.Context, source view.Source, request view.Request) (any, error) {
	for {
		row, wait, err := view.Poll(ctx, source, state.Row{ID: request.Run})
		if err == nil && row.Outcome != "" {
			request.Record = new(view.RecordOf(row))
			return content{status: http.StatusOK, value: request}, nil
		}
		if err != nil {
			return request, nil
		}
		select {
		case <-ctx.Done():
			return request, nil
		case <-time.After(max(wait, time.Second/10)): // the next tick finishes a run that vanished
		}
	}
}

func postRetry(r *Visit, a Asking) (any, error) { return r.Retry(r.PathValue("id"), a) }

func postStop(r *Visit, body Reason) (any, error) {
	whole, err := r.Stop(r.PathValue("id"), body.Reason)
	return afterStop(r, whole, err)
}

func postCancel(r *Visit, body Reason) (any, error) {
	whole, err := r.Cancel(r.PathValue("id"), body.Reason)
	return afterStop(r, whole, err)
}

// afterStop answers with a run that was asked to end: status 202 while it has not ended yet.
func afterStop(r *Visit, whole string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxAnswerTime)
	defer cancel()
	run, err := view.FindRun(ctx, r.View, whole)
	c := content{value: run}
	if run.State != view.RunEnded {
		c.status = http.StatusAccepted
	}
	return c, err
}

func postPause(r *Visit, body PauseRequest) (any, error) {
	paused, err := r.Pause(body)
	return pageOf(paused, cursor{}), err
}

func deletePause(r *Visit) (any, error) {
	return nil, r.Resume(r.PathValue("id"), r.Header.Get("Sched-Reason"))
}

func postHook(r *Visit) (any, error) {
	if err := r.checkHook(); err != nil {
		return nil, err
	}
	request, err := r.Trigger(r.Who.Task, Asking{})
	if missing, ok := errors.AsType[*schedule.MissingValueError](err); ok {
		return nil, badRequest(HookHint, "a hook sets no params: %v", missing)
	}
	return request, err
}

// HookHint says what to do if a hook cannot trigger a task, because a param has no default.
const HookHint = "give it a default, or trigger the task with a token of the scope operate, which may set params"
