package cmd

import (
	"errors"

	"github.com/spf13/cobra"
)

func newStartCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "start TICK",
		Short:  "Supervise the background runs of a tick (used by sched run)",
		Hidden: true,
		Args:   arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return &exit{exitUsage, errors.New("start is what sched run calls for background tasks"), "run a task by hand with `sched test TASK`"}
		},
	}
}
