package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// This file has what people can do. A button opens a dialog that says what it will do, and sends a
// form. A form from a page of another site is refused before it gets here (serve.Server.Handler).

type button struct {
	id, label string
	does      string // what will happen
	action    string // the path
	fields    markup // fields besides the reason
	reasoned  bool   // there is a field for a reason
	grave     bool
}

func (p *page) button(b button) {
	class := markupIf(b.grave, ` class="grave"`)
	p.put(`<button type="button" popovertarget="do-%s"%s>%s…</button><dialog popover id="do-%s" aria-labelledby="do-%s-h"><form method="post" action="%s">
<h2 id="do-%s-h">%s</h2><p>%s</p>%s`,
		b.id, class, b.label, b.id, b.id, b.action, b.id, b.label, b.does, b.fields)
	if b.reasoned {
		p.put(reasonField)
	}
	p.put(`<div class="buttons"><button%s>%s</button><button type="button" popovertarget="do-%s" popovertargetaction="hide" class="quiet">Cancel</button></div></form></dialog>`,
		class, b.label, b.id)
}

const reasonField markup = `<label>Reason <input name="reason" maxlength="500" autocomplete="off" placeholder="why, for the others"></label>`

const howLong markup = `<label>For <select name="for"><option value="3600">an hour</option><option value="86400">a day</option>
<option value="604800">a week</option><option value="">until somebody resumes it</option></select></label>`

// actions adds the handlers of forms.
func (p *pages) actions() {
	p.mux.Handle("GET "+p.BasePath+"/act", p.showing(showAct, serve.Quick))
	p.form("/act", p.act)
	p.form("/pauses", func(r *http.Request) (string, error) {
		return p.do(r, serve.ScopeOperate, serve.Quick,
			func(v *serve.Visit) (string, error) { return "/pauses", pauseTasks(v, nil) })
	})
	p.form("/pauses/{id}/resume", func(r *http.Request) (string, error) {
		return p.do(r, serve.ScopeOperate, serve.Quick,
			func(v *serve.Visit) (string, error) { return "/pauses", resume(v, v.PathValue("id")) })
	})
	for _, d := range deeds {
		target := "/tasks/{id}/"
		if d.ofRun {
			target = "/runs/{id}/"
		}
		p.form(target+d.name, func(r *http.Request) (string, error) { return p.doDeed(r, d, r.PathValue("id")) })
	}
}

// form adds the handler of a form. does returns the path of the page that comes next.
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

// do does something for the sender of a form. next is the path of the page to show then.
func (p *pages) do(
	r *http.Request, needs serve.Scope, work serve.Work, does func(*serve.Visit) (next string, err error),
) (next string, err error) {
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

// asking reads the form of a trigger or a retry: the reason, and the params of paramFields that
// somebody has changed.
func asking(v *serve.Visit, target string) serve.Asking {
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
