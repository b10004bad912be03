package cmd

import (
	"fmt"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"sched/schedule/crontab"
	"sched/schedule/text"
)

type exportCommand struct{ *app }

func newExportCommand(a *app) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the schedule as a crontab, and say what cron does not do",
		Long: `export prints the tasks as lines of a crontab, for any cron. What cron does not do, such as timeout
and without_overlapping, stands in comments that sched reads: "sched list -c crontab".

On stderr it lists what stands in comments alone, and what is not in the crontab at all. For the
second the exit code is 1. If a task has a user, lines have one, as in /etc/cron.d.`,
		Example: `  sched export
  sched export -o crontab && crontab crontab`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return exportCommand{a}.export(output) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write the crontab to this file, which must not be there yet")
	return c
}

func (a exportCommand) export(output string) error {
	a.look()
	a.origins = true
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	self := ""
	if u, err := user.Current(); err == nil {
		self = u.Username
	}
	home := func(name string) (string, bool) {
		if dir, set := os.LookupEnv("HOME"); set && name == self {
			return dir, true
		}
		return homeOf(name)
	}
	exported := crontab.Export(s, localZone().String(), self, home)
	for _, kept := range exported.Kept {
		fmt.Fprintf(a.err, "note: %s\n", kept)
	}
	for _, lost := range exported.Lost {
		fmt.Fprintf(a.err, "not exported: %s\n", lost)
	}
	if output == "" {
		fmt.Fprint(a.out, exported.Text)
	} else if err := writeNew(output, exported.Text); err != nil {
		return failed("", "cannot write %s: %w", output, text.WithoutPath(err))
	}
	if len(exported.Lost) > 0 {
		return &exit{code: exitFailed}
	}
	return nil
}
