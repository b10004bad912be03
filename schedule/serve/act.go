package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// An Asking is the body of a request for a run: when it is to start, and why. Without In and At it
// starts now.
type Asking struct {
	In     *float64 `json:"in,omitempty"` // seconds
	At     string   `json:"at,omitempty"` // a time as commands take it
	Reason string   `json:"reason,omitempty"`

	NoChain bool              `json:"no_chain,omitempty"` // its hooks trigger no other task
	Params  map[string]string `json:"params,omitempty"`   // values of params of the task, for this run
}

// A Reason is why something is done.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// mostReason is the most characters of a reason.
const mostReason = 500

// checkReason refuses a reason that is too long, or that has a token in it. Every reason is
// checked, in a body or in a header, because everybody who may look sees it.
func checkReason(reason string) error {
	if len([]rune(reason)) > mostReason {
		return badRequest("", "the reason is longer than %d characters", mostReason)
	}
	return refuseToken(reason, "reason")
}

// refuseToken refuses a text with a token in it, because everybody who may look would see it. where
// names the text.
func refuseToken(text, where string) error {
	if aToken().MatchString(text) {
		return badRequest("leave it out, and revoke it if others have seen it", "a token is in the %s", where)
	}
	return nil
}

func (r *Visit) actor() control.Actor {
	actor := r.server.Schedules.Actor(r.Schedule, r.Who.Name)
	actor.Problem = r.noteMissing
	return actor
}

// later returns the time that somebody names, as a number of seconds from now or as a time; ok is
// false if they name no time.
func later(r *Visit, in *float64, inName, at, atName string) (t time.Time, ok bool, err error) {
	now := r.server.Now()
	switch {
	case in != nil && at != "":
		return now, false, badRequest("", "%s and %s exclude each other", inName, atName)
	case in != nil:
		d, err := duration(inName, *in)
		return now.Add(d), true, err
	case at != "":
		t, err = r.readTime(atName, at, view.ReadTime)
		if err == nil && (!t.After(now) || t.Sub(now) > longest) {
			err = badRequest("leave it out for now",
				"%s %s is in the past, or more than ten years ahead", atName, Shortened(at))
		}
		return t, true, err
	}
	return now, false, nil
}

func postTrigger(r *Visit, a Asking) (any, error) { return r.Trigger(r.PathValue("name"), a) }

// Trigger asks for a run of a task.
func (r *Visit) Trigger(task string, a Asking) (asked view.Request, err error) {
	at, atOnce, err := a.when(r)
	if err != nil {
		return asked, err
	}
	actor := r.actor()
	request, err := actor.Trigger(task, at, a.Params, a.Reason)
	if err != nil {
		return asked, err
	}
	return r.leave(actor, request, a, atOnce, "trigger", task)
}

func postHook(r *Visit) (any, error) {
	asked, err := r.Trigger(r.Who.Task, Asking{})
	if missing, ok := errors.AsType[*schedule.MissingValueError](err); ok {
		return nil, badRequest(HookHint, "a hook sets no params: %v", missing)
	}
	return asked, err
}

// HookHint says what to do if a hook cannot trigger a task, because a param has no default.
const HookHint = "give it a default, or trigger the task with a token of the scope operate, which may set params"

func postRetry(r *Visit, a Asking) (any, error) { return r.Retry(r.PathValue("id"), a) }

// Retry asks for a run again.
func (r *Visit) Retry(id string, a Asking) (asked view.Request, err error) {
	at, atOnce, err := a.when(r)
	if err != nil {
		return asked, err
	}
	found, err := r.runToChange(id, "retry")
	if err != nil {
		return asked, err
	}
	actor := r.actor()
	retry, err := actor.Retry(r.Context(), control.RetryWish{
		Run:    found.Record.Run,
		At:     at,
		Params: a.Params,
		Reason: a.Reason,
	})
	if err != nil {
		return asked, err
	}
	if retry.WaitsAlready {
		return asked, view.Fail(view.Conflict, "", "a retry of run %s of %s waits already",
			humanize.ShortRun(found.Record.Run), retry.Task)
	}
	return r.leave(actor, retry.Row, a, atOnce, "retry", found.Record.Run)
}

// when returns the time at which a run is to start, with the precision of the history. atOnce says
// that the request names no time.
func (a Asking) when(r *Visit) (at time.Time, atOnce bool, err error) {
	at, given, err := later(r, a.In, "in", a.At, "at")
	return at.UTC().Round(0).Truncate(time.Microsecond), !given, err
}

// leave stores a request for a run, which the next tick starts, and writes it into the audit log.
func (r *Visit) leave(
	actor control.Actor, request state.Row, a Asking, atOnce bool, action, target string,
) (asked view.Request, err error) {
	err = checkReason(a.Reason)
	for name, value := range request.Params {
		err = cmp.Or(err, refuseToken(value, "value of "+name))
	}
	if err != nil {
		return asked, err
	}
	request.NoChain = a.NoChain
	if atOnce {
		request = actor.AtOnce(request)
	}
	reason := control.Because(schedule.WithValues("", request.Params), a.Reason)
	err = r.log(action, target, reason, func() error {
		tick, err := actor.Leave(request)
		asked = view.RequestOf(request, tick, r.View.Server)
		return err
	})
	return asked, err
}

// stopPatience is how long the answer to a stop waits for the run to end.
const stopPatience = 5 * time.Second

func postStop(r *Visit, body Reason) (any, error) {
	run, err := r.Stop(r.PathValue("id"), body.Reason)
	return afterStop(r, run, err)
}

