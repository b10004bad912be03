// Package interrupt is the command `sched interrupt`.
package interrupt

import (
	"fmt"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule/control"
	"sched/schedule/pause"
)

func New(a *app.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "interrupt",
		Short: "End the ticks that wait for later seconds of their minute (after a deploy)",
		Long: `interrupt ends the ticks that stay for tasks which are due every few seconds: on this machine, or
with a store on all servers of the schedule. Within a second they start no further slot; these are
recorded as skipped. Runs go on to their ends, and a task that was due at the full minute still
takes its turn. The tick of the next minute has the new schedule and the new sched.`,
		Example: `  sched interrupt --reason "deploying 4.2"`,
		RunE:    func(*cobra.Command, []string) error { return interrupt(a, reason) },
	}
	flags.AddReason(c, &reason)
	return c
}

func interrupt(a *app.App, reason string) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	err = a.Controls(s).Interrupt(pause.Interrupt{
		By:     app.PersonName(),
		Server: app.ServerName(s.Server),
		At:     a.Now().UTC().Round(0),
		Reason: control.Reason(reason),
	})
	if err != nil {
		return exit.Failed("", "cannot interrupt: %w", err)
	}
	a.NoteChange(s, "interrupt", pause.Everything, reason)
	where := "on this machine"
	if a.Store(s) != nil {
		where = "on all servers"
	}
	fmt.Fprintf(a.Out, "ticks that run %s start no further slot of their minute\n", where)
	return nil
}
