package propose

import (
	"fmt"
	"path/filepath"
	"strings"

	"sched/cmd/app"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// A desk is a serve.Desk that is used from a terminal.
type desk struct {
	*app.App
	serve.Desk
}

// openDesk loads the schedule. The folder is the one of --edit, or else the one of x-proposals.
func openDesk(a *app.App, edit string, open serve.OpenDesk) (desk, error) {
	s, err := a.LoadToChange()
	if err != nil {
		return desk{}, err
	}
	if edit != "" {
		if edit, err = filepath.Abs(edit); err != nil {
			return desk{}, err
		}
	}
	config := serve.Config{StateDir: s.StateDir, Now: a.Now, Problem: a.Warn, Edit: edit,
		Schedules: serve.Schedules{Check: a.LoadAfterEdit, View: a.View}}
	at, err := open(config, s, serve.Who{Name: app.PersonName(), From: view.FromCommand})
	return desk{a, at}, err
}

// print prints a review for people. The texts of the proposal are of a stranger.
func (d desk) print(r serve.Review) {
	zone := d.Schedule.Location
	what := "a change of " + r.Task
	if r.Old == "" {
		what = "a new task, " + r.Task
	}
	if r.ID == "" {
		fmt.Fprintf(d.Out, "%s, which is not kept:\n", what)
	} else {
		fmt.Fprintf(d.Out, "%s  %s, proposed by %s at %s; it ends at %s\n", r.ID, what, humanize.Line(r.By),
			d.MinuteText(r.At, zone), d.MinuteText(r.Until, zone))
	}
	if r.Reason != "" {
		fmt.Fprintf(d.Out, "  because: %s\n", humanize.Line(r.Reason))
	}
	for _, line := range r.Diff {
		fmt.Fprintf(d.Out, "  %s\n", humanize.Plain(line))
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(d.Out, "  problem: %s\n", problem)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(d.Out, "  warning: %s\n", warning)
	}
	for _, p := range r.Assertions {
		if p.Holds {
			fmt.Fprintf(d.Out, "  holds: %s\n", humanize.Line(p.Text))
		}
	}
	if r.Changed {
		fmt.Fprintln(d.Out, "  the schedule has changed since, and this was checked again")
	}
	for _, at := range r.Next {
		fmt.Fprintf(d.Out, "  due at %s\n", d.MinuteText(at.Time, zone))
	}
	if len(r.Mutex) > 0 {
		fmt.Fprintf(d.Out, "  it shares its mutex with %s\n", strings.Join(r.Mutex, ", "))
	}
	if r.Before != nil {
		fmt.Fprintf(d.Out, "  in 7 days: %d starts for %d, %.0f runs at once for %.0f\n",
			r.After.Starts, r.Before.Starts, r.After.Runs.Most, r.Before.Runs.Most)
	}
}
