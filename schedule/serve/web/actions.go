package web

import (
	"net/http"
	"net/url"
	"strconv"

	"sched/schedule/serve"
	"sched/schedule/view"
)

// This file is the buttons. Each opens a dialog that says what it will do, and sends a form. A form
// from a page of another site is refused before it gets here (serve.Server.Handler).

type button struct {
	id, label string
	does      string // what will happen
	action    string // the path
	more      markup // fields besides the reason
	reasoned  bool   // there is a field for a reason
	grave     bool
}

func (p *page) button(b button) {
	class := markup("")
	if b.grave {
		class = ` class="grave"`
	}
	p.put(`<button type="button" popovertarget="do-%s"%s>%s…</button><dialog popover id="do-%s" aria-labelledby="do-%s-h"><form method="post" action="%s">
<h2 id="do-%s-h">%s</h2><p>%s</p>%s`,
		b.id, class, b.label, b.id, b.id, b.action, b.id, b.label, b.does, b.more)
	if b.reasoned {
		p.put(`<label>Reason <input name="reason" maxlength="500" autocomplete="off" placeholder="why, for the others"></label>`)
	}
	p.put(`<div class="buttons"><button%s>%s</button><button type="button" popovertarget="do-%s" popovertargetaction="hide" class="quiet">Cancel</button></div></form></dialog>`,
		class, b.label, b.id)
}

const howLong markup = `<label>For <select name="for"><option value="3600">an hour</option><option value="86400">a day</option>
<option value="604800">a week</option><option value="">until somebody resumes it</option></select></label>`

func (p *page) taskButtons(t view.Task) {
	if !p.Operates() {
		return
	}
	at := p.taskURL(t.Name)
	p.put(`<div class="buttons" id="buttons" data-live>`)
	if p.Schedule.Active(p.find(t.Name)) {
		p.button(button{id: "trigger", label: "Trigger", reasoned: true, action: at + "/trigger",
			does: "Run " + t.Name + " once more, now or with the next tick: " + t.Command})
	}
	if t.Paused == nil {
		p.button(button{id: "pause", label: "Pause", reasoned: true, more: howLong, action: at + "/pause",
			does: t.Name + " will not start, and its slots will be skipped. Runs go on to their ends."})
	} else if !t.Paused.Everything {
		p.button(button{id: "resume", label: "Resume", reasoned: true, action: at + "/resume", does: t.Name + " will start again at its next slot."})
	}
	p.put(`</div>`)
}

func (p *page) runButtons(r view.Run) {
	command := "stop"
	if r.State == view.RunEnded {
		command = "retry"
	}
	if err := r.Elsewhere(command); err != nil {
		p.put(`<p class="quiet">%s</p>`, err.Error())
		return
	}
	if !p.Operates() {
		return
	}
	at := p.base + "/runs/" + r.Record.Run
	p.put(`<div class="buttons" id="buttons" data-live>`)
	switch t := p.find(r.Task); {
	case r.State == view.RunStarting, r.State == view.RunRunning, r.State == view.RunQueued, r.State == view.RunDeferred:
		p.button(button{id: "stop", label: "Stop", reasoned: true, grave: true, action: at + "/stop",
			does: "The command of " + r.Task + " gets TERM, and KILL if it goes on."})
	case r.State == view.RunWaiting:
		p.button(button{id: "cancel", label: "Cancel the run", reasoned: true, grave: true, action: at + "/cancel",
			does: "The run of " + r.Task + " does not begin: it is skipped."})
	case r.State == view.RunEnded && t != nil && p.Schedule.Active(t):
		p.button(button{id: "retry", label: "Retry", reasoned: true, action: at + "/retry",
			does: "Run " + r.Task + " again, now or with the next tick, as it is defined then."})
	}
	p.put(`</div>`)
}

// actions adds the handlers of forms.
func (p *pages) actions() {
	p.mux.Handle("GET "+p.BasePath+"/act", p.showing(showAct, serve.Quick))
	p.form("/act", p.act)
	p.form("/pauses", func(r *http.Request) (string, error) {
		return p.do(r, serve.ScopeOperate, serve.Quick, func(v *serve.Visit) (string, error) { return "/pauses", pauseTasks(v, nil) })
	})
	p.form("/pauses/{id}/resume", func(r *http.Request) (string, error) {
		return p.do(r, serve.ScopeOperate, serve.Quick, func(v *serve.Visit) (string, error) { return "/pauses", resume(v, v.PathValue("id")) })
	})
	for _, d := range deeds {
		of := "/tasks/{id}/"
		if d.ofRun {
			of = "/runs/{id}/"
		}
		p.form(of+d.name, func(r *http.Request) (string, error) { return p.doDeed(r, d, r.PathValue("id")) })
	}
}

// form adds the handler of a form. Does returns the path of the page that comes next.
func (p *pages) form(path string, does func(*http.Request) (next string, err error)) {
	p.mux.HandleFunc("POST "+p.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
		next, err := does(r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		http.Redirect(w, r, p.BasePath+next, http.StatusSeeOther)
	})
}

// do does something for the sender of a form.
func (p *pages) do(r *http.Request, needs serve.Scope, work serve.Work, does func(*serve.Visit) (next string, err error)) (next string, err error) {
	v, leave, err := p.Visit(r, needs, work)
	if err != nil {
		return "", err
	}
	defer leave()
	return does(v)
}

func (p *pages) doDeed(r *http.Request, d deed, target string) (next string, err error) {
	return p.do(r, serve.ScopeOperate, d.work, func(v *serve.Visit) (string, error) { return d.do(v, target) })
}

func because(v *serve.Visit) serve.Asking { return serve.Asking{Reason: v.PostFormValue("reason")} }

// pauseTasks pauses tasks; nil for everything.
func pauseTasks(v *serve.Visit, tasks []string) error {
	body := serve.PauseRequest{Tasks: tasks, Reason: v.PostFormValue("reason")}
	if given := v.PostFormValue("for"); given != "" {
		seconds, err := strconv.ParseFloat(given, 64)
		if err != nil {
			return &serve.Problem{Status: http.StatusBadRequest, Detail: "for is not a number of seconds"}
		}
		body.For = &seconds
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
		if one, rerr := v.View.Run(v.Context(), run); rerr == nil && one.State == view.RunEnded {
			err = nil
		}
	}
	return "/runs/" + url.PathEscape(run), err
}
