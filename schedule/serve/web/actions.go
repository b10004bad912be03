package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/serve"
)

// An action changes a task or a run: one of them by a link in the row of the task, or several by
// the boxes before the names of tasks. Both lead to a page that says what will happen, and asks for
// a reason. Nothing happens before the form of that page is sent.
type action struct {
	name, label string
	effect      string // what will happen, after the name of the task
	onRun       bool   // its target is a run, not a task
	grave       bool   // its button is red
	fields      markup // fields besides the reason
	work        serve.Work
	scope       serve.Scope // that it needs; "" for operate

	// target returns the task of a row, or its run, that the action changes. It returns "" if the
	// task does not allow the action now, as whyNot says.
	target func(p taskList, r taskRow) string
	whyNot string

	perform func(v *serve.Visit, target string) (next string, err error) // next is the path of the next page
}

// actions are the actions that the list of tasks offers.
var actions = []action{
	{name: "trigger", label: "Trigger", effect: "runs once more, now or with the next tick",
		whyNot: "it does not run here",
		target: func(p taskList, r taskRow) string {
			if !r.active {
				return ""
			}
			return r.Name
		}, perform: func(v *serve.Visit, task string) (string, error) {
			request, err := v.Trigger(task, readAsking(v, task))
			return "/runs/" + request.Run, err
		}},
	{name: "retry", label: "Retry", effect: "runs again as it is defined now, at once or with the next tick",
		whyNot: "its last run did not fail, or was on another server",
		target: func(p taskList, r taskRow) string {
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
		target: func(p taskList, r taskRow) string {
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
		target: func(p taskList, r taskRow) string {
			if len(r.Waiting) == 0 {
				return ""
			}
			return r.Waiting[0].Run
		}, onRun: true, work: serve.Waiting, perform: func(v *serve.Visit, run string) (string, error) {
			_, err := v.Cancel(run, v.PostFormValue("reason"))
			return endRun(v, run, err)
		}},
	{name: "pause", label: "Pause", effect: "will not start, and its slots will be skipped; what runs goes on",
		whyNot: "it is paused already", fields: howLong,
		target: func(p taskList, r taskRow) string {
			if r.Paused != nil {
				return ""
			}
			return r.Name
		}, perform: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), pauseTasks(v, []string{task})
		}},
	{name: "resume", label: "Resume", effect: "will start again at its next slot", whyNot: "it is not paused by itself",
		target: func(p taskList, r taskRow) string {
			if r.Paused == nil || r.Paused.Everything || r.Paused.Raw.InFile {
				return ""
			}
			return r.Name
		}, perform: func(v *serve.Visit, task string) (string, error) {
			return "/tasks/" + url.PathEscape(task), resume(v, serve.PauseID(task))
		}},
}

func (p taskList) isHere(server string) bool { return server == "" || server == p.View.Server }

func actionNamed(name string) (action, error) {
	for _, a := range actions {
		if a.name == name {
			return a, nil
		}
	}
	return action{}, serve.NewProblem(http.StatusBadRequest, "", "there is no action %q", serve.Shortened(name))
}

// choiceBox writes the box that chooses a task for bulkForm.
func (p taskList) choiceBox(r taskRow) {
	if p.Operates() {
		p.put(`<input type="checkbox" class="pick" form="bulk" name="task" value="%s" aria-label="choose %s">`, r.Name, r.Name)
	}
}

// actionLinks writes links to the actions that a task allows now.
func (p taskList) actionLinks(r taskRow) {
	if !p.Operates() {
		return
	}
	p.put(`<td class="acts">`)
	for _, a := range actions {
		if a.target(p, r) != "" {
			query := url.Values{"do": {a.name}, "task": {r.Name}, "back": {p.request.URL.RawQuery}}
			p.put(`<a href="%s/act?%s" aria-label="%s %s">%s</a> `, p.base, query.Encode(), a.label, r.Name, a.label)
		}
	}
	p.put(`</td>`)
}

// bulkForm writes the form of the boxes; the filter has chosen so many tasks. Sending it changes
// nothing: the next page (showConfirmation) asks first.
func (p taskList) bulkForm(chosen int) {
	if !p.Operates() {
		return
	}
	p.put(`<form class="bulk" id="bulk" method="get" action="%s/act"><span>With the chosen tasks:</span>`, p.base)
	for _, a := range actions {
		p.put(`<button name="do" value="%s">%s…</button>`, a.name, a.label)
	}
	p.put(`<label><input type="checkbox" class="pick" name="all" value="yes"> all %d</label><input type="hidden" name="back" value="%s">`,
		chosen, p.request.URL.RawQuery)
	p.keepParams("q", "tag", "state")
	p.put(`</form>`)
}

