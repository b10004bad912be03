package cmd

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"sched/schedule/install"
)

func newUninstallCommand(a *app) *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Undo sched install: no more ticks, and the lines that it replaced as they were",
		Long: `uninstall takes the line of the schedule out of your crontab and gives the lines that --replace
has commented out back as they were; as root it removes the file in /etc/cron.d; and it removes
units of systemd where they were installed. What runs goes on. The schedule, its state and other
schedules stay.`,
		Example: `  sched uninstall -c /srv/shop/schedule.yaml
  sched uninstall --dry-run`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return installCommand{a}.uninstall(o) },
	}
	o.flags(c)
	return c
}

// uninstall takes the schedule out of every place that has it. The schedule may be invalid, or
// gone.
func (a installCommand) uninstall(o installOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	file, err := a.findConfig()
	if err != nil {
		return err
	}
	if file, err = absolute(file); err != nil {
		return err
	}
	t, err := a.targetOf(file, o)
	if err != nil {
		return err
	}
	changes, err := t.removals()
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return failed("`crontab -l` shows the lines; --user names whose crontab it is", "%s is not installed", filepath.Base(file))
	}
	if done, err := a.confirm(o, changes); done || err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.apply(); err != nil {
			return a.explain(err)
		}
		fmt.Fprintf(a.out, "removed from %s\n", c.where)
	}
	return nil
}

func (t *target) removals() (changes []change, err error) {
	text, exists, err := t.crontab.Read()
	var missing *install.ProgramError
	if err != nil && !errors.As(err, &missing) {
		return nil, failed("", "%w", err)
	}
	if edit := t.crond.Remove(text); err == nil && !edit.IsNone() {
		changes = append(changes, t.crontabChange(edit, exists))
	}
	for _, path := range t.crond.Find() {
		edit := install.FileEdit{Files: []install.File{{Path: path}}}
		changes = append(changes, change{path, edit.Diff(), edit.Apply})
	}
	if edit := t.systemd.Uninstall(); len(edit.Files) > 0 {
		changes = append(changes, t.unitsChange(edit))
	}
	return changes, nil
}
