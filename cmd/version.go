package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// Version is the version of sched (CHANGELOG.md).
const Version = "0.1.0"

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sched version",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.out, "sched %s (%s/%s, %s)\n", Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
}
