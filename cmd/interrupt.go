package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"sched/schedule/control"
	"sched/schedule/pause"
)

type interruptCommand struct{ *app }

func newInterruptCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "interrupt",
		Short: "End the ticks that wait for later seconds of their minute (after a deploy)",
		Long: `interrupt ends the ticks that stay for tasks which are due every few seconds: on this machine, or
with a store on all servers of the schedule. Within a second they start no further slot; these are
recorded as skipped. What runs goes on to its end, and what was due at the full minute still takes
its turn. The tick of the next minute has the new schedule and the new sched.`,
		Example: `  sched interrupt --reason "deploying 4.2"`,
		Args:    arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return interruptCommand{a}.interrupt(reason) },
	}
	reasonFlag(c, &reason)
	return c
}

// interrupt has the ticks that run start no further slot of their minute.
func (a interruptCommand) interrupt(reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	i := pause.Interrupt{By: caller(), Server: serverName(s.Server), At: a.now().UTC().Round(0), Reason: control.Reason(reason)}
	if err := a.controls(s).Interrupt(i); err != nil {
		return failed("", "cannot interrupt: %w", err)
	}
	a.noteChange(s, "interrupt", pause.Everything, reason)
	where := "on this machine"
	if a.store(s) != nil {
		where = "on all servers"
	}
	fmt.Fprintf(a.out, "ticks that run %s start no further slot of their minute\n", where)
	return nil
}
