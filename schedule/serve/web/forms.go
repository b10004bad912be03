package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sched/schedule/serve"
	"sched/schedule/view"
)

// This file has the actions that people perform with forms. A form from a page of another site is
// refused before it gets here (serve.Server.Handler).

// An action changes a task or a run: one of them by a link in the row of the task, or several by
// the boxes before the names of tasks. Both lead to a page that says what will happen, and asks for
// a reason. Nothing happens before the form of that page is sent.
type action struct {
	name, label string
	effect      string // what will happen, after the name of the task
	onRun       bool   // its target is a run, not a task
	grave       bool   // its button is red
	asks        bool   // its form may have fields for params
	howLong     bool   // a field asks for how long
	work        serve.Work
	scope       serve.Scope // that it needs; "" for operate

	// target returns the task of a row, or its run, that the action changes. It returns "" if the
	// task does not allow the action now, as whyNot says.
	target func(p *page, r taskRow) string
	whyNot string

	perform func(v *serve.Visit, target string) (next string, err error) // next is the path of the next page
}

// actions are the actions that the list of tasks offers.
var actions = []action{
	{name: "trigger", label: "Trigger", effect: "runs once more, now or with the next tick", asks: true,
		whyNot: "it does not run here",
		target: func(p *page, r taskRow) string {
			if !r.active {
				return ""
			}
			return r.Name
		}, perform: func(v *serve.Visit, task string) (string, error) {
			request, err := v.Trigger(task, readAsking(v, task))
			return "/runs/" + request.Run, err
		}},
	{name: "retry", label: "Retry", effect: "runs again as it is defined now, at once or with the next tick",
		asks:   true,
		whyNot: "its last run did not fail, or was on another server",
		target: func(p *page, r taskRow) string {
			if r.active && r.Last != nil && r.LastRun.Outcome.Failure() && p.isHere(r.LastRun.Server) {
				return r.LastRun.ID
			}
			return ""
		}, onRun: true, perform: func(v *serve.Visit, run string) (string, error) {
			request, err := v.Retry(run, readAsking(v, run))
			return "/runs/" + request.Run, err
		}},
	{name: "stop", label: "Stop", effect: "is stopped: its command gets TERM, and KILL if it goes on",
		whyNot: "it does not run on this server", grave: true,
		target: func(p *page, r taskRow) string {
			for _, running := range r.Running {
				if p.isHere(running.Host) {
					return running.Run
				}
			}
			return ""
		}, onRun: true, work: serve.Waiting, perform: func(v *serve.Visit, run string) (string, error) {
			_, err := v.Stop(run, v.PostFormValue("reason"))
			return endRun(v, run, err)
		}},
	{name: "cancel", label: "Cancel",
		effect: "will not begin the run that waits: it is skipped, or stopped if it had begun",
		whyNot: "none of its runs waits", grave: true,
		target: func(p *page, r taskRow) string {
			if len(r.Waiting) == 0 {
				return ""
			}
			return r.Waiting[0].Run
		}, onRun: true, work: serve.Waiting, perform: func(v *serve.Visit, run string) (string, error) {
			_, err := v.Cancel(run, v.PostFormValue("reason"))
			return endRun(v, run, err)
		}},
	{name: "pause", label: "Pause", effect: "will not start, and its slots will be skipped; what runs goes on",
		whyNot: "it is paused already", howLong: true,
		target: func(p *page, r taskRow) string {
			if r.Paused != nil {
				return ""
			}
			return r.Name
		}, perform: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), pauseTasks(v, []string{task})
		}},
	{name: "resume", label: "Resume", effect: "will start again at its next slot", whyNot: "it is not paused by itself",
		target: func(p *page, r taskRow) string {
			if r.Paused == nil || r.Paused.Everything || r.Paused.Raw.InFile {
				return ""
			}
			return r.Name
		}, perform: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), resume(v, serve.PauseID(task))
		}},
}

func actionNamed(name string) (action, error) {
	for _, a := range actions {
		if a.name == name {
			return a, nil
		}
	}
	return action{}, serve.NewProblem(http.StatusBadRequest, "", "there is no action %q", serve.Shortened(name))
}

// A sender does what a form says. next is the path of the page that comes next.
type sender func(*serve.Server, *http.Request) (next string, err error)

