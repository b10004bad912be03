package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/process"
	"sched/schedule/view"
)

type showCommand struct{ *app }

func newShowCommand(a *app) *cobra.Command {
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
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return showCommand{a}.show(args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (a showCommand) show(name string, asJSON bool) error {
	a.look()
	a.wantOrigins = true
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
	for _, setting := range load.Settings(t) {
		if !worthShowing(setting) {
			continue
		}
		key, from := setting.Key, out.Paint(terminal.Faint, originText(setting))
		for _, value := range valueLines(setting.Value) {
			table.Row("  "+key, from, humanize.Line(value))
			key, from = "", ""
		}
	}
	for _, p := range t.Pauses {
		table.Row("  paused", out.Paint(terminal.Faint, line(p.Place)), strings.TrimSuffix(p.String()+": "+humanize.Line(p.Reason), ": "))
	}
	if t.Limits != (schedule.Limits{}) {
		_, err := process.CgroupsHere()
		table.Row("  limits kept", out.Paint(terminal.Faint, "this machine"), humanize.Line(process.LimitsText(t.Limits, err)))
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

// line is where something stands: "schedule.yaml:8".
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

// A shownJSON is a task with its settings, for --json.
type shownJSON struct {
	Name     string         `json:"name"`
	Place    schedule.Place `json:"place"` // where it begins
	Off      string         `json:"off"`   // why it does not run here at all
	Settings []settingJSON  `json:"settings"`

	TriggeredBy []triggerJSON `json:"triggered_by"`     // the hooks of other tasks that start it
	Pauses      []pauseJSON   `json:"pauses,omitempty"` // of the schedule, that are for it
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

type settingJSON struct {
	Key   string      `json:"key"`
	Value any         `json:"value"`
	From  *originJSON `json:"from"` // nil for a default
}

type originJSON struct {
	schedule.Place
	In string `json:"in"`
}

func toShownJSON(s *schedule.Schedule, t *schedule.Task) shownJSON {
	shown := shownJSON{Name: t.Name, Place: t.Place, Off: s.Inactive(t)}
	for _, setting := range load.Settings(t) {
		row := settingJSON{Key: setting.Key, Value: jsonValue(setting.Value)}
		if setting.IsSet {
			row.From = &originJSON{setting.From.Place, levelOf(setting.From)}
		}
		shown.Settings = append(shown.Settings, row)
	}
	shown.TriggeredBy = []triggerJSON{}
	for _, trigger := range s.Triggers()[t.Name] {
		shown.TriggeredBy = append(shown.TriggeredBy, triggerJSON{trigger.From, trigger.Key, trigger.Place})
	}
	for _, p := range t.Pauses {
		shown.Pauses = append(shown.Pauses, pauseJSON{p.String(), p.Stop, p.Reason, p.Place})
	}
	return shown
}

// jsonValue writes durations in seconds, and commands as a text or a list.
func jsonValue(value any) any {
	switch v := value.(type) {
	case time.Duration:
		return v.Seconds()
	case schedule.Command:
		return jsonCommand(v)
	case schedule.Param:
		return map[string]any{"default": v.Default, "values": v.Values, "pattern": v.Pattern}
	case []schedule.Hook:
		hooks := make([]any, len(v))
		for i, hook := range v {
			hooks[i] = jsonHook(hook)
		}
		return hooks
	}
	return value
}

func jsonCommand(c schedule.Command) any {
	if len(c.List) > 0 {
		return c.List
	}
	return c.Line
}

func jsonHook(h schedule.Hook) any {
	hook := map[string]any{}
	switch {
	case h.Trigger != "":
		hook["trigger"] = h.Trigger
	case h.Notify == nil:
		hook["run"] = jsonCommand(h.Run)
	default:
		for _, part := range notifyParts(h.Notify) {
			hook[part.key] = part.value
		}
	}
	if h.After > 0 {
		hook["after"] = h.After
	}
	return hook
}

// A notifyPart is a key of a notification with its value.
type notifyPart struct {
	key   string
	value any
}

// text is the value as people read it: a list without its brackets.
func (p notifyPart) text() string {
	text, is := p.value.(string)
	if is {
		return text // may have brackets of its own, as in http://[::1]/
	}
	text = fmt.Sprint(p.value)
	return strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
}

// notifyParts returns what is set of a notification, in the order of the docs.
func notifyParts(n *schedule.Notification) (parts []notifyPart) {
	add := func(key string, value any, isSet bool) {
		if isSet {
			parts = append(parts, notifyPart{key, value})
		}
	}
	add("ping", n.Ping, n.Ping != "")
	add("webhook", n.Webhook, n.Webhook != "")
	add("mail", n.Mail, n.Mail != nil)
	add("sentry", n.Sentry, n.Sentry != "")
	add("on", n.On, n.On != nil && n.Sentry == "")
	add("format", n.Format, n.Format != "")
	add("when", string(n.When), n.When != "")
	add("at_most", fmt.Sprintf("%d per %s", n.AtMost.N, humanize.Setting(n.AtMost.Per)), n.AtMost.N > 0)
	return parts
}

// valueLines is the value of a setting as people read it, in one or several lines.
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

// hookLines is a hook as people read it: its command, or "mail: ops@example.com, when: changed".
func hookLines(h schedule.Hook) []string {
	if after := h.After; after > 0 {
		h.After = 0
		lines := hookLines(h)
		lines[0] = fmt.Sprintf("after: %d, %s", after, lines[0])
		return lines
	}
	switch {
	case h.Trigger != "":
		return []string{"trigger: " + h.Trigger}
	case h.Notify == nil:
		return commandLines(h.Run)
	}
	var words []string
	for _, part := range notifyParts(h.Notify) {
		words = append(words, part.key+": "+part.text())
	}
	return []string{strings.Join(words, ", ")}
}
