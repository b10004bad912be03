package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

type statusOptions struct {
	json     bool
	textfile string
}

type statusCommand struct{ *app }

func newStatusCommand(a *app) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell whether all is well, for people and for monitoring",
		Long: `status prints one line with the verdict, and a line for each trouble with what to type next. It
writes nothing and is quick, so it may be called at any time.

Exit codes:
  0  all is well
  1  a task: its last run failed or has vanished, slots were missed since, a run takes more than
     three times as long as usual (and at least a minute more), the newest slot of a one_server
     task ran on no server, or a pause without an end is older than a day
  1  this machine: notifications could not be delivered, or the last tick found the store to be
     down, another machine under the name of this one, or servers of another environment
  2  no tick came for more than 3 minutes, or the schedule is invalid`,
		Example: `  sched status
  sched status --json
  sched status --prometheus /var/lib/node_exporter/textfile/shop.prom`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return statusCommand{a}.status(o) },
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.textfile, "prometheus", "", "write a file for the node exporter of Prometheus instead (- prints it)")
	return c
}

// status prints the verdict; its error is the exit code of the verdict. With --prometheus it fails
// only if it cannot write the file.
func (a statusCommand) status(o statusOptions) error {
	if o.json && o.textfile != "" {
		return usage("", "--json and --prometheus exclude each other")
	}
	if o.textfile != "" && o.textfile != "-" && os.Geteuid() == 0 {
		return a.writeMetricsAsRoot(o.textfile)
	}
	a.readOnly = true
	s, invalid, err := a.loadLastValid()
	if err != nil {
		a.reportNoSchedule(o, err)
		return err
	}
	if err := a.checkReadable(s); err != nil {
		return err
	}
	health := view.HealthOf(s, invalid != nil, a.now())
	if o.textfile != "" {
		return a.writeMetrics(o.textfile, health)
	}
	status := a.view(s).Status(health)
	if o.json {
		if err := a.printJSON(status); err != nil {
			return err
		}
	} else {
		a.printStatus(status)
	}
	if status.ExitCode != exitOK {
		return &exit{code: status.ExitCode}
	}
	return nil
}

// checkReadable refuses a state folder whose status would be wrong, because others own it or can
// write it.
func (a statusCommand) checkReadable(s *schedule.Schedule) error {
	err := checkState(s)
	if foreign, ok := errors.AsType[*statedir.ForeignError](err); ok {
		return usage("ask as its owner: "+asUser(foreign.Owner), "%w", foreign)
	}
	return err
}

// reportNoSchedule answers programs, in JSON or metrics, when there is no schedule to run.
func (a statusCommand) reportNoSchedule(o statusOptions, reason error) {
	var err error
	switch {
	case o.textfile != "":
		err = a.writeMetrics(o.textfile, a.invalidHealth())
	case o.json:
		err = a.printJSON(view.NoSchedule(reason, "sched check"+a.configFlag()))
	}
	if err != nil {
		a.warn("%v", err)
	}
}

// invalidHealth returns the health of a schedule that is invalid: only its file is known. The
// schedule has the name of its folder.
func (a statusCommand) invalidHealth() *view.Health {
	health := &view.Health{Schedule: &schedule.Schedule{}, At: a.now(), Invalid: true}
	if file, err := a.findConfig(); err == nil {
		health.Schedule.File = file
		if path, err := filepath.Abs(file); err == nil {
			health.Schedule.Name = filepath.Base(filepath.Dir(path))
		}
	}
	return health
}

// writeMetricsAsRoot lets another process look, which becomes the owner of the schedule
// (becomeOwner). That user may not be able to write the file.
func (a statusCommand) writeMetricsAsRoot(path string) error {
	look := exec.Command(self(), "status", "--prometheus", "-")
	if a.config != "" {
		look.Args = append(look.Args, "--config", a.config)
	}
	look.Stderr = a.err
	text, err := look.Output()
	ended, hasEnded := errors.AsType[*exec.ExitError](err)
	if err != nil && !hasEnded {
		return failed("", "%w", err)
	}
	if len(text) > 0 {
		if err := view.WriteTextfile(path, text); err != nil {
			return err
		}
	}
	if hasEnded {
		return &exit{code: max(ended.ExitCode(), exitFailed)}
	}
	return nil
}

func (a statusCommand) writeMetrics(path string, health *view.Health) error {
	if path == "-" {
		a.out.Write(health.Metrics())
		return nil
	}
	return view.WriteTextfile(path, health.Metrics())
}

func (a statusCommand) printStatus(status view.Status) {
	fmt.Fprintln(a.out, a.stdout().Paint(toneOfExit(status.ExitCode), status.First))
	table := a.stdout().Table()
	defer table.Flush()
	for _, trouble := range status.Troubles {
		table.Row(cmp.Or(trouble.Task, "-"), trouble.Text, trouble.Next)
	}
}

// toneOfExit returns the colour of a verdict.
func toneOfExit(code int) terminal.Tone {
	switch code {
	case exitOK:
		return terminal.Good
	case exitFailed:
		return terminal.Caution
	}
	return terminal.Bad
}
