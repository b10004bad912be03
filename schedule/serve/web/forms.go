package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// This file has the forms with which people perform actions. A form from a page of another site is
// refused before it gets here (serve.Server.Handler).

// A button opens a dialog that says what will happen, and sends a form.
type button struct {
	id, label string
	effect    string // what will happen
	path      string // to which the form is sent
	fields    markup // fields besides the reason
	reasoned  bool   // there is a field for a reason
	grave     bool   // the button is red
}

func (p *page) button(b button) {
	class := markupIf(b.grave, ` class="grave"`)
	p.put(`<button type="button" popovertarget="do-%s"%s>%s…</button><dialog popover id="do-%s" aria-labelledby="do-%s-h"><form method="post" action="%s">
<h2 id="do-%s-h">%s</h2><p>%s</p>%s`,
		b.id, class, b.label, b.id, b.id, b.path, b.id, b.label, b.effect, b.fields)
	if b.reasoned {
		p.put(reasonField)
	}
	p.put(`<div class="buttons"><button%s>%s</button><button type="button" popovertarget="do-%s" popovertargetaction="hide" class="quiet">Cancel</button></div></form></dialog>`,
		class, b.label, b.id)
}

const reasonField markup = `<label>Reason <input name="reason" maxlength="500" autocomplete="off" placeholder="why, for the others"></label>`

const howLong markup = `<label>For <select name="for"><option value="3600">an hour</option><option value="86400">a day</option>
<option value="604800">a week</option><option value="">until somebody resumes it</option></select></label>`

// addForms adds the handlers of the forms of all actions.
func (p *pages) addForms() {
	p.mux.Handle("GET "+p.BasePath+"/act", p.pageHandler(showConfirmation, serve.Quick))
	p.addForm("/act", p.performAll)
	pauseAll := action{perform: func(v *serve.Visit, _ string) (string, error) { return "/pauses", pauseTasks(v, nil) }}
	endPause := action{perform: func(v *serve.Visit, id string) (string, error) { return "/pauses", resume(v, id) }}
	p.addActionForm("/pauses", pauseAll)
	p.addActionForm("/pauses/{id}/resume", endPause)
	for _, a := range actions {
		if a.onRun {
			p.addActionForm("/runs/{id}/"+a.name, a)
		} else {
			p.addActionForm("/tasks/{id}/"+a.name, a)
		}
	}
}

// addActionForm adds the handler of the form of one action, whose target is {id} in the path.
func (p *pages) addActionForm(path string, a action) {
	p.addForm(path, func(r *http.Request) (string, error) { return p.performAction(r, a, r.PathValue("id")) })
}

// addForm adds the handler of a form. send returns the path of the page that comes next.
func (p *pages) addForm(path string, send func(*http.Request) (next string, err error)) {
	p.mux.HandleFunc("POST "+p.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
		next, err := send(r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		http.Redirect(w, r, p.BasePath+next, http.StatusSeeOther)
	})
}

// performAction performs an action for the sender of a form. next is the path of the page to show
// then.
func (p *pages) performAction(r *http.Request, a action, target string) (next string, err error) {
	v, leave, err := p.Visit(r, cmp.Or(a.scope, serve.ScopeOperate), a.work)
	if err != nil {
		return "", err
	}
	defer leave()
	return a.perform(v, target)
}

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

// paramFields are the fields for the params of one more run of a task. The target is the task, or
// the run whose values a retry keeps.
func paramFields(t *schedule.Task, target string, given map[string]string) (fields markup) {
	for _, p := range t.Params {
		value, has := given[p.Name]
		if !has && p.Default != nil {
			value, has = *p.Default, true
		}
		field := format(`name="param %s %s" title="%s"%s`, target, p.Name, p.String(), markupIf(!has, " required"))
		fields += format(`<label>%s `, p.Name)
		if len(p.Values) > 0 {
			fields += `<select ` + field + `>` + markupIf(!has, `<option value="">choose one</option>`)
			for _, choice := range p.Values {
				fields += format(`<option%s>%s</option>`, markupIf(has && choice == value, " selected"), choice)
			}
			fields += `</select></label>`
		} else {
			fields += format(`<input %s value="%s" maxlength="1000" autocomplete="off"></label>`, field, value)
		}
		if has {
			fields += format(`<input type="hidden" name="before %s %s" value="%s">`, target, p.Name, value)
		}
	}
	return fields
}

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
		if shown, rerr := v.View.Run(v.Context(), run); rerr == nil && shown.State == view.RunEnded {
			err = nil
		}
	}
	return "/runs/" + url.PathEscape(run), err
}
