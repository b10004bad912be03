// Package status is the command `sched status`.
package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/proposal"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

type options struct {
	json     bool
	textfile string
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell whether all is well, for people and for monitoring",
		Long: `status prints one line with the verdict, and a line for each trouble with what to type next. It
writes nothing and is quick, so it may be called at any time.

Exit codes:
  0  all is well
  1  a task: its last run failed or has vanished, slots were missed since, it is overdue (expect), a
     run takes more than three times as long as usual (and at least a minute more), its last slot
     was skipped for a missing variable or file, or its last three for a full pool, the newest slot
     of a one_server task ran on no server, no server that ticks may run it, or a pause without an
     end is older than a day
  1  this machine: the state folder cannot be written, its labels cannot be read, notifications
     could not be delivered, the store is down, or the last tick found another machine under the
     name of this one, servers of another environment, or silent servers
  2  no tick came for more than 3 minutes, or ever, or the schedule is invalid, and not only for
     want of variables`,
		Example: `  sched status
  sched status --json
  sched status --prometheus /var/lib/node_exporter/textfile/shop.prom`,
		Args: flags.NoArguments("`sched why TASK` tells of one task"),
		RunE: func(*cobra.Command, []string) error { return status(a, o) },
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.textfile, "prometheus", "", "write a file for the node exporter of Prometheus instead (- prints it)")
	return c
}

// status prints the verdict; its error is the exit code of the verdict. With --prometheus it fails
// only if it cannot write the file.
func status(a *app.App, o options) error {
	if o.json && o.textfile != "" {
		return exit.Usage("", "--json and --prometheus exclude each other")
	}
	if o.textfile != "" && o.textfile != "-" && os.Geteuid() == 0 {
		return writeMetricsAsRoot(a, o.textfile)
	}
	a.ReadOnly = true
	s, invalid, err := a.LoadLastValid()
	if err != nil {
		reportNoSchedule(a, o, err)
		return err
	}
	if err := checkReadable(s); err != nil {
		return err
	}
	health := view.HealthOf(s, invalid != nil, a.Now())
	if o.textfile != "" {
		return writeMetrics(a, o.textfile, health)
	}
	source := a.View(s)
	health.AskStore(context.Background(), source.Controls.Store, source.Server)
	status := view.StatusOf(source, health)
	if waiting, err := proposal.All(s.StateDir, a.Now()); err != nil {
		a.Warn("%v", err)
	} else if status.Proposals = len(waiting); len(waiting) > 0 {
		verb := " wait"
		if len(waiting) == 1 {
			verb = " waits"
		}
		status.First += "; " + humanize.Count(len(waiting), "proposal") + verb + ": sched proposals" + a.ConfigFlag()
	}
	if o.json {
		if err := a.PrintJSON(status); err != nil {
			return err
		}
	} else {
		printStatus(a, status)
	}
	if status.ExitCode != exit.OK {
		return &exit.Error{Code: status.ExitCode}
	}
	return nil
}

// checkReadable refuses a state folder whose status would be wrong, because others own it or can
// write it.
func checkReadable(s *schedule.Schedule) error {
	err := app.CheckState(s)
	if foreign, ok := errors.AsType[*statedir.ForeignError](err); ok {
		return exit.Usage("ask as its owner: "+exit.AsUser(foreign.Owner), "%w", foreign)
	}
	return err
}

// reportNoSchedule answers programs, in JSON or metrics, when there is no schedule to run.
func reportNoSchedule(a *app.App, o options, reason error) {
	var err error
	switch {
	case o.textfile != "":
		err = writeMetrics(a, o.textfile, invalidHealth(a))
	case o.json:
		err = a.PrintJSON(view.NoSchedule(reason, "sched check"+a.ConfigFlag()))
	}
	if err != nil {
		a.Warn("%v", err)
	}
}

// invalidHealth returns the health of a schedule that is invalid: only its file is known. The
// schedule has the name of its folder.
func invalidHealth(a *app.App) *view.Health {
	health := &view.Health{Schedule: &schedule.Schedule{}, At: a.Now(), Invalid: true}
	if file, err := a.FindConfig(); err == nil {
		health.Schedule.File = file
		if path, err := filepath.Abs(file); err == nil {
			health.Schedule.Name = filepath.Base(filepath.Dir(path))
		}
	}
	return health
}

// writeMetricsAsRoot lets another process look, which becomes the owner of the schedule
// (becomeOwner). That user may not be able to write the file.
func writeMetricsAsRoot(a *app.App, path string) error {
	look := exec.Command(app.Self(), "status", "--prometheus", "-")
	if a.Config != "" {
		look.Args = append(look.Args, "--config", a.Config)
	}
	look.Stderr = a.Err
	text, err := look.Output()
	ended, hasEnded := errors.AsType[*exec.ExitError](err)
	if err != nil && !hasEnded {
		return exit.Failed("", "%w", err)
	}
	if len(text) > 0 {
		if err := view.WriteTextfile(path, text); err != nil {
			return err
		}
	}
	if hasEnded {
		return &exit.Error{Code: max(ended.ExitCode(), exit.Failure)}
	}
	return nil
}

func writeMetrics(a *app.App, path string, health *view.Health) error {
	if path == "-" {
		a.Out.Write(view.Metrics(health))
		return nil
	}
	return view.WriteTextfile(path, view.Metrics(health))
}

func printStatus(a *app.App, status view.Status) {
	fmt.Fprintln(a.Out, a.Stdout().Paint(toneOfExit(status.ExitCode), status.First))
	table := a.Table()
	defer table.Flush()
	for _, trouble := range status.Troubles {
		table.Row(cmp.Or(trouble.Task, "-"), trouble.Text, trouble.Next)
	}
}

func toneOfExit(code int) terminal.Tone {
	switch code {
	case exit.OK:
		return terminal.Good
	case exit.Failure:
		return terminal.Caution
	}
	return terminal.Bad
}
