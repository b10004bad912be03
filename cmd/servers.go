package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/tick"
	"sched/schedule/view"
)

type serversCommand struct{ *app }

func newServersCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "servers",
		Short: "Show the servers that share the schedule: their last ticks, clocks and runs",
		Long: `servers shows the machines that ticked in the last 10 minutes under the name of the schedule: how
far their clocks are from the store's, and what ran there when they last said so.`,
		Example: `  sched servers
  sched servers --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return serversCommand{a}.servers(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (a serversCommand) servers(asJSON bool) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	all, err := a.view(s).Servers(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(view.ServersOf(all))
	}
	a.printServers(s, all)
	return nil
}

func (a serversCommand) printServers(own *schedule.Schedule, all []cluster.Server) {
	if len(all) == 0 {
		fmt.Fprintln(a.out, "no server has ticked in the last 10 minutes")
		return
	}
	t := a.stdout().Table()
	labelled := slices.ContainsFunc(all, func(s cluster.Server) bool { return len(s.Labels) > 0 })
	head := []string{"NAME", "VERSION", "LAST SEEN", "CLOCK", "RUNNING"}
	if labelled {
		head = append(head, "LABELS")
	}
	t.Head(head...)
	for _, s := range all {
		row := []string{s.Name, s.Version, humanize.Duration(s.Age) + " ago", a.offsetText(s.Offset), tasksText(s)}
		if labelled {
			row = append(row, cmp.Or(strings.Join(s.Labels, ", "), "-"))
		}
		t.Row(row...)
	}
	t.Flush()
	a.warnOfServers(own, all)
}

// warnOfServers says what is wrong with servers, as seen from this one.
func (a serversCommand) warnOfServers(own *schedule.Schedule, all []cluster.Server) {
	for _, s := range all {
		if s.Offset.Abs() > tick.MostOffset {
			a.problem("the clock of %s is %s", s.Name, tick.OffsetText(s.Offset))
		}
		if s.SharedName {
			a.problem("more than one machine ticks under the name %s", s.Name)
		}
		if s.Environment != "" && s.Environment != own.Environment {
			a.problem("%s ticks in the environment %s; here it is %s", s.Name, s.Environment, own.Environment)
		}
		if zone := cluster.ZoneOf(own, a.now().Year()); s.Zone != "" && zone != "" && s.Zone != zone {
			a.problem("%s is in the time zone %s; here it is %s, and a one_server task without `timezone` runs once in each", s.Name, s.Zone, zone)
		}
		if s.Silent() && len(s.Running) > 0 {
			a.problem("%s has said nothing for %s; what ran there then may have ended", s.Name, humanize.Duration(s.Age))
		}
	}
}

// offsetText says how far a clock is ahead of the clock of the store.
func (a serversCommand) offsetText(offset time.Duration) string {
	words := "+" + humanize.Duration(offset)
	if offset.Round(time.Millisecond) < 0 {
		words = "-" + humanize.Duration(-offset)
	}
	if offset.Abs() > tick.MostOffset {
		words = a.stdout().Paint(terminal.Caution, words+", off")
	}
	return words
}

// tasksText names the tasks that run on a server.
func tasksText(s cluster.Server) string {
	const most = 5
	var names []string
	for _, r := range s.Running[:min(most, len(s.Running))] {
		names = append(names, r.Task)
	}
	switch more := len(s.Running) + s.More - len(names); {
	case len(names) == 0:
		return "-"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

type forgetCommand struct{ *app }

func newForgetCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "forget TASK|SERVER",
		Short: "Remove what the store keeps of a task or a server that is gone",
		Long: `forget removes from the store what it keeps of a task that is not in the schedule any more, on any
server, or of a server that does not tick any more: its last run, which of its slots were
claimed, or what it announced. All that has an end, too: forget is for who wants it gone now. The
history of each server keeps what ran.`,
		Example: `  sched forget nightly-report
  sched forget web-3`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return forgetCommand{a}.forget(args[0], reason) },
	}
	reasonFlag(c, &reason)
	return c
}

func (a forgetCommand) forget(name, reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	store := a.store(s)
	if store == nil {
		return failed("what this machine keeps ends by itself: see `history:`", "%s has no store, so nothing is kept for others", s.File)
	}
	if slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Name == name }) {
		return usage("take it out of the file first, on every server", "%s is a task of this schedule", name)
	}
	all, err := cluster.List(ctx, store)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(s cluster.Server) bool { return s.Name == name }); i >= 0 && !all[i].Silent() {
		return failed("stop its ticks first", "%s has ticked %s ago", name, humanize.Duration(all[i].Age))
	}
	if err := a.remove(s, store, name); err != nil {
		return err
	}
	a.noteChange(s, "forget", name, reason)
	return nil
}

// remove refuses a name whose mutex a run holds.
func (a forgetCommand) remove(s *schedule.Schedule, store mutex.Store, name string) error {
	if !slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Mutex == name }) {
		held, err := store.Held(ctx, name)
		if err != nil {
			return err
		}
		if holder, goesOn := held[name]; goesOn {
			return failed("wait for its end, or end it with `sched stop` on that server", "a run of %s goes on: its mutex is held %s", name, holder)
		}
	}
	found, err := cluster.Forget(ctx, store, name)
	switch {
	case err != nil:
		return err
	case !found:
		return failed("", "the store keeps nothing of %s", name)
	}
	fmt.Fprintf(a.out, "the store has forgotten %s\n", name)
	return nil
}
