package cmd

import (
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

type exportCommand struct{ *app }

func newExportCommand(a *app) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the schedule as a crontab, and say what cron does not do",
		Long: `export prints the tasks as lines of a crontab, for any cron. Settings that cron does not know, such
as timeout and without_overlapping, become comments. sched reads them: "sched list -c crontab".

stderr lists these settings, what the crontab lacks, and what another cron reads in another way. If
the crontab lacks something, or can be read in two ways, the exit code is 1.
If a task has a user, each line has one, as in /etc/cron.d.`,
		Example: `  sched export
  sched export -o crontab && crontab crontab`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return exportCommand{a}.export(output) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write the crontab to this file, which must not be there yet")
	return c
}

// export sends everything but the crontab to stderr.
func (a exportCommand) export(output string) error {
	a.look()
	a.wantOrigins = true
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	own := ""
	if u, err := user.Current(); err == nil {
		own = u.Username
	}
	home := func(name string) (string, bool) {
		if dir, set := os.LookupEnv("HOME"); set && name == own {
			return dir, true
		}
		return homeOf(name)
	}
	exported := crontab.Export(s, localZone().String(), own, home, load.Settings)
	for _, note := range exported.AsComments {
		fmt.Fprintf(a.err, "note: %s\n", note)
	}
	for _, lost := range exported.Lost {
		fmt.Fprintf(a.err, "not exported: %s\n", lost)
	}
	for _, warning := range exported.Warnings {
		fmt.Fprintf(a.err, "warning: %s\n", warning)
	}
	for _, left := range s.Left {
		what, _, _ := strings.Cut(left.String(), "\n")
		fmt.Fprintf(a.err, "not exported: %s\n", what)
	}
	if output == "" {
		fmt.Fprint(a.out, exported.Text)
	} else if err := writeNew(output, exported.Text); err != nil {
		return failed("", "cannot write %s: %w", output, humanize.WithoutPath(err))
	}
	if len(exported.Lost)+len(exported.Warnings)+len(s.Left) > 0 {
		return &exit{code: exitFailed}
	}
	return nil
}
