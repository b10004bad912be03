package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/runner"
	"sched/schedule/servers"
	"sched/schedule/text"
)

// A serversCommand is `sched servers`.
type serversCommand struct{ *app }

func newServersCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "servers",
		Short: "Show the servers that share the schedule: their last ticks, clocks and runs",
		Long: `servers shows the machines that ticked in the last 10 minutes under the name of the schedule: how
far their clocks are from Redis's, and what ran there when they last said so.`,
		Example: `  sched servers
  sched servers --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return serversCommand{a}.servers(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

type serverJSON struct {
	Name        string              `json:"name"`
	Version     string              `json:"version"`
	Minute      string              `json:"minute"`
	Seen        string              `json:"seen"`         // when the tick of that minute began, by Redis's clock
	Age         float64             `json:"age"`          // seconds since then
	ClockOffset float64             `json:"clock_offset"` // seconds its clock is ahead of Redis's
	Running     []serverRunningJSON `json:"running"`
	More        int                 `json:"more"` // runs beyond those
}

type serverRunningJSON struct {
	Run   string `json:"run"`
	Task  string `json:"task"`
	PID   *int   `json:"pid"` // null until the command has started
	Since string `json:"since"`
}

// servers prints the servers that ticked lately under the name of the schedule.
func (a serversCommand) servers(asJSON bool) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	store, err := a.needStore(s)
	if err != nil {
		return err
	}
	all, err := servers.List(ctx, store)
	if err != nil {
		return err
	}
	if asJSON {
		out := []serverJSON{}
		for _, one := range all {
			out = append(out, toServerJSON(one))
		}
		return a.printJSON(out)
	}
	a.printServers(all)
	return nil
}

// needStore returns the store of the schedule, or an error for a schedule that has none.
func (st *stores) needStore(s *schedule.Schedule) (*mutex.Redis, error) {
	store := st.store(s)
	if store == nil {
		return nil, failed("let the servers share a Redis: `store: redis://…` in the schedule", "%s has no store, so this machine stands alone", s.File)
	}
	return store, nil
}

func toServerJSON(s servers.Server) serverJSON {
	out := serverJSON{
		Name: s.Name, Version: s.Version, Minute: s.Minute.UTC().Format(time.RFC3339), Seen: s.Seen.UTC().Format(time.RFC3339),
		Age: s.Age.Seconds(), ClockOffset: s.Offset.Seconds(), Running: []serverRunningJSON{}, More: s.More,
	}
	for _, r := range s.Running {
		out.Running = append(out.Running, serverRunningJSON{r.Run, r.Task, pidOrNil(r.PID), r.Since.UTC().Format(time.RFC3339)})
	}
	return out
}

func (a serversCommand) printServers(all []servers.Server) {
	if len(all) == 0 {
		fmt.Fprintln(a.out, "no server has ticked in the last 10 minutes")
		return
	}
	t := a.stdout().Table()
	t.Head("NAME", "VERSION", "LAST TICK", "CLOCK", "RUNNING")
	for _, s := range all {
		t.Row(s.Name, s.Version, text.Duration(s.Age)+" ago", a.offsetText(s.Offset), tasksText(s))
	}
	t.Flush()
	for _, s := range all {
		if s.Offset.Abs() > runner.MostOffset {
			a.problem("the clock of %s is %s", s.Name, runner.OffsetText(s.Offset))
		}
	}
}

// offsetText is how far a clock is ahead of Redis's, or behind, and whether that is too far.
func (a serversCommand) offsetText(offset time.Duration) string {
	words := "+" + text.Duration(offset)
	if offset.Round(time.Millisecond) < 0 {
		words = "-" + text.Duration(-offset)
	}
	if offset.Abs() > runner.MostOffset {
		words = a.stdout().Paint(terminal.Caution, words+", off")
	}
	return words
}

// tasksText names the tasks that run on a server, the first few of many.
func tasksText(s servers.Server) string {
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
