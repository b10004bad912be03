// Package list is the command `sched list`.
package list

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/load"
	"sched/schedule/view"
)

type options struct {
	tasks                        []string // the arguments; empty for all
	tags                         []string
	next                         int
	nextGiven                    bool
	at, sort, timezone, timeline string
	servers, json                bool
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "list [TASK...]",
		Short: "Show the tasks: when next, how the last run ended, what runs now",
		Long: `list shows the tasks in the order of the file: when they are due next, how their last runs ended,
and what runs now.

With --servers it shows the machines that ticked in the last 10 minutes under the name of the
schedule: how far their clocks are from the store's, and what ran there when they last said so.`,
		Example: `  sched list
  sched list --next 3 --at "2026-03-28 12:00"   around a change of the clocks
  sched list --sort next
  sched list --timeline 24h                     the coming day as a line a task
  sched list --servers                          who shares the store
  sched list --json`,
		Args: flags.Arguments(0, flags.Unlimited),
		RunE: func(c *cobra.Command, args []string) error {
			o.tasks = args
			o.nextGiven = c.Flags().Changed("next")
			return list(a, o)
		},
	}
	f := c.Flags()
	f.IntVarP(&o.next, "next", "n", 1, "how many times to look ahead for each task")
	f.StringVar(&o.at, "at", "", "look ahead from this time: "+console.TimeForms)
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	f.StringVar(&o.sort, "sort", "file", "the order: file as in the file, or next for what runs next first")
	f.StringVar(&o.timezone, "timezone", "",
		"show times in this zone, such as America/New_York or Local, and take --at for one of it")
	f.StringVar(&o.timeline, "timeline", "", "draw a line a task of the time to come instead: 24h, 7d")
	f.StringSliceVar(&o.tags, "tag", nil, "only the tasks with one of these tags")
	f.BoolVar(&o.servers, "servers", false,
		"the servers that share the store instead: last tick, clock, what runs there")
	flags.Seldom(f, "timezone")
	return c
}

func list(a *app.App, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.servers {
		return showServers(a, o.json)
	}
	s, err := readSchedule(a, o)
	if err != nil {
		return err
	}
	at := a.Now()
	if o.at != "" {
		if at, err = a.ParseTime("at", o.at, s.Location); err != nil {
			return err
		}
	}
	tasks := view.ListTasks(context.Background(), a.View(s), o.asksFor, at, o.next)
	if o.timezone != "" {
		for i := range tasks.Items {
			tasks.Items[i].ShowIn(s.Location)
		}
	}
	if o.sort == "next" {
		sortByNext(tasks.Items)
	}
	if o.timeline != "" {
		return printTimeline(a, s, tasks.Items, at, o.timeline)
	}
	if o.json {
		return a.PrintJSON(withSettings(s, tasks.Items))
	}
	if len(tasks.Items) == 0 {
		fmt.Fprintln(a.Out, "no tasks")
	} else {
		printPauses(a, s, tasks)
		printTable(a, s, tasks.Items, at)
	}
	if reason := a.View(s).Maintenance(); reason != "" {
		a.Warn("%s; only tasks with even_in_maintenance run", reason)
	}
	if missing := a.View(s).TicksMissing(); missing != "" && o.at == "" {
		a.WarnWithHint(a.TicksHint(), "%s, so nothing starts (see `sched status%s`)", missing, a.ConfigFlag())
	}
	return nil
}

// readSchedule returns the schedule, shown in the zone of --timezone. It refuses tags and names
// that no task has.
func readSchedule(a *app.App, o options) (*schedule.Schedule, error) {
	a.WantOrigins = o.json
	s, err := a.LoadToShow()
	if err != nil {
		return nil, err
	}
	if err := control.CheckTags(s, o.tags); err != nil {
		return nil, err
	}
	for _, name := range o.tasks {
		if _, err := view.FindTask(s, name); err != nil {
			return nil, err
		}
	}
	return app.ShownIn(s, o.timezone)
}

func (o options) check() error {
	isOfTasks := len(o.tasks)+len(o.tags) > 0 || o.nextGiven || o.at+o.timezone+o.timeline != "" || o.sort != "file"
	switch {
	case o.servers && isOfTasks:
		return exit.Usage("", "--servers goes with --json, and with nothing that chooses or sorts tasks")
	case o.next < 0:
		return exit.Usage("", "--next %d is negative", o.next)
	case o.sort != "file" && o.sort != "next":
		return exit.Usage("write --sort next, or leave it out for the order of the file",
			"there is no order %q", o.sort)
	case o.sort == "next" && o.next == 0:
		return exit.Usage("leave --next out", "--sort next needs a next time")
	case o.timeline != "" && o.json:
		return exit.Usage("`sched forecast --slots --json` has the same for programs",
			"--timeline does not go with --json")
	case o.timeline != "" && o.nextGiven:
		return exit.Usage("say how far it goes: --timeline 24h", "--timeline does not go with --next")
	}
	return nil
}

// asksFor reports whether the arguments and tags ask for a task. Without arguments and tags they
// ask for each task.
func (o options) asksFor(t *schedule.Task) bool {
	if len(o.tasks) > 0 && !slices.Contains(o.tasks, t.Name) {
		return false
	}
	hasTag := func(tag string) bool { return slices.Contains(t.Tags, tag) }
	return len(o.tags) == 0 || slices.ContainsFunc(o.tags, hasTag)
}

// sortByNext moves the tasks without a next time to the end.
func sortByNext(tasks []view.Task) {
	slices.SortStableFunc(tasks, func(a, b view.Task) int {
		if len(a.Next) == 0 || len(b.Next) == 0 {
			return len(b.Next) - len(a.Next)
		}
		return a.Next[0].Compare(b.Next[0].Time)
	})
}

// A Task is a task for --json, with the settings that the schedule has for it, by key.
type Task struct {
	view.Task
	Settings map[string]any `json:"settings"`
}

func withSettings(s *schedule.Schedule, tasks []view.Task) []Task {
	listed := make([]Task, len(tasks))
	for i, task := range tasks {
		settings := map[string]any{}
		listed[i] = Task{Task: task, Settings: settings}
		t, err := view.FindTask(s, task.Name)
		if err != nil {
			continue
		}
		for _, setting := range load.Settings(t) {
			if !setting.IsSet || setting.Value == nil {
				continue
			}
			value := view.SettingJSON(setting.Value)
			if inherited, ok := settings[setting.Key].([]any); ok { // hooks come from each level
				value = append(inherited, value.([]any)...)
			}
			settings[setting.Key] = value
		}
	}
	return listed
}

// printPauses prints the pause of everything, and the planned pauses of everything.
func printPauses(a *app.App, s *schedule.Schedule, tasks view.Tasks) {
	out, now := a.Stdout(), a.Now()
	if everything := view.EverythingPaused(s, tasks.Pauses, now); everything != nil {
		fmt.Fprintln(a.Out, out.Paint(terminal.Caution, "everything is "+everything.Raw.Text(now, s.Location)))
	}
	for _, planned := range tasks.Planned {
		if planned.Everything && planned.Announced(now) {
			fmt.Fprintln(a.Out, out.Paint(terminal.Caution, "everything will be "+planned.Raw.Text(now, s.Location)))
		}
	}
}