// forms returns what the forms of all actions do, by their paths.
func forms() map[string]sender {
	all := map[string]sender{
		"/act": performAll,
		"/pauses": senderOf(action{perform: func(v *serve.Visit, _ string) (string, error) {
			return "/pauses", pauseTasks(v, nil)
		}}),
		"/pauses/{id}/resume": senderOf(action{perform: func(v *serve.Visit, id string) (string, error) {
			return "/pauses", resume(v, id)
		}}),
	}
	for _, a := range actions {
		if a.onRun {
			all["/runs/{id}/"+a.name] = senderOf(a)
		} else {
			all["/tasks/{id}/"+a.name] = senderOf(a)
		}
	}
	return all
}

// senderOf performs one action, whose target is {id} in the path.
func senderOf(a action) sender {
	return func(server *serve.Server, r *http.Request) (string, error) {
		return performAction(server, r, a, r.PathValue("id"))
	}
}

// performAll performs the action of the form of a confirmation on one target after another. A
// failure does not keep it from the others.
func performAll(server *serve.Server, r *http.Request) (next string, err error) {
	a, err := actionNamed(r.PostFormValue("do"))
	if err != nil {
		return "", err
	}
	var failed, again []string
	targets := r.PostForm["target"]
	for _, target := range targets {
		if next, err = performAction(server, r, a, target); err != nil {
			failed = append(failed, target+": "+serve.ProblemOf(err).Detail)
			if _, is := errors.AsType[*refusedError](err); is {
				again = append(again, target)
			}
		}
	}
	switch {
	case len(targets) <= 1:
		return next, err
	case len(failed) > 0:
		problem := serve.NewProblem(http.StatusConflict, "", "%d of %d could not be done; the rest is done",
			len(failed), len(targets))
		problem.Problems = failed
		if len(again) > 0 {
			return "", &refusedError{problem, a, again}
		}
		return "", problem
	}
	return "/tasks?" + strings.TrimPrefix(r.PostFormValue("back"), "?"), nil
}

// performAction performs an action for the sender of a form. next is the path of the page to show
// then.
func performAction(server *serve.Server, r *http.Request, a action, target string) (next string, err error) {
	v, leave, err := serve.NewVisit(server, r, cmp.Or(a.scope, serve.ScopeOperate), a.work)
	if err != nil {
		return "", err
	}
	defer leave()
	next, err = a.perform(v, target)
	if err != nil && a.asks && serve.ProblemOf(err).Status == http.StatusBadRequest {
		err = &refusedError{err, a, []string{target}}
	}
	return next, err
}

// A refusedError says that a form was refused for what was typed in it. The answer is the form of
// the targets, with what was typed.
type refusedError struct {
	error
	action  action
	targets []string
}

func (e *refusedError) Unwrap() error { return e.error }

// readAsking reads the form of a trigger or a retry: the reason, and the params of paramFields that
// somebody has changed.
func readAsking(v *serve.Visit, target string) serve.Asking {
	a := serve.Asking{Reason: v.PostFormValue("reason"), Params: map[string]string{}}
	for field := range v.PostForm {
		name, isParam := strings.CutPrefix(field, "param "+target+" ")
		before, had := v.PostForm["before "+target+" "+name]
		if value := v.PostForm.Get(field); isParam && !(had && before[0] == value) {
			a.Params[name] = value
		}
	}
	return a
}

// pauseTasks pauses tasks; nil for everything.
func pauseTasks(v *serve.Visit, tasks []string) error {
	body := serve.PauseRequest{Tasks: tasks, Reason: v.PostFormValue("reason")}
	given := v.PostFormValue("end") // see pauseEnd
	if seconds, err := strconv.ParseFloat(given, 64); err == nil {
		body.For = &seconds
	} else {
		body.Until = given
	}
	_, err := v.Pause(body)
	return err
}

// resume ends a pause. If the pause is over already, that is no error: somebody pressed twice, or
// two people did.
func resume(v *serve.Visit, id string) error {
	err := v.Resume(id, v.PostFormValue("reason"))
	if err != nil && serve.ProblemOf(err).Status == http.StatusNotFound {
		return nil
	}
	return err
}

// endRun returns the page of a run that was to end, with the error. If the run has ended meanwhile,
// or somebody pressed twice, that is no error: the page shows how it ended.
func endRun(v *serve.Visit, run string, err error) (next string, _ error) {
	if err != nil && serve.ProblemOf(err).Status == http.StatusConflict {
		if shown, rerr := view.FindRun(v.Context(), v.View, run); rerr == nil && shown.State == view.RunEnded {
			err = nil
		}
	}
	return "/runs/" + url.PathEscape(run), err
}
