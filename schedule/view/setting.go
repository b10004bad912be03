package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// SettingJSON returns the value of a setting as --json prints it: a duration in seconds, a command
// as a text or a list.
func SettingJSON(value any) any {
	switch v := value.(type) {
	case time.Duration:
		return v.Seconds()
	case schedule.Command:
		return commandJSON(v)
	case schedule.Param:
		return map[string]any{"default": v.Default, "values": v.Values, "pattern": v.Pattern}
	case []schedule.Hook:
		hooks := make([]any, len(v))
		for i, hook := range v {
			hooks[i] = hookJSON(hook)
		}
		return hooks
	}
	return value
}

func commandJSON(c schedule.Command) any {
	if len(c.List) > 0 {
		return c.List
	}
	return c.Line
}

func hookJSON(h schedule.Hook) any {
	hook := map[string]any{}
	switch {
	case h.Trigger != "":
		hook["trigger"] = h.Trigger
	case h.Notify == nil:
		hook["run"] = commandJSON(h.Run)
	default:
		for _, part := range NotifyParts(h.Notify) {
			hook[part.Key] = part.Value
		}
	}
	if h.After > 0 {
		hook["after"] = h.After
	}
	return hook
}

// A NotifyPart is a key of a notification with its value.
type NotifyPart struct {
	Key   string
	Value any
}

// Text writes the value for people: a list without its brackets.
func (p NotifyPart) Text() string {
	if text, ok := p.Value.(string); ok {
		return text // may have brackets of its own, as in http://[::1]/
	}
	if with, ok := p.Value.(map[string]string); ok {
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(with)) {
			if with[name] != "" {
				texts = append(texts, name+" "+with[name])
			}
		}
		return strings.Join(texts, ", ")
	}
	text := fmt.Sprint(p.Value)
	return strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
}

// NotifyParts returns what is set of a notification, in the order of the docs.
func NotifyParts(n *schedule.Notification) (parts []NotifyPart) {
	add := func(key string, value any, isSet bool) {
		if isSet {
			parts = append(parts, NotifyPart{Key: key, Value: value})
		}
	}
	add("ping", n.Ping, n.Ping != "")
	add("webhook", n.Webhook, n.Webhook != "")
	add("mail", n.Mail, n.Mail != nil)
	add("sentry", n.Sentry, n.Sentry != "")
	if n.Preset != nil {
		add("preset", n.Preset.Name, true)
		add("with", n.Preset.With, len(n.Preset.With) > 0)
	}
	add("on", n.On, n.On != nil && n.Sentry == "")
	add("format", n.Format, n.Format != "")
	add("when", string(n.When), n.When != "")
	atMost := fmt.Sprintf("%d per %s", n.AtMost.N, humanize.Setting(n.AtMost.Per))
	add("at_most", atMost, n.AtMost.N > 0)
	return parts
}
