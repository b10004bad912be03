package serve

import (
	"context"
	"errors"
	"net/http"

	"sched/schedule"
	"sched/schedule/view"
)

func postTrigger(r *Visit, a Asking) (any, error) { return r.Trigger(r.PathValue("name"), a) }

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