// showConfirmation asks whether an action is to be performed on the tasks that the parameters task
// name, or with all=yes on all tasks that the filter chooses.
func showConfirmation(made *page) error {
	p := taskList{made}
	p.isStatic = true // the reason is being written
	a, err := actionNamed(p.query("do"))
	if err != nil {
		return err
	}
	if !p.Operates() {
		return serve.NewProblem(http.StatusForbidden, "", "%s may only look", p.Who.Name)
	}
	rows := p.filtered(p.allRows(p.View.Status(p.health())))
	if p.query("all") == "" {
		named := p.request.URL.Query()["task"]
		rows = slices.DeleteFunc(slices.Clone(rows),
			func(r taskRow) bool { return !slices.Contains(named, r.definition.Name) })
	}
	all, err := p.View.Records(p.request.Context())
	if err != nil {
		return err
	}
	defer all.Close()
	p.confirm(a, p.readTasks(rows, all))
	return nil
}

// confirm writes what will happen to the task of each row, with a form that performs the action,
// and which rows are left out.
func (p taskList) confirm(a action, rows []taskRow) {
	isTarget := func(r taskRow) bool { return a.target(p, r) != "" }
	targets := slices.DeleteFunc(slices.Clone(rows), func(r taskRow) bool { return !isTarget(r) })
	others := slices.DeleteFunc(slices.Clone(rows), isTarget)
	p.title = a.label
	if len(targets) > 0 {
		p.confirmForm(a, targets)
	} else {
		p.put(`<h1>%s</h1><p>There is nothing to do: no task was chosen with which it can be done.</p>`, a.label)
	}
	for i, r := range others {
		if i == 0 {
			p.put(`<p class="quiet">Left out:</p><ul class="quiet">`)
		}
		p.put(`<li><a href="%s">%s</a>: %s</li>`, p.taskURL(r.Name), r.Name, a.whyNot)
	}
	if len(others) > 0 {
		p.put(`</ul>`)
	}
	p.put(`<p><a href="%s/tasks?%s">Back to the tasks</a></p>`, p.base, p.query("back"))
}

// confirmForm writes the form that performs an action on the tasks of all rows (see performAll).
func (p taskList) confirmForm(a action, rows []taskRow) {
	p.put(`<h1>%s %s</h1><form class="ask" method="post" action="%s/act"><input type="hidden" name="do" value="%s"><input type="hidden" name="back" value="%s"><ul>`,
		a.label, humanize.Count(len(rows), "task"), p.base, a.name, p.query("back"))
	for _, r := range rows {
		p.put(`<li><input type="hidden" name="target" value="%s"><a href="%s"><b>%s</b></a> %s`, a.target(p, r), p.taskURL(r.Name), r.Name, a.effect)
		switch a.name {
		case "trigger":
			p.put(`: <code>%s</code>%s`, r.Command, paramFields(p.tasks[r.Name], r.Name, nil))
		case "retry":
			p.put(`. Its last run, <a href="%s"><code>%s</code></a>: %s%s`,
				p.runURL(r.LastRun.ID), humanize.ShortRun(r.LastRun.ID),
				endedBadge(r.LastRun.Result), details(r.LastRun))
			p.put(`%s`, paramFields(p.tasks[r.Name], r.LastRun.ID, r.LastRun.Params))
		}
		p.put(`</li>`)
	}
	class := markupIf(a.grave, ` class="grave"`)
	p.put(`</ul>%s%s
<div class="buttons"><button%s>%s</button></div></form>`, a.fields, reasonField, class, a.label)
}

// performAll performs the action of the form of showConfirmation on one target after another. A
// failure does not keep it from the others.
func (p *pages) performAll(r *http.Request) (next string, err error) {
	a, err := actionNamed(r.PostFormValue("do"))
	if err != nil {
		return "", err
	}
	var failed []string
	targets := r.PostForm["target"]
	for _, target := range targets {
		if next, err = p.performAction(r, a, target); err != nil {
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
