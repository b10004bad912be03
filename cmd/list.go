package cmd

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/view"
)

type listOptions struct {
	tasks     []string // the arguments; empty for all
	tags      []string
	next      int
	nextGiven bool
	at        string
	sort      string
	timezone  string
	timeline  string
	json      bool
}

type listCommand struct{ *app }

func newListCommand(a *app) *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:   "list [TASK...]",
		Short: "Show the tasks: when next, how the last run ended, what runs now",
		Example: `  sched list
  sched list --next 3 --at "2026-03-28 12:00"   around a change of the clocks
  sched list --sort next
  sched list --timezone Local
  sched list --timeline 24h                     the coming day as a line a task
  sched list --json`,
		Args: arguments(0, unlimited),
		RunE: func(c *cobra.Command, args []string) error {
			o.tasks = args
			o.nextGiven = c.Flags().Changed("next")
			return listCommand{a}.list(o)
		},
	}
	f := c.Flags()
	f.IntVarP(&o.next, "next", "n", 1, "how many times to look ahead for each task")
	f.StringVar(&o.at, "at", "", "look ahead from this time: "+timeForms)
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	f.StringVar(&o.sort, "sort", "file", "the order: file as in the file, or next for what runs next first")
	f.StringVar(&o.timezone, "timezone", "",
		"show times in this zone, such as America/New_York or Local, and take --at for one of it")
	f.StringVar(&o.timeline, "timeline", "", "draw a line a task of the time to come instead: 24h, 7d")
	f.StringSliceVar(&o.tags, "tag", nil, "only the tasks with one of these tags")
	return c
}

// list prints the tasks that the options ask for.
func (a listCommand) list(o listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.readSchedule(o)
	if err != nil {
		return err
	}
	at := a.now()
	if o.at != "" {
		if at, err = a.parseTime("at", o.at, s.Location); err != nil {
			return err
		}
	}
	tasks := a.view(s).Tasks(noDeadline, o.asksFor, at, o.next)
	if o.timezone != "" {
		for i := range tasks.Items {
			tasks.Items[i].ShowIn(s.Location)
		}
	}
	if o.sort == "next" {
		sortByNext(tasks.Items)
	}
	if o.timeline != "" {
		return a.printTimeline(s, tasks.Items, at, o.timeline)
	}
	if o.json {
		return a.printJSON(withSettings(s, tasks.Items))
	}
	a.printTasks(s, tasks, at)
	if missing := a.view(s).TicksMissing(); missing != "" && o.at == "" {
		a.warnWithHint(a.ticksHint(), "%s, so nothing starts (see `sched status%s`)", missing, a.configFlag())
	}
	return nil
}

// readSchedule returns the schedule, shown in the zone of --timezone. It refuses tags and names
// that no task has.
func (a listCommand) readSchedule(o listOptions) (*schedule.Schedule, error) {
	a.wantOrigins = o.json
	s, err := a.loadToShow()
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
	return shownIn(s, o.timezone)
}

// check refuses values and flags that do not go together.
func (o listOptions) check() error {
	switch {
	case o.next < 0:
		return usage("", "--next %d is negative", o.next)
	case o.sort != "file" && o.sort != "next":
		return usage("write --sort next, or leave it out for the order of the file", "there is no order %q", o.sort)
	case o.sort == "next" && o.next == 0:
		return usage("leave --next out", "--sort next needs a next time")
	case o.timeline != "" && o.json:
		return usage("`sched forecast --slots --json` has the same for programs", "--timeline does not go with --json")
	case o.timeline != "" && o.nextGiven:
		return usage("say how far it goes: --timeline 24h", "--timeline does not go with --next")
	}
	return nil
}

// asksFor reports whether the arguments and tags ask for a task. Without arguments and tags they
// ask for each task.
func (o listOptions) asksFor(t *schedule.Task) bool {
	if len(o.tasks) > 0 && !slices.Contains(o.tasks, t.Name) {
		return false
	}
	hasTag := func(tag string) bool { return slices.Contains(t.Tags, tag) }
	return len(o.tags) == 0 || slices.ContainsFunc(o.tags, hasTag)
}

// sortByNext moves the tasks without a next time to the end.
func sortByNext(tasks []view.Task) {
	slices.SortStableFunc(tasks, func(a, b view.Task) int {
		if len(a.Times) == 0 || len(b.Times) == 0 {
			return len(b.Times) - len(a.Times)
		}
		return a.Times[0].Compare(b.Times[0])
	})
}

// ticksHint says what to do when no ticks come.
func (f *scheduleFile) ticksHint() string {
	if f.system {
		return fmt.Sprintf("`sched work%s` ticks by itself; "+
			"`sched install` needs a line `# sched: system` at the top of the file", f.configFlag())
	}
	return fmt.Sprintf("`sched install%[1]s` has cron call `sched run`; "+
		"`sched work%[1]s` is for where there is no cron", f.configFlag())
}

// shownIn returns a copy of the schedule whose times are shown in the zone. For "" it returns the
// schedule itself.
func shownIn(s *schedule.Schedule, zone string) (*schedule.Schedule, error) {
	if zone == "" {
		return s, nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, usage(`zones are called as in "Europe/Berlin", "America/New_York", "UTC" or "Local"`,
			"--timezone %s is not a known time zone", humanize.Line(zone))
	}
	if zone == "Local" {
		location = localZone()
	}
	shown := *s
	shown.Location = location
	return &shown, nil
}

// A listedTask is a task for --json, with the settings that the schedule has for it, by key.
type listedTask struct {
	view.Task
	Settings map[string]any `json:"settings"`
}

// withSettings returns the tasks for --json.
func withSettings(s *schedule.Schedule, tasks []view.Task) []listedTask {
	listed := make([]listedTask, len(tasks))
	for i, task := range tasks {
		settings := map[string]any{}
		listed[i] = listedTask{Task: task, Settings: settings}
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

// printTasks prints the table of tasks, below the pauses of all tasks.
func (a listCommand) printTasks(s *schedule.Schedule, tasks view.Tasks, at time.Time) {
	if len(tasks.Items) == 0 {
		fmt.Fprintln(a.out, "no tasks")
	} else {
		a.printPauses(s, tasks)
		a.printTable(s, tasks.Items, at)
	}
	if reason := a.view(s).Maintenance(); reason != "" {
		a.warn("%s; only tasks with even_in_maintenance run", reason)
	}
}

// printPauses prints the pause of everything, and the planned pauses of everything.
func (a listCommand) printPauses(s *schedule.Schedule, tasks view.Tasks) {
	out, now := a.stdout(), a.now()
	if everything := view.EverythingPaused(s, tasks.Pauses, now); everything != nil {
		fmt.Fprintln(a.out, out.Paint(terminal.Caution, "everything is "+everything.Raw.Text(now, s.Location)))
	}
	for _, planned := range tasks.Planned {
		if planned.Everything && planned.Announced(now) {
			fmt.Fprintln(a.out, out.Paint(terminal.Caution, "everything will be "+planned.Raw.Text(now, s.Location)))
		}
	}
}
