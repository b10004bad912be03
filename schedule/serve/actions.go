package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// This file has the actions on runs: trigger, retry, stop and cancel. An action on a run of another
// server is refused; servers tell each other only of runs that have begun.

// An Asking is the body of a request for a run: when it is to start, and why. Without In and At it
// starts now.
type Asking struct {
	In     *float64 `json:"in,omitempty"` // seconds
	At     string   `json:"at,omitempty"` // a time as commands take it
	Reason string   `json:"reason,omitempty"`

	NoChain bool              `json:"no_chain,omitempty"` // its hooks trigger no other task
	Params  map[string]string `json:"params,omitempty"`   // values of params of the task, for this run
}

func (r *Visit) actor() control.Actor {
	actor := r.server.Schedules.Actor(r.Schedule, r.Who.Name)
	actor.Problem = r.noteMissing
	return actor
}

// readFuture returns the time that somebody names, as a number of seconds from now or as a time; ok
// is false if they name no time.
func (r *Visit) readFuture(in *float64, inName, at, atName string) (t time.Time, ok bool, err error) {
	now := r.server.Now()
	switch {
	case in != nil && at != "":
		return now, false, badRequest("", "%s and %s exclude each other", inName, atName)
	case in != nil:
		d, err := readDuration(inName, *in)
		return now.Add(d), true, err
	case at != "":
		t, err = r.readTime(atName, at, view.ReadTime)
		if err == nil && (!t.After(now) || t.Sub(now) > maxWait) {
			err = badRequest("write a time that is yet to come, or leave it out",
				"%s %s is in the past, or more than ten years ahead", atName, Shortened(at))
		}
		return t, true, err
	}
	return now, false, nil
}

func postTrigger(r *Visit, a Asking) (any, error) { return r.Trigger(r.PathValue("name"), a) }

// Trigger asks for a run of a task.
func (r *Visit) Trigger(task string, a Asking) (request view.Request, err error) {
	at, err := r.startOf(a)
	if err != nil {
		return request, err
	}
	actor := r.actor()
	row, err := actor.Trigger(task, at, a.Params, a.Reason)
	if err != nil {
		return request, err
	}
	return r.submit(actor, row, a, "trigger", task)
}

// A hook starts at most maxHookCalls runs in hookSpan. A stranger with its key could otherwise
// start as many processes as the machine bears, and fill the audit log.
const (
	maxHookCalls = 10
	hookSpan     = time.Minute
)

// A hookThrottle counts the calls of each hook. It is safe for concurrent use.
type hookThrottle struct {
	mu    sync.Mutex
	calls map[string][]time.Time // in the last hookSpan, by the name of the hook
}

// take counts a call, unless the hook has had its calls: then it returns after how long the hook
// has another one.
func (t *hookThrottle) take(hook string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isOld := func(at time.Time) bool { return now.Sub(at) >= hookSpan || at.After(now) }
	calls := slices.DeleteFunc(t.calls[hook], isOld)
	if len(calls) >= maxHookCalls {
		wait = hookSpan - now.Sub(calls[0])
	} else {
		calls = append(calls, now)
	}
	if t.calls == nil {
		t.calls = map[string][]time.Time{}
	}
	t.calls[hook] = calls
	return wait
}

