package cmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Print every problem of the schedule",
		Long: `check reads the schedule as sched run does and prints every problem at once, each with its place.
Warnings are about what is allowed and probably not meant. It exits with 2 if the schedule is
invalid, which suits a commit hook or a build.`,
		Example: `  sched check
  sched check -c examples/hooks.yaml`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.load()
			if err != nil {
				return err
			}
			for _, warning := range s.Warnings {
				fmt.Fprintf(a.err, "warning: %s\n", warning)
			}
			fmt.Fprintf(a.out, "%s is valid: %s\n", filepath.Base(s.File), count(len(s.Tasks), "task"))
			return nil
		},
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