// Stop stops a run that lives, and returns its id. It waits for stopPatience for the end.
func (r *Visit) Stop(id, reason string) (run string, err error) {
	found, err := r.runToChange(id, "stop")
	if err != nil {
		return "", err
	}
	run = found.Record.Run
	actor := r.actor()
	switch found.State {
	case view.RunEnded:
		return run, actor.NotRunning(r.Context(), run)
	case view.RunWaiting:
		waits, _ := view.OneWaiting(actor.Source, run)
		return run, cmp.Or(view.StillWaits(actor.Source, waits), control.NotCancelled(waits))
	}
	return run, r.stop(actor, found, reason)
}

// stop stops a run that has begun.
func (r *Visit) stop(actor control.Actor, found view.Run, reason string) error {
	done, err := r.beginStop(actor, found, reason)
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

// afterStop answers with a run that was asked to end: status 202 while it has not ended yet.
func afterStop(r *Visit, run string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longestAnswer)
	defer cancel()
	now, err := r.View.Run(ctx, run)
	c := content{value: now}
	if now.State != view.RunEnded {
		c.status = http.StatusAccepted
	}
	return c, err
}

func postCancel(r *Visit, body Reason) (any, error) {
	run, err := r.Cancel(r.PathValue("id"), body.Reason)
	return afterStop(r, run, err)
}

// Cancel ends a run that waits, and returns its id: a run that has not begun is skipped, and a run
// that waits for its turn or for its next attempt is stopped.
func (r *Visit) Cancel(id, reason string) (run string, err error) {
	found, err := r.runToChange(id, "stop")
	if err != nil {
		return "", err
	}
	run = found.Record.Run
	actor, short := r.actor(), humanize.ShortRun(run)
	switch found.State {
	case view.RunWaiting:
		waits, err := view.OneWaiting(actor.Source, run)
		if err != nil {
			return run, err
		}
		return run, r.change("cancel", run, reason, func() error {
			done, err := actor.Cancel(waits, reason)
			if err == nil && !done {
				err = control.NotCancelled(waits)
			}
			return err
		})
	case view.RunQueued, view.RunDeferred:
		return run, r.stop(actor, found, reason)
	case view.RunEnded:
		return run, actor.NotRunning(r.Context(), run)
	}
	return run, view.Fail(view.Conflict, "POST "+prefix+"/runs/"+short+"/stop stops it",
		"run %s of %s does not wait: it is %s", short, found.Task, found.State)
}

// beginStop begins to stop a run. The stop goes on after the answer, and even if nobody waits for
// the answer. done yields why the run was not stopped, or nil.
func (r *Visit) beginStop(actor control.Actor, found view.Run, reason string) (done <-chan error, err error) {
	select {
	case r.server.stopping <- struct{}{}:
	default:
		return nil, unavailable("try again", "%d runs are being stopped already", mostStopping)
	}
	leave := func() { <-r.server.stopping }
	end := make(chan error, 1)
	err = r.change("stop", found.Record.Run, reason, func() error {
		go func() {
			defer leave()
			caller := r.server.Schedules.Runs(r.Schedule)
			stopping, err := caller.Stop(found.Record.Run, control.Because(actor.By, reason))
			end <- control.NotStopped(found.Begin, stopping, err)
		}()
		return nil
	})
	if err != nil {
		leave()
	}
	return end, err
}

// change does something for a reason that somebody typed, and writes it into the audit log.
func (r *Visit) change(action, target, reason string, do func() error) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return r.log(action, target, reason, do)
}

// log does something and writes it into the audit log. The line comes first: even if this
// process is killed in between, nothing is changed that is not in the log. If do fails, the error
// is added to the line.
func (r *Visit) log(action, target, reason string, do func() error) error {
	line := state.Change{
		At: r.server.Now(), Who: r.Who.Name, From: r.Who.From, Action: action, Target: target,
		Reason: control.Reason(reason),
	}
	err := r.server.writeAudit(func(log state.Audit) (err error) {
		line.ID, err = log.Add(context.Background(), line)
		return err
	})
	if err != nil {
		return fmt.Errorf("nothing was done, because the audit log cannot be written: %w", err)
	}
	if err = do(); err != nil {
		werr := r.server.writeAudit(func(log state.Audit) error {
			return log.Failed(context.Background(), line.ID, humanize.Line(err.Error()))
		})
		if werr != nil {
			r.server.Problem("the audit log cannot be written: %v", werr)
		}
	}
	return err
}

// writeAudit opens the log for a write.
func (s *Server) writeAudit(write func(state.Audit) error) error {
	db, err := state.Open(s.StateDir, state.Patience)
	if err != nil {
		return err
	}
	err = errors.Join(write(db.Audit()), db.Close())
	if path := db.SetAside(); path != "" {
		s.Problem("the database was damaged; it is now %s, and a new one was begun", path)
	}
	return err
}

// Changes returns up to limit changes below an id ("" for all), newest first, and if more exist.
func (s *Server) Changes(below string, limit int) (changes []view.Change, more bool, err error) {
	var id int64
	if below != "" {
		if id, err = strconv.ParseInt(below, 10, 64); err != nil {
			return nil, false, madeUp()
		}
	}
	return view.ChangesBelow(context.Background(), s.StateDir, id, limit)
}

func getAudit(r *Visit) (any, error) {
	changes, more, err := r.server.Changes(r.query.cursor.item, int(r.query.numbers["limit"]))
	var next cursor
	if more {
		next.item = changes[len(changes)-1].ID
	}
	return pageOf(changes, next), err
}
