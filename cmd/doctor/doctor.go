// Package doctor is the command `sched doctor`.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/doctor"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why it works in your shell and not from cron",
		Long: `doctor looks at what calls the schedule (crontab, cron, systemd, sched work), at what that gives its
ticks (variables, PATH, time zone, limits), at what the tasks need on this machine, and at state
folder, disk, history, clock, notifications and store. It only looks, and takes 5 seconds at most.

Each tick writes down what it was given when that has changed: names alone, but for PATH and SHELL.
So run doctor as the user whose crontab it is, after a tick has come.

Exit codes: 0 all is well, 1 there are warnings, 2 there are problems. A warning that only the
host of a container can mend, as of its clock, does not count.`,
		Example: `  sched doctor
  sched doctor --json`,
		RunE: func(*cobra.Command, []string) error { return examine(a, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func examine(a *app.App, asJSON bool) error {
	a.ReadOnly = true
	a.WantOrigins = true // the checks name the place of a setting
	subject, err := newSubject(a)
	if err != nil {
		return err
	}
	results := doctor.Examine(context.Background(), subject)
	if asJSON {
		err = a.PrintJSON(Examination{Result: doctor.Worst(results), Results: results})
	} else {
		printExamination(a, results)
	}
	if err != nil {
		return err
	}
	switch doctor.Worst(results) {
	case doctor.Warning:
		return &exit.Error{Code: exit.Failure}
	case doctor.Bad:
		return &exit.Error{Code: exit.Invalid}
	}
	return nil
}

// newSubject is what doctor examines. It refuses the schedule of another user, because this shell
// has nothing to do with the cron of that user.
func newSubject(a *app.App) (*doctor.Subject, error) {
	s, invalid, err := a.LoadLastValid()
	if err != nil {
		return nil, err
	}
	owner, isForeign := foreignOwner(s)
	if a.Owner != 0 {
		owner, isForeign = a.Owner, true
	}
	if isForeign {
		hint := "ask as its owner: " + exit.AsUser(owner)
		return nil, exit.Usage(hint, "the state folder %s belongs to %s", s.StateDir, view.UserName(owner))
	}
	program := app.Self()
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	return &doctor.Subject{
		Schedule: s,
		Broken:   invalid,
		Now:      a.Now(),
		Environ:  a.Environ(),
		Self:     program,
		Zone:     app.LocalZone().String(),
		Server:   a.ServerName(s.Server),
		Store:    a.Store(s),
		LoadWith: func(lookup func(string) (string, bool)) error {
			options := a.Options()
			options.Getenv = lookup
			_, err := load.File(s.File, options)
			return err
		},
	}, nil
}

// foreignOwner returns the user who owns the state folder, and ok if that is another user.
func foreignOwner(s *schedule.Schedule) (owner int, ok bool) {
	err := statedir.Check(s.StateDir)
	if foreign, ok := errors.AsType[*statedir.ForeignError](err); ok {
		return foreign.Owner, true
	}
	// For root, Check looks first at the folders above the state folder. They usually have the same
	// owner. The owner 0 means that everybody can write such a folder.
	if above, ok := errors.AsType[*statedir.FolderError](err); ok && above.Owner != 0 {
		return above.Owner, true
	}
	return 0, false
}

func printExamination(a *app.App, results []doctor.Result) {
	out := a.Stdout()
	tones := map[doctor.Level]terminal.Tone{
		doctor.OK:      terminal.Good,
		doctor.Warning: terminal.Caution,
		doctor.Bad:     terminal.Bad,
	}
	table := a.Table()
	defer fmt.Fprintln(a.Err, "hint: `sched machine` lists what else is scheduled on this machine")
	defer table.Flush()
	for _, r := range results {
		table.Row(out.Paint(tones[r.Level], string(r.Level)), r.Check, humanize.Line(r.Text))
		if r.Hint != "" {
			table.Row("", "", "hint: "+humanize.Line(r.Hint))
		}
	}
}

// An Examination is what --json prints.
type Examination struct {
	Result  doctor.Level    `json:"result"`
	Results []doctor.Result `json:"checks"`
}
