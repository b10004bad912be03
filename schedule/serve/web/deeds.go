package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/serve"
)

// A deed is something that can be done with tasks: with one task by a link in its row of the list,
// or with several by the boxes before their names. Both lead to a page that says what will happen,
// and asks for a reason. Nothing happens before its form is sent.
type deed struct {
	name, label string
	does        string                         // what will happen, after the names of the tasks
	target      func(p taskList, r row) string // the task, or the run, that it is done with; "" if it cannot be done
	whyNot      string                         // why it cannot be done
	do          func(v *serve.Visit, target string) (next string, err error)
	work        serve.Work
	ofRun       bool // the target is a run, not a task
	grave       bool
	fields      markup // fields besides the reason
}

var deeds = []deed{
	{name: "trigger", label: "Trigger", does: "runs once more, now or with the next tick",
		whyNot: "it does not run here",
		target: func(p taskList, r row) string {
			if !r.active {
				return ""
			}
			return r.Name
		}, do: func(v *serve.Visit, task string) (string, error) {
			asked, err := v.Trigger(task, asking(v, task))
			return "/runs/" + asked.Run, err
		}},
	{name: "retry", label: "Retry", does: "runs again as it is defined now, at once or with the next tick",
		whyNot: "its last run did not fail, or was on another server",
		target: func(p taskList, r row) string {
			if r.active && r.Last != nil && r.LastRun.Outcome.Failure() && p.isHere(r.LastRun.Server) {
				return r.LastRun.ID
			}
			return ""
		}, ofRun: true, do: func(v *serve.Visit, run string) (string, error) {
			asked, err := v.Retry(run, asking(v, run))
			return "/runs/" + asked.Run, err
		}},
	{name: "stop", label: "Stop", does: "is stopped: its command gets TERM, and KILL if it goes on",
		whyNot: "it does not run on this server", grave: true,
		target: func(p taskList, r row) string {
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
		does:   "will not begin the run that waits: it is skipped, or stopped if it had begun",
		whyNot: "none of its runs waits", grave: true,
		target: func(p taskList, r row) string {
			if len(r.Waiting) == 0 {
				return ""
			}
			return r.Waiting[0].Run
		}, ofRun: true, work: serve.Waits, do: func(v *serve.Visit, run string) (string, error) {
			_, err := v.Cancel(run, v.PostFormValue("reason"))
			return endRun(v, run, err)
		}},
	{name: "pause", label: "Pause", does: "will not start, and its slots will be skipped; what runs goes on",
		whyNot: "it is paused already", fields: howLong,
		target: func(p taskList, r row) string {
			if r.Paused != nil {
				return ""
			}
			return r.Name
		}, do: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), pauseTasks(v, []string{task})
		}},
	{name: "resume", label: "Resume", does: "will start again at its next slot", whyNot: "it is not paused by itself",
		target: func(p taskList, r row) string {
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
		if d.target(p, r) != "" {
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
	p.isStatic = true // the reason is being written
	d, err := deedOf(p.query("do"))
	if err != nil {
		return err
	}
	if !p.Operates() {
		return serve.NewProblem(http.StatusForbidden, "", "%s may only look", p.Who.Name)
	}
	rows := p.filtered(p.rows(p.View.Status(p.health())))
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

// ask writes what will happen to each row, with a form that makes it happen, and which rows are
// left out.
func (p taskList) ask(d deed, rows []row) {
	isTarget := func(r row) bool { return d.target(p, r) != "" }
	targets := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !isTarget(r) })
	others := slices.DeleteFunc(slices.Clone(rows), isTarget)
	p.title = d.label
	if len(targets) > 0 {
		p.askForm(d, targets)
	} else {
		p.put(`<h1>%s</h1><p>There is nothing to do: no task was chosen with which it can be done.</p>`, d.label)
	}
	for i, r := range others {
		if i == 0 {
			p.put(`<p class="quiet">Left out:</p><ul class="quiet">`)
		}
		p.put(`<li><a href="%s">%s</a>: %s</li>`, p.taskURL(r.Name), r.Name, d.whyNot)
	}
	if len(others) > 0 {
		p.put(`</ul>`)
	}
	p.put(`<p><a href="%s/tasks?%s">Back to the tasks</a></p>`, p.base, p.query("back"))
}

// askForm writes the form that does something with the tasks of all rows (see act).
func (p taskList) askForm(d deed, rows []row) {
	p.put(`<h1>%s %s</h1><form class="ask" method="post" action="%s/act"><input type="hidden" name="do" value="%s"><input type="hidden" name="back" value="%s"><ul>`,
		d.label, humanize.Count(len(rows), "task"), p.base, d.name, p.query("back"))
	for _, r := range rows {
		p.put(`<li><input type="hidden" name="target" value="%s"><a href="%s"><b>%s</b></a> %s`, d.target(p, r), p.taskURL(r.Name), r.Name, d.does)
		switch d.name {
		case "trigger":
			p.put(`: <code>%s</code>%s`, r.Command, paramFields(p.tasks[r.Name], r.Name, nil))
		case "retry":
			p.put(`. Its last run, <a href="%s"><code>%s</code></a>: %s%s`,
				p.runURL(r.LastRun.ID), humanize.ShortRun(r.LastRun.ID), ended(r.LastRun.Result), details(r.LastRun))
			p.put(`%s`, paramFields(p.tasks[r.Name], r.LastRun.ID, r.LastRun.Params))
		}
		p.put(`</li>`)
	}
	class := markupIf(d.grave, ` class="grave"`)
	p.put(`</ul>%s%s
<div class="buttons"><button%s>%s</button></div></form>`, d.fields, reasonField, class, d.label)
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
