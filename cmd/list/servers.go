package list

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/view"
)

// NewServers is the command `sched servers`. It is the older name of `sched list --servers`, and
// stays for scripts.
func NewServers(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "servers",
		Short: "Show the servers that share the schedule, as sched list --servers does",
		Long: `servers shows the machines that ticked in the last 10 minutes under the name of the schedule: how
far their clocks are from the store's, and what ran there when they last said so.`,
		Example: `  sched servers
  sched list --servers`,
		RunE: func(*cobra.Command, []string) error { return showServers(a, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func showServers(a *app.App, asJSON bool) error {
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	servers, err := view.Servers(context.Background(), a.View(s))
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(view.ServersOf(servers))
	}
	if len(servers) == 0 {
		fmt.Fprintln(a.Out, "no server has ticked in the last 10 minutes")
		return nil
	}
	printServers(a, servers)
	warnOfServers(a, s, servers)
	return nil
}

func printServers(a *app.App, servers []cluster.Server) {
	table := a.Table()
	defer table.Flush()
	haveLabels := slices.ContainsFunc(servers, func(server cluster.Server) bool { return len(server.Labels) > 0 })
	head := []string{"NAME", "VERSION", "LAST SEEN", "CLOCK", "RUNNING"}
	if haveLabels {
		head = append(head, "LABELS")
	}
	table.Head(head...)
	for _, server := range servers {
		age, offset := humanize.Duration(server.Age)+" ago", offsetText(a, server.Offset)
		row := []string{server.Name, server.Version, age, offset, tasksText(server)}
		if haveLabels {
			row = append(row, cmp.Or(strings.Join(server.Labels, ", "), "-"))
		}
		table.Row(row...)
	}
}

// warnOfServers says what is wrong with servers, as seen from this one, which has the schedule.
func warnOfServers(a *app.App, s *schedule.Schedule, servers []cluster.Server) {
	ownZone := cluster.ZoneOf(s, a.Now().Year())
	for i, server := range servers {
		if server.Offset.Abs() > cluster.MaxOffset {
			a.Warn("the clock of %s is %s", server.Name, cluster.OffsetText(server.Offset))
		}
		if view.SharesName(servers, i) {
			a.Warn("more than one machine ticks under the name %s", server.Name)
		}
		if server.Environment != "" && server.Environment != s.Environment {
			a.Warn("%s ticks in the environment %s; here it is %s", server.Name, server.Environment, s.Environment)
		}
		if server.Zone != "" && ownZone != "" && server.Zone != ownZone {
			a.Warn("%s is in the time zone %s; here it is %s, "+
				"and a one_server task without `timezone` runs once in each", server.Name, server.Zone, ownZone)
		}
		if view.TicksAnotherText(s, a.ServerName(s.Server), server) {
			a.Warn("%s ticks another text of the schedule than this machine has: its %s", server.Name, server.File)
		}
		if text := view.SilentText(servers, i); text != "" {
			a.Warn("%s", text)
		}
	}
}

// offsetText says how far a clock is ahead of the clock of the store.
func offsetText(a *app.App, offset time.Duration) string {
	text := "+" + humanize.Duration(offset)
	if offset.Round(time.Millisecond) < 0 {
		text = "-" + humanize.Duration(-offset)
	}
	if offset.Abs() > cluster.MaxOffset {
		text = a.Stdout().Paint(terminal.Caution, text+", off")
	}
	return text
}

// tasksText names the tasks that run on a server, and then those that ran when a server that is
// silent now said something last.
func tasksText(server cluster.Server) string {
	const maxNames = 5
	var running, ran []string
	for _, r := range server.Running[:min(maxNames, len(server.Running))] {
		if view.WasRunning(server, r) {
			ran = append(ran, r.Task)
		} else {
			running = append(running, r.Task)
		}
	}
	text := strings.Join(running, ", ")
	if len(ran) > 0 {
		text = strings.TrimPrefix(text+", was running: "+strings.Join(ran, ", "), ", ")
	}
	if more := len(server.Running) + server.More - len(running) - len(ran); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(text, "-")
}
