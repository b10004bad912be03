package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"sched/schedule/pause"
)

type interruptCommand struct{ *app }

func newInterruptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "interrupt",
		Short: "End the ticks that wait for later seconds of their minute (after a deploy)",
		Long: `interrupt ends the ticks that stay for tasks which are due every few seconds: on this machine, or
with a store on all servers of the schedule. Within a second they start no further slot; these are
recorded as skipped. What runs goes on to its end, and what was due at the full minute still takes
its turn. The tick of the next minute has the new schedule and the new sched.`,
		Example: `  sched interrupt`,
		Args:    arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return interruptCommand{a}.interrupt() },
	}
}

// interrupt has the ticks that run start no further slot of their minute.
func (a interruptCommand) interrupt() error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	if err := a.controls(s).Interrupt(pause.Interrupt{By: caller(), Server: serverName(s.Server), At: a.now().UTC().Round(0)}); err != nil {
		return failed("", "cannot interrupt: %w", err)
	}
	where := "on this machine"
	if a.store(s) != nil {
		where = "on all servers"
	}
	fmt.Fprintf(a.out, "ticks that run %s start no further slot of their minute\n", where)
	return nil
}
