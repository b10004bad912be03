// Package machine is the command `sched machine`.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/machine"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

type options struct {
	json bool
	user string
	next string
	root string // --root
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "machine",
		Short: "List everything that is scheduled on this machine, whoever starts it",
		Long: `machine lists the jobs of this machine: the crontabs of all users, /etc/crontab and /etc/cron.d,
cron.daily and its like, anacrontab, timers of systemd, and the jobs of at. Each has its place, its
user, its times, and when it was last started, if journal, systemd, anacron or sched know that.

Below them it lists what is odd: files that cron ignores because of their names, owners or rights,
lines that cron cannot read, users and programs that are not there, timers without a service, and
jobs that do the same. It knows these rules of Debian's cron, and few of another one.

It needs no schedule, changes nothing, and follows no link that another user could have made. Root
sees all; another user sees a part, and what is left out.`,
		Example: `  sched machine
  sched machine --user www-data
  sched machine --next 24h   what starts in the next day, in the order of time`,
		RunE: func(*cobra.Command, []string) error { return listJobs(a, o) },
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.user, "user", "", "only the jobs that this user runs")
	f.StringVar(&o.next, "next", "", "only the jobs that start within this time, as 24h, the next one first")
	f.StringVar(&o.root, "root", "/", "list the machine whose files are below this folder; no program is asked")
	_ = f.MarkHidden("root")
	return c
}

func listJobs(a *app.App, o options) error {
	span, err := yamldoc.ParseDuration(o.next)
	if o.next != "" && (err != nil || span <= 0) {
		return exit.Usage("write it as 24h or 7d", "--next %q is not a duration", o.next)
	}
	host := machine.Here(a.Now(), app.LocalZone())
	if o.root != "/" {
		host = machine.Host{Root: o.root, Root0: os.Geteuid(), UID: os.Geteuid(), Zone: host.Zone, Now: host.Now}
	}
	list, err := machine.Look(context.Background(), host)
	if err != nil {
		return exit.Failed("", "cannot read %s: %w", o.root, humanize.WithoutPath(err))
	}
	addTicks(a, list)
	if o.user != "" {
		if !slices.Contains(list.Users, o.user) {
			hint := ""
			if near := humanize.Nearest(o.user, list.Users); near != "" {
				hint = "did you mean " + near + "?"
			}
			return exit.Failed(hint, "there is no user %q on this machine", o.user)
		}
		list.Of(o.user)
	}
	if span > 0 {
		list.Jobs = list.Until(a.Now().Add(span))
	}
	if o.json {
		return a.PrintJSON(list)
	}
	printJobs(a, list)
	return nil
}

// addTicks adds the last tick to the lines that call the schedule of this command, if there is one.
func addTicks(a *app.App, list *machine.List) {
	if !slices.ContainsFunc(list.Jobs, machine.Job.IsSched) {
		return
	}
	a.ReadOnly = true
	s, _, err := a.LoadLastValid()
	if err != nil {
		return
	}
	last, _ := view.LastTick(s.StateDir)
	for i := range list.Jobs {
		if j := &list.Jobs[i]; j.IsSched() && slices.Contains(strings.Fields(j.Command), s.File) {
			j.SetLast(last, "sched")
		}
	}
}

// clockColumn has the next time, behind how far it is. A pipe has both in one column.
const clockColumn = 4

// shrinks says in which order columns shrink on a narrow terminal.
var shrinks = []terminal.Shrink{{Column: 6, Least: 16}, {Column: clockColumn}, {Column: 2, Least: 11}, {Column: 5},
	{Column: 0, Least: 24}, {Column: 3, Least: 14}, {Column: 6}, {Column: 0, Least: 12}}

// printJobs prints the table, and below it what is odd.
func printJobs(a *app.App, list *machine.List) {
	out, now := a.Stdout(), a.Now()
	t := a.Table(shrinks...)
	row := func(cells ...string) {
		if !out.IsTerminal() {
			cells = slices.Delete(cells, clockColumn, clockColumn+1)
		}
		t.Row(cells...)
	}
	t.Head(slices.DeleteFunc([]string{"PLACE", "USER", "WHEN", "NEXT", "", "LAST", "DOES"},
		func(name string) bool { return name == "" && !out.IsTerminal() })...)
	for _, j := range list.Jobs {
		next, clock, last := out.Paint(terminal.Faint, nextText(j)), "", "-"
		if j.Next != nil {
			next = "in " + humanize.Duration(j.Next.Sub(now))
			clock = humanize.MinuteNearZone(j.Next.Time, now, app.LocalZone())
			if !out.IsTerminal() {
				next = clock + " (" + next + ")"
			}
		}
		if j.Last != nil {
			last = humanize.Age(j.Last.Time, now) + " ago"
		}
		does := humanize.Line(cmp.Or(j.Command, "-"))
		row(humanize.Line(j.Place), humanize.Line(j.User), humanize.Line(j.When), next,
			out.Paint(terminal.Faint, clock), out.Paint(terminal.Faint, last), out.Paint(terminal.Faint, does))
	}
	t.Flush()
	if len(list.Jobs) == 0 {
		a.Warn("there is no such job, as far as this user may see")
	}
	if len(list.Odd) > 0 {
		fmt.Fprintf(a.Out, "\n%s\n", out.Paint(terminal.Caution, "odd:"))
	}
	for _, odd := range list.Odd {
		place := ""
		if odd.Place != "" {
			place = humanize.Line(odd.Place) + ": "
		}
		fmt.Fprintf(a.Out, "  %s%s\n", place, humanize.Line(odd.Text))
		if odd.Hint != "" {
			fmt.Fprintf(a.Out, "    hint: %s\n", humanize.Line(odd.Hint))
		}
	}
	if len(list.LeftOut) > 0 {
		a.WarnWithHint("call it as root", "left out, because this user may not read it: %s",
			humanize.Line(humanize.Names(list.LeftOut, 6)))
	}
}

// nextText says why there is no next time.
func nextText(j machine.Job) string {
	switch {
	case j.Off != "":
		return "off: " + humanize.Line(j.Off)
	case j.When == "@reboot":
		return "at the next boot"
	}
	return "-"
}
