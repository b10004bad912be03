package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// This file has what people can do. A button opens a dialog that says what it will do, and sends a
// form. A form from a page of another site is refused before it gets here (serve.Server.Handler).

type button struct {
	id, label string
	does      string // what will happen
	action    string // the path
	more      markup // fields besides the reason
	reasoned  bool   // there is a field for a reason
	grave     bool
}

func (p *page) button(b button) {
	class := markupIf(b.grave, ` class="grave"`)
	p.put(`<button type="button" popovertarget="do-%s"%s>%s…</button><dialog popover id="do-%s" aria-labelledby="do-%s-h"><form method="post" action="%s">
<h2 id="do-%s-h">%s</h2><p>%s</p>%s`,
		b.id, class, b.label, b.id, b.id, b.action, b.id, b.label, b.does, b.more)
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

// The list of tasks offers deeds, too: for one task by a link in its row, for several by the boxes
// before their names. Both lead to a page that says what will happen, and asks
// for a reason. Nothing happens before its form is sent.

// A deed is something that can be done with tasks.
type deed struct {
	name, label string
	does        string                         // what will happen, after the names of the tasks
	targets     func(p taskList, r row) string // the task, or the run, that it is done with; "" if it cannot be done
	why         string                         // why it cannot be done
	do          func(v *serve.Visit, target string) (next string, err error)
	work        serve.Work
	ofRun       bool // targets are runs, not tasks
	grave       bool
	more        markup // fields besides the reason
}

var deeds = []deed{
	{name: "trigger", label: "Trigger", does: "runs once more, now or with the next tick", why: "it does not run here",
		targets: func(p taskList, r row) string {
			if !r.active {
				return ""
			}
			return r.Name
		}, do: func(v *serve.Visit, task string) (string, error) {
			asked, err := v.Trigger(task, asking(v, task))
			return "/runs/" + asked.Run, err
		}},
	{name: "retry", label: "Retry", does: "runs again as it is defined now, at once or with the next tick",
		why: "its last run did not fail, or was on another server",
		targets: func(p taskList, r row) string {
			if r.active && r.Last != nil && r.LastRun.Outcome.Failure() && p.isHere(r.LastRun.Server) {
				return r.LastRun.ID
			}
			return ""
		}, ofRun: true, do: func(v *serve.Visit, run string) (string, error) {
			asked, err := v.Retry(run, asking(v, run))
			return "/runs/" + asked.Run, err
		}},
	{name: "stop", label: "Stop", does: "is stopped: its command gets TERM, and KILL if it goes on",
		why: "it does not run on this server", grave: true,
		targets: func(p taskList, r row) string {
			for _, running := range r.Running {
				if p.isHere(running.Host) {
					return running.Run
				}
			}
			return ""
		}, ofRun: true, work: serve.Waits, do: func(v *serve.Visit, run string) (string, error) {
			_, err := v.Stop(run, v.PostFormValue("reason"))
			return endRun(v, run, err)
		}},
	{name: "cancel", label: "Cancel",
		does: "will not begin the run that waits: it is skipped, or stopped if it had begun",
		why:  "none of its runs waits", grave: true,
		targets: func(p taskList, r row) string {
			if len(r.Waiting) == 0 {
				return ""
			}
			return r.Waiting[0].Run
		}, ofRun: true, work: serve.Waits, do: func(v *serve.Visit, run string) (string, error) {
			_, err := v.Cancel(run, v.PostFormValue("reason"))
			return endRun(v, run, err)
		}},
	{name: "pause", label: "Pause", does: "will not start, and its slots will be skipped; what runs goes on",
		why: "it is paused already", more: howLong,
		targets: func(p taskList, r row) string {
			if r.Paused != nil {
				return ""
			}
			return r.Name
		}, do: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), pauseTasks(v, []string{task})
		}},
	{name: "resume", label: "Resume", does: "will start again at its next slot", why: "it is not paused by itself",
		targets: func(p taskList, r row) string {
			if r.Paused == nil || r.Paused.Everything || r.Paused.Raw.InFile {
				return ""
			}
			return r.Name
		}, do: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), resume(v, task)
		}},
}

func (p taskList) isHere(server string) bool { return server == "" || server == p.View.Server }

func deedOf(name string) (deed, error) {
	for _, d := range deeds {
		if d.name == name {
			return d, nil
		}
	}
	return deed{}, serve.NewProblem(http.StatusBadRequest, "", "there is no action %q", serve.Shortened(name))
}

// pick writes the box that chooses a task for bulk.
func (p taskList) pick(r row) {
	if p.Operates() {
		p.put(`<input type="checkbox" class="pick" form="bulk" name="task" value="%s" aria-label="choose %s">`, r.Name, r.Name)
	}
}

