package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/process"
	"sched/schedule/text"
)

func newCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Print every problem of the schedule",
		Long: `check reads the schedule as sched run does and prints every problem at once, each with its place.
It also asks this machine for the users and groups of the tasks; to sched run, one that is missing
is the failure of its task alone. Warnings are about what is allowed and probably not meant. It
exits with 2 if there is a problem, which suits a commit hook or a build.`,
		Example: `  sched check
  sched check -c examples/hooks.yaml`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.load()
			var invalid *schedule.InvalidError
			if errors.As(err, &invalid) {
				a.printProblems(invalid.Problems)
				return &exit{code: exitUsage}
			}
			if err != nil {
				return err
			}
			problems, warnings := unfit(s)
			for _, warning := range slices.Concat(s.Warnings, s.OutOfDate(a.now()), warnings) {
				fmt.Fprintf(a.err, "warning: %s\n", warning)
			}
			if len(problems) > 0 {
				a.printProblems(problems)
				return &exit{code: exitUsage}
			}
			fmt.Fprintf(a.out, "%s is valid: %s\n", filepath.Base(s.File), text.Count(len(s.Tasks), "task"))
			return nil
		},
	}
}

// unfit returns why active tasks cannot start on this machine as this user (problems), and what they would lack if they
// started now but may have when they are due (warnings).
func unfit(s *schedule.Schedule) (problems, warnings []schedule.Problem) {
	for _, t := range s.Tasks {
		if !s.Active(t) {
			continue
		}
		at := schedule.Problem{Place: t.Place, Task: t.Name}
		if err := process.CheckAs(t.As); err != nil {
			at.Text, at.Hint = err.Error(), "sched run goes on without this task alone, each time as a failure of it"
			problems = append(problems, at)
		} else if err := process.CheckEnvFiles(t, os.Environ()); err != nil {
			at.Text, at.Hint = err.Error(), "the task fails when it is not there in time"
			warnings = append(warnings, at)
		}
	}
	return problems, warnings
}
