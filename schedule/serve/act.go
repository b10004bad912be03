package serve

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

// An Asking says for when a run is asked for, and why. Without In and At it is for now.
type Asking struct {
	In     *float64 `json:"in,omitempty"` // seconds
	At     string   `json:"at,omitempty"` // a time as commands take it
	Reason string   `json:"reason,omitempty"`

	NoChain bool `json:"no_chain,omitempty"` // its hooks trigger no other task
}

// A Reason is why something is done.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// A PauseRequest says what is paused, until when and why. Without Tasks and Tags everything is
// paused. Without For and Until the pause lasts until somebody ends it.
type PauseRequest struct {
	Tasks  []string `json:"tasks,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	For    *float64 `json:"for,omitempty"`   // seconds
	Until  string   `json:"until,omitempty"` // a time as commands take it
	Reason string   `json:"reason,omitempty"`
}

// mostReason is the most characters of a reason.
const mostReason = 500

// checkReason is for every reason, in a body or in a header: anybody who may look sees it.
func checkReason(reason string) error {
	switch {
	case len([]rune(reason)) > mostReason:
		return NewProblem(http.StatusBadRequest, "", "the reason is longer than %d characters", mostReason)
	case aToken().MatchString(reason):
		return NewProblem(http.StatusBadRequest, "leave it out, and revoke it if others have seen it", "a token is in the reason")
	}
	return nil
}

func (r *request) actor() control.Actor {
	actor := r.server.Schedules.Actor(r.schedule, r.who.Name)
	actor.Problem = r.tell
	return actor
}

// later returns the time that a body names, as a number of seconds from now or as a time; ok is
// false if the body names no time.
func (r *request) later(in *float64, inName, at, atName string) (later time.Time, ok bool, err error) {
	now := r.server.Now()
	switch {
	case in != nil && at != "":
		return now, false, NewProblem(http.StatusBadRequest, "", "%s and %s exclude each other", inName, atName)
	case in != nil:
		d, err := duration(inName, *in)
		return now.Add(d), true, err
	case at != "":
		later, err := r.readTime(atName, at, view.ReadTime)
		if err == nil && (!later.After(now) || later.Sub(now) > longest) {
			err = NewProblem(http.StatusBadRequest, "leave it out for now", "%s %s is in the past, or more than ten years ahead", atName, Shortened(at))
		}
		return later, true, err
	}
	return now, false, nil
}

// A wish is for when a run is wanted, and why.
type wish struct {
	at     time.Time
	atOnce bool // and not at a time that was given
	reason string

	noChain bool
}

func (r *request) asking() (w wish, err error) {
	var body Asking
	if err := r.decode(&body); err != nil {
		return w, err
	}
	at, given, err := r.later(body.In, "in", body.At, "at")
	return wish{precise(at), !given, body.Reason, body.NoChain}, err
}

// precise is a time with the precision of the history.
func precise(at time.Time) time.Time { return at.UTC().Round(0).Truncate(time.Microsecond) }

func postTrigger(r *request) (any, error) {
	w, err := r.asking()
	if err != nil {
		return nil, err
	}
	return r.trigger(r.PathValue("name"), w)
}

func (r *request) trigger(task string, w wish) (any, error) {
	actor := r.actor()
	request, err := actor.Trigger(task, w.at, w.reason)
	if err != nil {
		return nil, err
	}
	return r.leave(actor, request, w, "trigger", task)
}

func postHook(r *request) (any, error) {
	return r.trigger(r.who.Task, wish{at: precise(r.server.Now()), atOnce: true})
}

func postRetry(r *request) (any, error) {
	w, err := r.asking()
	if err != nil {
		return nil, err
	}
	one, err := r.runToChange()
	if err == nil {
		err = one.Elsewhere("retry")
	}
	if err != nil {
		return nil, err
	}
	actor := r.actor()
	retry, err := actor.Retry(r.Context(), one.Record.Run, w.at, w.reason, nil)
	if err != nil {
		return nil, err
	}
	if retry.Waits {
		return nil, view.Fail(view.Conflict, "", "a retry of run %s of %s waits already", humanize.ShortRun(one.Record.Run), retry.Task)
	}
	return r.leave(actor, retry.Row, w, "retry", one.Record.Run)
}

func (r *request) leave(actor control.Actor, request state.Row, w wish, action, target string) (asked view.Request, err error) {
	request.NoChain = w.noChain
	if w.atOnce {
		request = actor.AtOnce(request)
	}
	err = r.change(action, target, w.reason, func() error {
		tick, err := actor.Leave(request)
		asked = view.RequestOf(request, tick, r.view.Server)
		return err
	})
	return asked, err
}

// stopPatience is how long the answer to a stop waits for the run to end.
const stopPatience = 5 * time.Second

// toEnd returns the run that somebody wants to end, and why.
func (r *request) toEnd() (one view.Run, reason string, err error) {
	var body Reason
	if err = r.decode(&body); err != nil {
		return one, "", err
	}
	if one, err = r.runToChange(); err == nil {
		err = one.Elsewhere("stop")
	}
	return one, body.Reason, err
}

func postStop(r *request) (any, error) {
	one, reason, err := r.toEnd()
	if err != nil {
		return nil, err
	}
	actor := r.actor()
	switch one.State {
	case view.RunEnded:
		return nil, actor.NotRunning(r.Context(), one.Record.Run)
	case view.RunWaiting:
		waits, _ := view.OneWaiting(actor.Source, one.Record.Run)
		return nil, cmp.Or(view.StillWaits(actor.Source, waits), control.Begun(waits))
	}
	return r.stop(actor, one, reason)
}

// stop stops a run that has begun, and answers with what came of it within stopPatience.
func (r *request) stop(actor control.Actor, one view.Run, reason string) (any, error) {
	done, err := r.beginStop(actor, one, reason)
	if err != nil {
		return nil, err
	}
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
	case <-time.After(stopPatience):
	case <-r.Context().Done():
	}
	return r.cameOf(one)
}

// cameOf answers with what came of a run that was to end: 202 while it is still ending.
func (r *request) cameOf(one view.Run) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longestAnswer)
	defer cancel()
	now, err := r.view.Run(ctx, one.Record.Run)
	c := content{value: now}
	if now.State != view.RunEnded {
		c.status = http.StatusAccepted
	}
	return c, err
}

// postCancel ends a run that waits: a run that has not begun is skipped, and a run that waits for
// its turn or for its next attempt is stopped.
func postCancel(r *request) (any, error) {
	one, reason, err := r.toEnd()
	if err != nil {
		return nil, err
	}
	actor, short := r.actor(), humanize.ShortRun(one.Record.Run)
	switch one.State {
	case view.RunWaiting:
		waits, err := view.OneWaiting(actor.Source, one.Record.Run)
		if err != nil {
			return nil, err
		}
		return r.cancel(actor, one, waits, reason)
	case view.RunQueued, view.RunDeferred:
		return r.stop(actor, one, reason)
	case view.RunEnded:
		return nil, actor.NotRunning(r.Context(), one.Record.Run)
	}
	return nil, view.Fail(view.Conflict, "POST "+prefix+"/runs/"+short+"/stop stops it", "run %s of %s does not wait: it is %s", short, one.Task, one.State)
}

func (r *request) cancel(actor control.Actor, one view.Run, waits state.Row, reason string) (any, error) {
	err := r.change("cancel", one.Record.Run, reason, func() error {
		done, err := actor.Cancel(waits, reason)
		if err == nil && !done {
			err = control.Begun(waits)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.cameOf(one)
}

// beginStop begins to stop a run. The stop goes on after the answer, and even if nobody waits for
// the answer. done yields why the run was not stopped, or nil.
func (r *request) beginStop(actor control.Actor, one view.Run, reason string) (done <-chan error, err error) {
	select {
	case r.server.stopping <- struct{}{}:
	default:
		return nil, NewProblem(http.StatusServiceUnavailable, "try again", "%d runs are being stopped already", mostStopping)
	}
	leave := func() { <-r.server.stopping }
	end := make(chan error, 1)
	err = r.change("stop", one.Record.Run, reason, func() error {
		go func() {
			defer leave()
			stopping, err := actor.Stop(r.server.Schedules.Runs(r.schedule), one.Record.Run, reason)
			end <- control.Cannot(one.Begin, stopping, err)
		}()
		return nil
	})
	if err != nil {
		leave()
	}
	return end, err
}

func postPause(r *request) (any, error) {
	var body PauseRequest
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	until, bounded, err := r.later(body.For, "for", body.Until, "until")
	if err != nil {
		return nil, err
	}
	if until = until.UTC().Truncate(time.Second); !bounded {
		until = time.Time{}
	}
	if (body.Tasks != nil || body.Tags != nil) && len(body.Tasks)+len(body.Tags) == 0 {
		return nil, NewProblem(http.StatusBadRequest, "leave out tasks and tags to pause everything", "the list of what to pause is empty")
	}
	actor := r.actor()
	names, err := actor.Chosen(nil, body.Tasks, body.Tags)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, name := range names {
		ids[pauseID(name)] = true
	}
	err = r.change("pause", pauseTargets(names), body.Reason, func() error {
		_, _, err := actor.Pause(names, until, body.Reason)
		return err
	})
	if err != nil {
		return nil, err
	}
	var paused []Pausing
	for _, p := range r.pausings() {
		if ids[p.ID] {
			paused = append(paused, p)
		}
	}
	return pageOf(paused, cursor{}), nil
}

func deletePause(r *request) (any, error) {
	id := r.PathValue("id")
	name := id
	if id == everything {
		name = pause.Everything
	}
	actor := r.actor()
	read, err := actor.Controls.Read()
	if err != nil {
		return nil, err
	}
	if !read.Pauses[name].InEffect(r.server.Now()) {
		return nil, view.Fail(view.NotFound, "GET "+prefix+"/pauses lists what is paused", "%s is not paused", id)
	}
	reason := r.Header.Get("Sched-Reason")
	return nil, r.change("resume", id, reason, func() error {
		_, err := actor.Resume([]string{name})
		return err
	})
}

func pauseID(name string) string {
	if name == pause.Everything {
		return everything
	}
	return name
}

func pauseTargets(names []string) (targets string) {
	for i, name := range names {
		if i > 0 {
			targets += ", "
		}
		targets += pauseID(name)
	}
	return targets
}
