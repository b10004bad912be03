package web

import (
	"net/http"
	"slices"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// A confirmation asks whether an action is to be performed.
type confirmation struct {
	*page
	Name, Label, Effect, WhyNot string // of the action
	Grave                       bool
	Ends                        []pauseEnd     // see button
	Back                        string         // the parameters of the list of tasks that led here
	Reason                      string         // that was typed
	Refused                     *serve.Problem // why the form was refused; nil if it was not sent yet
	Targets                     []target
	LeftOut                     []taskRow // the action cannot be performed on these
}

// A target is a task that an action changes.
type target struct {
	taskRow
	Target string // the task, or its run
	Params []paramField
}

// readConfirmation reads what the action of the parameter do would change: the tasks that the
// parameters task name, or with all=yes all tasks that the filter chooses.
func readConfirmation(p *page) (c confirmation, err error) {
	a, err := actionNamed(p.Query("do"))
	if err != nil {
		return c, err
	}
	if !p.Operates() {
		return c, serve.NewProblem(http.StatusForbidden, "", "%s may only look", p.Who.Name)
	}
	rows := filtered(p, allRows(p, view.StatusOf(p.View, p.health())))
	if p.Query("all") == "" {
		named := p.request.URL.Query()["task"]
		rows = slices.DeleteFunc(slices.Clone(rows),
			func(r taskRow) bool { return !slices.Contains(named, r.definition.Name) })
	}
	all, err := p.View.Records(p.request.Context())
	if err != nil {
		return c, err
	}
	defer all.Close()
	c = newConfirmation(p, a)
	for _, r := range readTasks(p, rows, all) {
		t := target{taskRow: r, Target: a.target(p, r)}
		switch {
		case t.Target == "":
			c.LeftOut = append(c.LeftOut, r)
			continue
		case a.name == "trigger":
			t.Params = paramFields(r.definition, r.Name, nil)
		case a.name == "retry":
			t.Params = paramFields(r.definition, r.LastRun.ID, r.LastRun.Params)
		}
		c.Targets = append(c.Targets, t)
	}
	return c, nil
}

func newConfirmation(p *page, a action) confirmation {
	p.IsStatic = true // the reason is being written
	p.title = a.label
	c := confirmation{page: p, Name: a.name, Label: a.label, Effect: a.effect, WhyNot: a.whyNot, Grave: a.grave,
		Back: p.request.FormValue("back"), Reason: p.request.PostFormValue("reason")}
	if a.howLong {
		c.Ends = pauseEnds(p)
	}
	return c
}

// readRefused reads the confirmation of a form that was refused, with all that was typed in it.
func readRefused(refused *refusedError) func(*page) (confirmation, error) {
	return func(p *page) (confirmation, error) {
		c := newConfirmation(p, refused.action)
		c.Refused = serve.ProblemOf(refused.error)
		for _, name := range refused.targets {
			t, err := typedTarget(p, refused.action, name)
			if err != nil {
				return c, err
			}
			c.Targets = append(c.Targets, t)
		}
		return c, nil
	}
}

// typedTarget reads a target of a form that was sent: a task, or a run to do again.
func typedTarget(p *page, a action, name string) (target, error) {
	t, ctx, task := target{Target: name}, p.request.Context(), name
	if a.onRun {
		run, err := view.FindRun(ctx, p.View, name)
		if err != nil {
			return t, err
		}
		task, t.LastRun = run.Task, run.Row
	}
	definition, err := view.FindTask(p.Schedule, task)
	if err != nil {
		return t, err
	}
	isIt := func(other *schedule.Task) bool { return other == definition }
	run := t.LastRun
	t.Task, t.definition = view.ListTasks(ctx, p.View, isIt, p.now, 1).Items[0], definition
	if a.onRun {
		t.LastRun = run
	}
	t.Params = typedFields(definition, name, run.Params, p.request.PostForm)
	return t, nil
}

// Heading is the action with the name of its task, or with how many tasks it changes.
func (c confirmation) Heading() string {
	if len(c.Targets) == 1 {
		return c.Label + " " + c.Targets[0].Name
	}
	return c.Label + " " + humanize.Count(len(c.Targets), "task")
}

// Introduction leads from the effect of the action to what is said of each task behind it.
func (c confirmation) Introduction() string {
	if c.Name == "retry" && c.Refused != nil {
		return ". Its run"
	}
	return map[string]string{"trigger": ":", "retry": ". Its last run,"}[c.Name]
}

func (c confirmation) BackURL() string { return c.Base + "/tasks?" + c.Back }
