// Package show is the command `sched show`.
package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/flags"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/cgroup"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/process"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task as it is after defaults and groups, and where each value comes from",
		Long: `show prints every key that is in effect for a task, with the file and the line that set it: the task
itself, its group, the defaults, or the top of the file. A key that nothing set, and that is not
plainly off, is shown as default.

Variables of env, notifications and ${file:…} stand as the file has them, so no secret is printed.`,
		Example: `  sched show nightly-report
  sched show nightly-report --json`,
		Args: flags.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return show(a, args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func show(a *app.App, name string, asJSON bool) error {
	a.WantOrigins = true
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	t, err := view.FindTask(s, name)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(newTask(s, t))
	}
	printSettings(a, s, t)
	return nil
}

// printSettings prints a row for each key: the key, where its value comes from, and the value. The
// value is last, because it may be long or have several lines.
func printSettings(a *app.App, s *schedule.Schedule, t *schedule.Task) {
	title := t.Name + "  " + placeText(t.Place)
	if off := s.Inactive(t); off != "" {
		title += ", " + off
	}
	out := a.Stdout()
	fmt.Fprintln(out, title)
	table := a.Table()
	defer table.Flush()
	addRow := func(key, from, value string) { table.Row("  "+key, out.Paint(terminal.Faint, from), value) }
	for _, setting := range load.Settings(t) {
		if !isWorthShowing(setting) {
			continue
		}
		key, from := setting.Key, originText(setting)
		for _, value := range valueLines(setting.Value) {
			addRow(key, from, humanize.Line(value))
			key, from = "", "" // in further lines of the value
		}
	}
	for _, p := range t.Pauses {
		text := p.String()
		if p.Reason != "" {
			text += ": " + humanize.Line(p.Reason)
		}
		addRow("paused", placeText(p.Place), text)
	}
	if t.Limits != (schedule.Limits{}) {
		_, err := cgroup.Here()
		addRow("limits kept", "this machine", humanize.Line(process.LimitsText(t.Limits, err)))
	}
	for _, trigger := range s.Triggers()[t.Name] {
		addRow("triggered by", placeText(trigger.Place), trigger.From+" ("+trigger.Key+")")
	}
}

// isWorthShowing reports whether a setting has a value, and is not a default that nobody asks for
// (showsDefault).
func isWorthShowing(setting schedule.Setting) bool {
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

// placeText writes a place in a file: "schedule.yaml:8".
func placeText(p schedule.Place) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// originText says where a setting comes from: "schedule.yaml:8, defaults".
func originText(setting schedule.Setting) string {
	switch {
	case setting.IsSet && isSetByTask(setting.From):
		return placeText(setting.From.Place)
	case setting.IsSet:
		return placeText(setting.From.Place) + ", " + levelOf(setting.From)
	case setting.Key == "timezone":
		return "this machine"
	case setting.Key == "cron":
		return "what every means"
	}
	return "default"
}

// isSetByTask reports whether the task itself set a value, and not a part of the file above it.
func isSetByTask(from schedule.Origin) bool { return from.Section == "" && from.Task != "" }

// levelOf says which part of the file set a value: "task", "group warehouse", "defaults", or "file"
// for its top.
func levelOf(from schedule.Origin) string {
	switch {
	case isSetByTask(from):
		return "task"
	case from.Section == "":
		return "file"
	}
	return strings.ReplaceAll(from.Section, `"`, "")
}

// A Task is a task with its settings, for --json.
type Task struct {
	Name     string         `json:"name"`
	Place    schedule.Place `json:"place"` // where it begins
	Off      string         `json:"off"`   // why it does not run here at all
	Settings []Setting      `json:"settings"`

	TriggeredBy []triggerJSON `json:"triggered_by"`     // the hooks of other tasks that start this task
	Pauses      []pauseJSON   `json:"pauses,omitempty"` // the pauses of the schedule for this task
}

type pauseJSON struct {
	When   string         `json:"when"` // in words
	Stop   bool           `json:"stop"`
	Reason string         `json:"reason"`
	Place  schedule.Place `json:"place"`
}

type triggerJSON struct {
	Task  string         `json:"task"`
	On    string         `json:"on"` // the key of the hook
	Place schedule.Place `json:"place"`
}

// A Setting is a key of a task for --json, with its value.
type Setting struct {
	Key   string      `json:"key"`
	Value any         `json:"value"`
	From  *originJSON `json:"from"` // nil for a default
}

type originJSON struct {
	schedule.Place
	In string `json:"in"`
}

// newTask returns the task with all its settings, also those that nothing set.
func newTask(s *schedule.Schedule, t *schedule.Task) Task {
	shown := Task{Name: t.Name, Place: t.Place, Off: s.Inactive(t)}
	for _, setting := range load.Settings(t) {
		row := Setting{Key: setting.Key, Value: view.SettingJSON(setting.Value)}
		if setting.IsSet {
			row.From = &originJSON{Place: setting.From.Place, In: levelOf(setting.From)}
		}
		shown.Settings = append(shown.Settings, row)
	}
	shown.TriggeredBy = []triggerJSON{}
	for _, trigger := range s.Triggers()[t.Name] {
		shown.TriggeredBy = append(shown.TriggeredBy, triggerJSON{
			Task:  trigger.From,
			On:    trigger.Key,
			Place: trigger.Place,
		})
	}
	for _, p := range t.Pauses {
		shown.Pauses = append(shown.Pauses, pauseJSON{
			When:   p.String(),
			Stop:   p.Stop,
			Reason: p.Reason,
			Place:  p.Place,
		})
	}
	return shown
}

// valueLines writes the value of a setting for people, in one line or in several lines.
func valueLines(value any) []string {
	switch v := value.(type) {
	case time.Duration:
		return []string{humanize.Setting(v)}
	case []string:
		return []string{strings.Join(v, ", ")}
	case []int:
		return []string{strings.Trim(fmt.Sprint(v), "[]")}
	case schedule.Command:
		return commandLines(v)
	case []schedule.Hook:
		var lines []string
		for _, hook := range v {
			lines = append(lines, hookLines(hook)...)
		}
		return lines
	}
	return []string{fmt.Sprint(value)}
}

func commandLines(c schedule.Command) []string {
	return strings.Split(strings.TrimRight(view.CommandText(c), "\n"), "\n")
}

// hookLines writes a hook for people: its command, or "mail: ops@example.com, when: changed".
func hookLines(h schedule.Hook) []string {
	var lines []string
	switch {
	case h.Trigger != "":
		lines = []string{"trigger: " + h.Trigger}
	case h.Notify == nil:
		lines = commandLines(h.Run)
	default:
		var parts []string
		for _, part := range view.NotifyParts(h.Notify) {
			parts = append(parts, part.Key+": "+part.Text())
		}
		lines = []string{strings.Join(parts, ", ")}
	}
	if h.After > 0 {
		lines[0] = fmt.Sprintf("after: %d, %s", h.After, lines[0])
	}
	return lines
}
