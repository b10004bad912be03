package pause

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/flags"
	"sched/schedule/view"
)

func newList(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the pauses that are in effect, and those that are planned",
		Long: `list shows the pauses that are in effect, and those that are planned, by people and by pauses: in
the schedule. Of a pause that comes again it shows the next one.

A task that is called list is paused by sched pause -- list.`,
		Example: `  sched pause list`,
		Args:    flags.Arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return listPauses(a, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func listPauses(a *app.App, asJSON bool) error {
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	if len(s.Store.Servers) == 0 { // else the store has the pauses
		if err := view.Readable(s.StateDir); err != nil {
			return err
		}
	}
	inEffect, planned := view.PausesNow(s, a.View(s).Pauses(), view.InSchedule(s), a.Now())
	pauses := append(inEffect, planned...)
	if asJSON {
		return a.PrintJSON(pauses)
	}
	if len(pauses) == 0 {
		fmt.Fprintln(a.Out, "nothing is paused, and no pause is planned")
	}
	for _, p := range pauses {
		verb := "is"
		if p.Planned {
			verb = "will be"
		}
		fmt.Fprintln(a.Out, cmp.Or(p.Task, "everything"), verb, p.Raw.Text(a.Now(), s.Location))
	}
	return nil
}
