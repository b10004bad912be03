// Package export is the command `sched export`.
package export

import (
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/crontab/export"
	"sched/schedule/load"
)

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the schedule as a crontab, for Kubernetes or systemd, and say what is lost",
		Long: `export prints the tasks as lines of a crontab, for any cron. Settings that cron does not know, such
as timeout and without_overlapping, become comments. sched reads them: "sched list -c crontab".

stderr lists these settings, the settings that are lost, and the lines that another cron reads in
another way. If a setting is lost, or a line can be read in two ways, the exit code is 1.
If a task has a user, each line has one, as in /etc/cron.d.

With --to kubernetes it prints a ConfigMap with the files of the schedule, and a CronJob for each
task. Its container is a tick for this task and its slot, so hooks, retries, and locks in the store
hold. Variables of the schedule, such as the URL of the store, come from a Secret, which is yours.

With --to systemd it prints a timer and a service for each task, or writes them to the new folder of
-o. For the whole schedule "sched install --systemd" needs one timer, and loses nothing.`,
		Example: `  sched export
  sched export -o crontab && crontab crontab
  sched export --to kubernetes --image registry.example.com/shop:1 | kubectl apply -f -
  sched export --to systemd -o units`,
		RunE: func(*cobra.Command, []string) error {
			o.output = flags.File(o.output)
			return write(a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "",
		"write to this file, with --to systemd to this folder, which must not be there yet")
	f.StringVar(&o.to, "to", toCrontab, "crontab, kubernetes or systemd")
	f.StringVar(&o.image, "image", "", "with --to kubernetes: the image with sched, a shell and the commands")
	f.StringVar(&o.folder, "folder", "/srv", "with --to kubernetes: the folder of the schedule in the container")
	return c
}

// write prints the schedule in another form to stdout or writes it to a file. Everything else goes
// to stderr.
func write(a *app.App, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	a.WantOrigins = true
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	switch o.to {
	case toKubernetes:
		return writeManifests(a, s, o)
	case toSystemd:
		return writeUnits(a, s, o)
	}
	userName, home := cronUser()
	exported := export.Export(s, app.LocalZone().String(), userName, home, load.Settings)
	printNotes(a, s, exported)
	if err := o.write(a, exported.Text); err != nil {
		return err
	}
	if len(exported.Omitted)+len(exported.Warnings)+len(s.BadLines) > 0 {
		return &exit.Error{Code: exit.Failure}
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
		return app.HomeOf(name)
	}
}

// printNotes prints which settings became comments, which settings are missing in the crontab, and
// which lines another cron reads in another way.
func printNotes(a *app.App, s *schedule.Schedule, exported *export.Exported) {
	for _, setting := range exported.AsComments {
		fmt.Fprintf(a.Err, "note: %s\n", setting)
	}
	for _, setting := range exported.Omitted {
		fmt.Fprintf(a.Err, "not exported: %s\n", setting)
	}
	for _, warning := range exported.Warnings {
		fmt.Fprintf(a.Err, "warning: %s\n", warning)
	}
	for _, problem := range s.BadLines { // of lines of a crontab that sched cannot run
		firstLine, _, _ := strings.Cut(problem.String(), "\n")
		fmt.Fprintf(a.Err, "not exported: %s\n", firstLine)
	}
}