// acts writes what can be done with a task now.
func (p taskList) acts(r row) {
	if !p.Operates() {
		return
	}
	p.put(`<td class="acts">`)
	for _, d := range deeds {
		if d.targets(p, r) != "" {
			query := url.Values{"do": {d.name}, "task": {r.Name}, "back": {p.request.URL.RawQuery}}
			p.put(`<a href="%s/act?%s" aria-label="%s %s">%s</a> `, p.base, query.Encode(), d.label, r.Name, d.label)
		}
	}
	p.put(`</td>`)
}

// bulk writes the form of the boxes. Sending it changes nothing: the next page (showAct) asks
// first.
func (p taskList) bulk(chosen int) {
	if !p.Operates() {
		return
	}
	p.put(`<form class="bulk" id="bulk" method="get" action="%s/act"><span>With the chosen tasks:</span>`, p.base)
	for _, d := range deeds {
		p.put(`<button name="do" value="%s">%s…</button>`, d.name, d.label)
	}
	p.put(`<label><input type="checkbox" class="pick" name="all" value="yes"> all %d</label><input type="hidden" name="back" value="%s">`,
		chosen, p.request.URL.RawQuery)
	p.keep("q", "tag", "state")
	p.put(`</form>`)
}

// showAct asks whether something is to be done with tasks: with the tasks that the parameters task
// name, or with all tasks that the filter chooses.
func showAct(made *page) error {
	p := taskList{made}
	p.still = true // the reason is being written
	d, err := deedOf(p.query("do"))
	if err != nil {
		return err
	}
	if !p.Operates() {
		return serve.NewProblem(http.StatusForbidden, "", "%s may only look", p.Who.Name)
	}
	rows := p.filtered(p.rows(p.judged()))
	if p.query("all") == "" {
		named := p.request.URL.Query()["task"]
		rows = slices.DeleteFunc(slices.Clone(rows),
			func(r row) bool { return !slices.Contains(named, r.definition.Name) })
	}
	all, err := p.View.Records(p.request.Context())
	if err != nil {
		return err
	}
	defer all.Close()
	p.ask(d, p.read(rows, all))
	return nil
}

func (p taskList) ask(d deed, rows []row) {
	var can, cannot []row
	for _, r := range rows {
		if d.targets(p, r) != "" {
			can = append(can, r)
		} else {
			cannot = append(cannot, r)
		}
	}
	p.title = d.label
	back := p.query("back")
	if len(can) == 0 {
		p.put(`<h1>%s</h1><p>There is nothing to do: no task was chosen with which it can be done.</p>`, d.label)
	} else {
		p.put(`<h1>%s %s</h1><form class="ask" method="post" action="%s/act"><input type="hidden" name="do" value="%s"><input type="hidden" name="back" value="%s"><ul>`,
			d.label, humanize.Count(len(can), "task"), p.base, d.name, back)
	}
	for _, r := range can {
		p.put(`<li><input type="hidden" name="target" value="%s"><a href="%s"><b>%s</b></a> %s`, d.targets(p, r), p.taskURL(r.Name), r.Name, d.does)
		switch d.name {
		case "trigger":
			p.put(`: <code>%s</code>%s`, r.Command, paramFields(p.find(r.Name), r.Name, nil))
		case "retry":
			p.put(`. Its last run, <a href="%s"><code>%s</code></a>: %s%s`,
				p.runURL(r.LastRun.ID), humanize.ShortRun(r.LastRun.ID), ended(r.LastRun.Result), details(r.LastRun))
			p.put(`%s`, paramFields(p.find(r.Name), r.LastRun.ID, r.LastRun.Params))
		}
		p.put(`</li>`)
	}
	if len(can) > 0 {
		class := markupIf(d.grave, ` class="grave"`)
		p.put(`</ul>%s%s
<div class="buttons"><button%s>%s</button></div></form>`, d.more, reasonField, class, d.label)
	}
	for i, r := range cannot {
		if i == 0 {
			p.put(`<p class="quiet">Left out:</p><ul class="quiet">`)
		}
		p.put(`<li><a href="%s">%s</a>: %s</li>`, p.taskURL(r.Name), r.Name, d.why)
	}
	if len(cannot) > 0 {
		p.put(`</ul>`)
	}
	p.put(`<p><a href="%s/tasks?%s">Back to the tasks</a></p>`, p.base, back)
}

// act does what the form of showAct asks for, with one task after another. A failure does not stop
// it.
func (p *pages) act(r *http.Request) (next string, err error) {
	d, err := deedOf(r.PostFormValue("do"))
	if err != nil {
		return "", err
	}
	var failed []string
	targets := r.PostForm["target"]
	for _, target := range targets {
		if next, err = p.doDeed(r, d, target); err != nil {
			failed = append(failed, target+": "+serve.ProblemOf(err).Detail)
		}
	}
	switch {
	case len(targets) <= 1:
		return next, err
	case len(failed) > 0:
		problem := serve.NewProblem(http.StatusConflict, "", "%d of %d could not be done; the rest is done",
			len(failed), len(targets))
		problem.Problems = failed
		return "", problem
	}
	return "/tasks?" + strings.TrimPrefix(r.PostFormValue("back"), "?"), nil
}
