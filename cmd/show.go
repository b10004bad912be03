package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/view"
)

type showCommand struct{ *app }

func newShowCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task as it is after defaults and groups, and where each value comes from",
		Long: `show prints every key that is in effect for a task, with the file and the line that set it: the task
itself, its group, the defaults, or the top of the file. What nothing set, and is not plainly off,
is shown as default.

Variables of env, notifications and ${file:…} stand as the file has them, so no secret is printed.`,
		Example: `  sched show nightly-report
  sched show nightly-report --json`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return showCommand{a}.show(args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (a showCommand) show(name string, asJSON bool) error {
	a.look()
	a.origins = true
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	t, err := view.FindTask(s, name)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(toShownJSON(s, t))
	}
	a.printSettings(s, t)
	return nil
}

// printSettings prints the value last, because it may be long or have several lines.
func (a showCommand) printSettings(s *schedule.Schedule, t *schedule.Task) {
	off := s.Inactive(t)
	if off != "" {
		off = ", " + off
	}
	out := a.stdout()
	fmt.Fprintf(out, "%s  %s%s\n", t.Name, line(t.Place), off)
	table := out.Table()
	defer table.Flush()
	for _, setting := range t.Settings() {
		if !worthShowing(setting) {
			continue
		}
		key, from := setting.Key, out.Paint(terminal.Faint, originText(setting))
		for _, value := range valueLines(setting.Value) {
			table.Row("  "+key, from, humanize.Line(value))
			key, from = "", ""
		}
	}
	for _, trigger := range s.Triggers()[t.Name] {
		table.Row("  triggered by", out.Paint(terminal.Faint, line(trigger.Place)), trigger.From+" ("+trigger.Key+")")
	}
}

// worthShowing leaves out what has no value, and defaults that nobody asks for (showsDefault).
func worthShowing(setting schedule.Setting) bool {
	switch setting.Value.(type) {
	case nil:
		return false
	case bool, schedule.Word:
		return setting.IsSet
	}
	return setting.IsSet || showsDefault[setting.Key]
}

// showsDefault are the keys whose default people ask for.
var showsDefault = map[string]bool{"cron": true, "timezone": true, "shell": true, "dir": true, "kill_after": true}

func line(p schedule.Place) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// originText is where a setting comes from: "schedule.yaml:8, defaults".
func originText(setting schedule.Setting) string {
	switch {
	case setting.IsSet && levelOf(setting.From) == "task":
		return line(setting.From.Place)
	case setting.IsSet:
		return line(setting.From.Place) + ", " + levelOf(setting.From)
	case setting.Key == "timezone":
		return "this machine"
	case setting.Key == "cron":
		return "what every means"
	}
	return "default"
}

// levelOf says which part of the file set a value: "task", "group warehouse", "defaults", or "file"
// for its top.
func levelOf(from schedule.Origin) string {
	switch {
	case from.Section != "":
		return strings.ReplaceAll(from.Section, `"`, "")
	case from.Task == "":
		return "file"
	}
	return "task"
}
