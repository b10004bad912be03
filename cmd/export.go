package cmd

import (
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule"
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

stderr lists these settings, the settings that are lost, and the lines that another cron reads in
another way. If a setting is lost, or a line can be read in two ways, the exit code is 1.
If a task has a user, each line has one, as in /etc/cron.d.`,
		Example: `  sched export
  sched export -o crontab && crontab crontab`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return exportCommand{a}.export(output) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write the crontab to this file, which must not be there yet")
	return c
}

// export prints the crontab to stdout or writes it to a file. Everything else goes to stderr.
func (a exportCommand) export(output string) error {
	a.wantOrigins = true
	s, err := a.loadToShow()
	if err != nil {
		return err
	}
	userName, home := cronUser()
	exported := crontab.Export(s, localZone().String(), userName, home, load.Settings)
	a.printNotes(s, exported)
	if output == "" {
		fmt.Fprint(a.out, exported.Text)
	} else if err := writeNew(output, exported.Text, 0o644); err != nil {
		return failed("", "cannot write %s: %w", output, humanize.WithoutPath(err))
	}
	if len(exported.Omitted)+len(exported.Warnings)+len(s.BadLines) > 0 {
		return &exit{code: exitFailed}
	}
	return nil
}

// cronUser returns the user of the crontab, and the folders in which cron starts the commands of
// users. For this user that is $HOME.
func cronUser() (userName string, home func(user string) (dir string, ok bool)) {
	if u, err := user.Current(); err == nil {
		userName = u.Username
	}
	return userName, func(name string) (string, bool) {
		if dir, set := os.LookupEnv("HOME"); set && name == userName {
			return dir, true
		}
		return homeOf(name)
	}
}

// printNotes prints which settings became comments, which settings are missing in the crontab, and
// which lines another cron reads in another way.
func (a exportCommand) printNotes(s *schedule.Schedule, exported *crontab.Exported) {
	for _, setting := range exported.AsComments {
		fmt.Fprintf(a.err, "note: %s\n", setting)
	}
	for _, setting := range exported.Omitted {
		fmt.Fprintf(a.err, "not exported: %s\n", setting)
	}
	for _, warning := range exported.Warnings {
		fmt.Fprintf(a.err, "warning: %s\n", warning)
	}
	for _, problem := range s.BadLines { // of lines of a crontab that sched cannot run
		firstLine, _, _ := strings.Cut(problem.String(), "\n")
		fmt.Fprintf(a.err, "not exported: %s\n", firstLine)
	}
}
