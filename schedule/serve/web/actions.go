package web

import (
	"errors"
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
	if !p.Operates {
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
	if !p.Operates {
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
	p.mux.Handle("GET "+p.BasePath+"/act", p.showing(showAct, false))
	forms := map[string]func(*http.Request) (next string, err error){"/pauses": p.pauseAll, "/pauses/{id}/resume": p.resumePause, "/act": p.act}
	for _, d := range deeds {
		of := "/tasks/{id}/"
		if d.ofRun {
			of = "/runs/{id}/"
		}
		forms[of+d.name] = func(r *http.Request) (string, error) { return d.call(p, r, r.PathValue("id")) }
	}
	for path, do := range forms {
		p.mux.HandleFunc("POST "+p.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
			next, err := do(r)
			if err != nil {
				p.fail(w, r, err)
				return
			}
			http.Redirect(w, r, p.BasePath+next, http.StatusSeeOther)
		})
	}
}

func because(r *http.Request) serve.Reason { return serve.Reason{Reason: r.PostFormValue("reason")} }

// asked calls a route that asks for a run, and returns the page of the run.
func (p *pages) asked(r *http.Request, route string) (string, error) {
	var asked view.Request
	err := p.Call(r, "POST", route, because(r), &asked)
	return "/runs/" + asked.Run, err
}

func (p *pages) ended(r *http.Request, path string) bool {
	var one struct{ State view.RunState }
	err := p.Call(r, "GET", path, nil, &one)
	return err == nil && one.State == view.RunEnded
}

func (p *pages) pauseAll(r *http.Request) (string, error) { return "/pauses", p.pauseOf(r, nil) }

func (p *pages) pauseOf(r *http.Request, tasks []string) error {
	body := serve.PauseRequest{Tasks: tasks, Reason: r.PostFormValue("reason")}
	if given := r.PostFormValue("for"); given != "" {
		seconds, err := strconv.ParseFloat(given, 64)
		if err != nil {
			return &serve.Problem{Status: http.StatusBadRequest, Detail: "for is not a number of seconds"}
		}
		body.For = &seconds
	}
	return p.Call(r, "POST", "/pauses", body, nil)
}

func (p *pages) resumePause(r *http.Request) (string, error) {
	return "/pauses", p.endPause(r, url.PathEscape(r.PathValue("id")))
}

// endPause ends a pause. If the pause is over already, that is no error: somebody pressed twice, or
// two people did.
func (p *pages) endPause(r *http.Request, id string) error {
	asks := r.Clone(r.Context())
	asks.Header.Set("Sched-Reason", r.PostFormValue("reason"))
	err := p.Call(asks, "DELETE", "/pauses/"+id, nil, nil)
	var wrong *serve.Problem
	if errors.As(err, &wrong) && wrong.Status == http.StatusNotFound {
		return nil
	}
	return err
}
