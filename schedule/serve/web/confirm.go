package web

import (
	"net/http"
	"slices"

	"sched/schedule/serve"
	"sched/schedule/view"
)

// A confirmation asks whether an action is to be performed.
type confirmation struct {
	*page
	Name, Label, Effect, WhyNot string // of the action
	HowLong, Grave              bool
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
	p.IsStatic = true // the reason is being written
	a, err := actionNamed(p.Query("do"))
	if err != nil {
		return c, err
	}
	if !p.Operates() {
		return c, serve.NewProblem(http.StatusForbidden, "", "%s may only look", p.Who.Name)
	}
	p.title = a.label
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
	c = confirmation{page: p, Name: a.name, Label: a.label, Effect: a.effect, WhyNot: a.whyNot,
		HowLong: a.howLong, Grave: a.grave}
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

// Introduction leads from the effect of the action to what is said of each task behind it.
func (c confirmation) Introduction() string {
	return map[string]string{"trigger": ":", "retry": ". Its last run,"}[c.Name]
}

func (c confirmation) BackURL() string { return c.Base + "/tasks?" + c.Query("back") }