// checkHook refuses a call of a hook whose last request waits still, or that was called often.
func (r *Visit) checkHook() error {
	tooMany := func(after int, format string, args ...any) *Problem {
		p := NewProblem(http.StatusTooManyRequests, "call it less often", format, args...)
		p.RetryAfter = after
		return p
	}
	waits, err := r.actor().RequestWaits(r.Context(), r.Who.Task)
	if err != nil {
		return err
	}
	if waits {
		return tooMany(60, "a run of %s that was asked for by this hook waits already", r.Who.Task)
	}
	if wait := r.server.hooks.take(r.Who.Name, r.server.Now()); wait > 0 {
		return tooMany(int(wait/time.Second)+1, "this hook was called %d times in a minute", maxHookCalls)
	}
	return nil
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

func postRetry(r *Visit, a Asking) (any, error) { return r.Retry(r.PathValue("id"), a) }

// Retry asks for a run again.
func (r *Visit) Retry(id string, a Asking) (request view.Request, err error) {
	at, err := r.startOf(a)
	if err != nil {
		return request, err
	}
	run, err := r.runToChange(id, "retry")
	if err != nil {
		return request, err
	}
	whole := run.Record.Run
	actor := r.actor()
	retry, err := actor.Retry(r.Context(), control.RetryWish{Run: whole, At: at, Params: a.Params, Reason: a.Reason})
	if err != nil {
		return request, err
	}
	if retry.WaitsAlready {
		return request, view.Fail(view.Conflict, "", "a retry of run %s of %s waits already",
			humanize.ShortRun(whole), retry.Task)
	}
	return r.submit(actor, retry.Row, a, "retry", whole)
}

// startOf returns the time at which a run is to start, with the precision of the history.
func (r *Visit) startOf(a Asking) (time.Time, error) {
	at, _, err := r.readFuture(a.In, "in", a.At, "at")
	return at.UTC().Round(0).Truncate(time.Microsecond), err
}

// submit stores a request for a run, which the next tick starts, and writes it into the audit log.
func (r *Visit) submit(
	actor control.Actor, row state.Row, a Asking, action, target string,
) (request view.Request, err error) {
	if err := checkReason(a.Reason); err != nil {
		return request, err
	}
	for name, value := range row.Params {
		if err := refuseToken(value, "value of "+name); err != nil {
			return request, err
		}
	}
	row.NoChain = row.NoChain || a.NoChain
	if a.In == nil && a.At == "" {
		row = actor.AtOnce(row)
	}
	reason := control.Because(schedule.WithValues("", row.Params), a.Reason)
	err = r.audit(action, target, reason, func() error {
		err := actor.Submit(row)
		request = view.RequestOf(row, actor.TickOf(row), r.View.Server)
		return err
	})
	return request, err
}

func postStop(r *Visit, body Reason) (any, error) {
	whole, err := r.Stop(r.PathValue("id"), body.Reason)
	return afterStop(r, whole, err)
}

// Stop stops a run that lives, and returns its whole id. It waits for stopPatience for the end.
func (r *Visit) Stop(id, reason string) (whole string, err error) {
	run, err := r.runToChange(id, "stop")
	if err != nil {
		return "", err
	}
	whole = run.Record.Run
	actor := r.actor()
	switch run.State {
	case view.RunEnded:
		return whole, actor.NotRunningError(r.Context(), whole)
	case view.RunWaiting:
		waits, _ := view.OneWaiting(actor.Source, whole)
		return whole, cmp.Or(view.RefuseWaiting(actor.Source, waits), control.NotCancelledError(waits))
	}
	return whole, r.stop(actor, run, reason)
}

func postCancel(r *Visit, body Reason) (any, error) {
	whole, err := r.Cancel(r.PathValue("id"), body.Reason)
	return afterStop(r, whole, err)
}

// Cancel ends a run that waits, and returns its whole id: a run that has not begun is skipped, and
// a run that waits for its turn or for its next attempt is stopped.
func (r *Visit) Cancel(id, reason string) (whole string, err error) {
	run, err := r.runToChange(id, "stop")
	if err != nil {
		return "", err
	}
	whole = run.Record.Run
	actor := r.actor()
	switch run.State {
	case view.RunWaiting:
		return whole, r.skip(actor, whole, reason)
	case view.RunQueued, view.RunDeferred:
		return whole, r.stop(actor, run, reason)
	case view.RunEnded:
		return whole, actor.NotRunningError(r.Context(), whole)
	}
	short := humanize.ShortRun(whole)
	return whole, view.Fail(view.Conflict, "POST "+prefix+"/runs/"+short+"/stop stops it",
		"run %s of %s does not wait: it is %s", short, run.Task, run.State)
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

// skip ends a run that has not begun.
func (r *Visit) skip(actor control.Actor, whole, reason string) error {
	waits, err := view.OneWaiting(actor.Source, whole)
	if err != nil {
		return err
	}
	return r.change("cancel", whole, reason, func() error {
		cancelled, err := actor.Cancel(waits, reason)
		if err == nil && !cancelled {
			err = control.NotCancelledError(waits)
		}
		return err
	})
}

// stopPatience is how long the answer to a stop waits for the run to end.
const stopPatience = 5 * time.Second

// stop stops a run that has begun.
func (r *Visit) stop(actor control.Actor, run view.Run, reason string) error {
	done, err := r.beginStop(actor, run, reason)
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopPatience):
	case <-r.Context().Done():
	}
	return nil
}

// beginStop begins to stop a run. The stop goes on after the answer, and even if nobody waits for
// the answer. done yields why the run was not stopped, or nil.
func (r *Visit) beginStop(actor control.Actor, run view.Run, reason string) (done <-chan error, err error) {
	select {
	case r.server.stopping <- struct{}{}:
	default:
		return nil, unavailable("try again", "%d runs are being stopped already", maxStopping)
	}
	giveBack := func() { <-r.server.stopping }
	end := make(chan error, 1)
	err = r.change("stop", run.Record.Run, reason, func() error {
		go func() {
			defer giveBack()
			caller := r.server.Schedules.Runs(r.Schedule)
			stopping, err := caller.Stop(run.Record.Run, control.Because(actor.By, reason))
			end <- control.NotStoppedError(run.Row, stopping, err)
		}()
		return nil
	})
	if err != nil {
		giveBack()
	}
	return end, err
}
