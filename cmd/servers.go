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
	s, err := a.loadToShow()
	if err != nil {
		return err
	}
	servers, err := a.view(s).Servers(noDeadline)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(view.ServersOf(servers))
	}
	if len(servers) == 0 {
		fmt.Fprintln(a.out, "no server has ticked in the last 10 minutes")
		return nil
	}
	a.printServers(servers)
	a.warnOfServers(s, servers)
	return nil
}

func (a serversCommand) printServers(servers []cluster.Server) {
	table := a.stdout().Table()
	defer table.Flush()
	haveLabels := slices.ContainsFunc(servers, func(server cluster.Server) bool { return len(server.Labels) > 0 })
	head := []string{"NAME", "VERSION", "LAST SEEN", "CLOCK", "RUNNING"}
	if haveLabels {
		head = append(head, "LABELS")
	}
	table.Head(head...)
	for _, server := range servers {
		age, offset := humanize.Duration(server.Age)+" ago", a.offsetText(server.Offset)
		row := []string{server.Name, server.Version, age, offset, tasksText(server)}
		if haveLabels {
			row = append(row, cmp.Or(strings.Join(server.Labels, ", "), "-"))
		}
		table.Row(row...)
	}
}

// warnOfServers says what is wrong with servers, as seen from this one, which has the schedule.
func (a serversCommand) warnOfServers(s *schedule.Schedule, servers []cluster.Server) {
	ownZone := cluster.ZoneOf(s, a.now().Year())
	for _, server := range servers {
		if server.Offset.Abs() > tick.MaxOffset {
			a.warn("the clock of %s is %s", server.Name, tick.OffsetText(server.Offset))
		}
		if server.SharedName {
			a.warn("more than one machine ticks under the name %s", server.Name)
		}
		if server.Environment != "" && server.Environment != s.Environment {
			a.warn("%s ticks in the environment %s; here it is %s", server.Name, server.Environment, s.Environment)
		}
		if server.Zone != "" && ownZone != "" && server.Zone != ownZone {
			a.warn("%s is in the time zone %s; here it is %s, "+
				"and a one_server task without `timezone` runs once in each", server.Name, server.Zone, ownZone)
		}
		if server.Silent() && len(server.Running) > 0 {
			a.warn("%s has said nothing for %s; what ran there then may have ended",
				server.Name, humanize.Duration(server.Age))
		}
	}
}

// offsetText says how far a clock is ahead of the clock of the store.
func (a serversCommand) offsetText(offset time.Duration) string {
	text := "+" + humanize.Duration(offset)
	if offset.Round(time.Millisecond) < 0 {
		text = "-" + humanize.Duration(-offset)
	}
	if offset.Abs() > tick.MaxOffset {
		text = a.stdout().Paint(terminal.Caution, text+", off")
	}
	return text
}

// tasksText names the first tasks that run on a server, and counts the others.
func tasksText(server cluster.Server) string {
	const maxNames = 5
	var names []string
	for _, r := range server.Running[:min(maxNames, len(server.Running))] {
		names = append(names, r.Task)
	}
	text := strings.Join(names, ", ")
	if more := len(server.Running) + server.More - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(text, "-")
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
	addReasonFlag(c, &reason)
	return c
}

func (a forgetCommand) forget(name, reason string) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	store := a.store(s)
	if store == nil {
		return failed("what this machine keeps ends by itself: see `history:`",
			"%s has no store, so nothing is kept for others", s.File)
	}
	if s.Task(name) != nil {
		return usage("take it out of the file first, on every server", "%s is a task of this schedule", name)
	}
	servers, err := cluster.List(noDeadline, store)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(servers, func(server cluster.Server) bool { return server.Name == name })
	if i >= 0 && !servers[i].Silent() {
		return failed("stop its ticks first", "%s ticked %s ago", name, humanize.Duration(servers[i].Age))
	}
	if err := a.remove(s, store, name); err != nil {
		return err
	}
	a.noteChange(s, "forget", name, reason)
	return nil
}

// remove makes the store forget the name, unless a run holds the mutex with that name. If tasks of
// the schedule have that mutex, its holder says nothing about the task that is gone.
func (a forgetCommand) remove(s *schedule.Schedule, store mutex.Store, name string) error {
	isMutexOfTask := slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Mutex == name })
	if !isMutexOfTask {
		holders, err := store.Held(noDeadline, name)
		if err != nil {
			return err
		}
		if holder, isHeld := holders[name]; isHeld {
			return failed("wait for its end, or end it with `sched stop` on that server",
				"a run of %s goes on: its mutex is held %s", name, holder.Text(s.Location))
		}
	}
	found, err := cluster.Forget(noDeadline, store, name)
	switch {
	case err != nil:
		return err
	case !found:
		return failed("", "the store keeps nothing of %s", name)
	}
	fmt.Fprintf(a.out, "the store has forgotten %s\n", name)
	return nil
}
