package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/doctor"
	"sched/schedule/humanize"
	"sched/schedule/load"
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

Exit codes: 0 all is well; 1 the last run of a task failed, slots were missed since, the newest slot
of a one_server task ran on no server, a run takes more than three times as long as usual (and at
least a minute more), or has vanished, a pause without an end is older than a day, notifications
could not be delivered, or the last tick found the store to be down, another machine under the name
of this one, or servers of another environment; 2 no tick came for more than
3 minutes, or the schedule is invalid.`,
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

// status returns the exit code of the verdict; with --prometheus it fails only if it cannot write.
func (a statusCommand) status(o statusOptions) error {
	if o.json && o.textfile != "" {
		return usage("", "--json and --prometheus exclude each other")
	}
	a.look()
	s, invalid, err := a.loadLastValid()
	if err != nil {
		if unwritten := a.withoutSchedule(o, err); unwritten != nil {
			a.problem("%v", unwritten)
		}
		return err
	}
	if os.Geteuid() != 0 { // who may read everything, and is told the truth by everybody
		err := statedir.Check(s.StateDir)
		if foreign, is := errors.AsType[*statedir.ForeignError](err); is {
			return usage("ask as its owner: "+asUser(foreign.Owner), "%w", err)
		}
		if err := checkState(s); err != nil {
			return err
		}
	}
	now := view.HealthOf(s, invalid != nil, a.now())
	if o.textfile != "" {
		return a.writeMetrics(o.textfile, now)
	}
	judged := a.view(s).Status(now)
	if o.json {
		err = a.printJSON(judged)
	} else {
		a.printStatus(judged)
	}
	if err == nil && judged.ExitCode != exitOK {
		return &exit{code: judged.ExitCode}
	}
	return err
}

// withoutSchedule answers programs, in JSON or metrics, when there is no schedule to run.
func (a statusCommand) withoutSchedule(o statusOptions, reason error) error {
	none := &view.Health{Schedule: &schedule.Schedule{}, At: a.now(), Invalid: true}
	if file, err := a.findConfig(); err == nil {
		none.Schedule.File = file
		if path, err := filepath.Abs(file); err == nil {
			none.Schedule.Name = filepath.Base(filepath.Dir(path))
		}
	}
	if o.textfile != "" {
		return a.writeMetrics(o.textfile, none)
	}
	if !o.json {
		return nil
	}
	return a.printJSON(view.NoSchedule(reason, "sched check"+a.configFlag()))
}

func (a statusCommand) writeMetrics(path string, s *view.Health) error {
	if path == "-" {
		a.out.Write(s.Metrics())
		return nil
	}
	return view.WriteTextfile(path, s.Metrics())
}

func (a statusCommand) printStatus(judged view.Status) {
	verdict := map[int]terminal.Tone{exitOK: terminal.Good, exitFailed: terminal.Caution, exitUsage: terminal.Bad}[judged.ExitCode]
	fmt.Fprintln(a.out, a.stdout().Paint(verdict, judged.First))
	t := a.stdout().Table()
	defer t.Flush()
	for _, r := range judged.Troubles {
		t.Row(cmp.Or(r.Task, "-"), r.Text, r.Next)
	}
}

type doctorCommand struct{ *app }

func newDoctorCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why it works in your shell and not from cron",
		Long: `doctor looks at what calls the schedule (crontab, cron, systemd, sched work), at what that gives its
ticks (variables, PATH, time zone, limits), at what the tasks need on this machine, and at state
folder, disk, history, clock, notifications and store. It only looks, and takes 5 seconds at most.

What ticks are given it knows from the ticks: each writes it down when it changed, names alone but
for PATH and SHELL. So run it as the user whose crontab it is, after a tick has come.

Exit codes: 0 all is well, 1 there are warnings, 2 there are problems. A warning that only the
host of a container can mend, as of its clock, does not count.`,
		Example: `  sched doctor
  sched doctor --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return doctorCommand{a}.examine(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (a doctorCommand) examine(asJSON bool) error {
	a.look()
	a.origins = true
	subject, err := a.subject()
	if err != nil {
		return err
	}
	results := doctor.Examine(ctx, subject)
	if asJSON {
		err = a.printJSON(examinationJSON{doctor.Worst(results), results})
	} else {
		a.printExamination(results)
	}
	if code := map[doctor.Level]int{doctor.Warning: exitFailed, doctor.Problem: exitUsage}[doctor.Worst(results)]; code != exitOK && err == nil {
		return &exit{code: code}
	}
	return err
}

// subject refuses the schedule of another user: their cron and this shell differ.
func (a doctorCommand) subject() (*doctor.Subject, error) {
	s, invalid, err := a.loadLastValid()
	if err != nil {
		return nil, err
	}
	if owner := foreignOwner(s); owner != 0 {
		return nil, usage("ask as its owner: "+asUser(owner), "the state folder %s belongs to %s", s.StateDir, view.UserName(owner))
	}
	program := self()
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	return &doctor.Subject{
		Schedule: s, Broken: invalid, Now: a.now(), Environ: os.Environ(), Self: program, Zone: localZone().String(), Server: serverName(s.Server), Store: a.store(s),
		LoadWith: func(lookup func(string) (string, bool)) error {
			options := a.options()
			options.Getenv = lookup
			_, err := load.File(s.File, options)
			return err
		},
	}, nil
}

// foreignOwner returns the user whose ticks these are, if that is another user; else 0.
func foreignOwner(s *schedule.Schedule) int {
	err := statedir.Check(s.StateDir)
	if foreign, is := errors.AsType[*statedir.ForeignError](err); is {
		return foreign.Owner
	}
	if folder, is := errors.AsType[*statedir.FolderError](err); is { // which root is told of first
		return folder.Owner
	}
	return 0
}

func (a doctorCommand) printExamination(results []doctor.Result) {
	out := a.stdout()
	tones := map[doctor.Level]terminal.Tone{doctor.OK: terminal.Good, doctor.Warning: terminal.Caution, doctor.Problem: terminal.Bad}
	table := out.Table()
	defer table.Flush()
	for _, r := range results {
		table.Row(out.Paint(tones[r.Level], string(r.Level)), r.Check, humanize.Line(r.Text))
		if r.Hint != "" {
			table.Row("", "", "hint: "+humanize.Line(r.Hint))
		}
	}
}

type examinationJSON struct {
	Result  doctor.Level    `json:"result"`
	Results []doctor.Result `json:"checks"`
}
