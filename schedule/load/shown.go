package load

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// Settings returns every key of a task, in the order of the docs. The task was loaded with
// Options.Origins.
func Settings(t *schedule.Task) (all []schedule.Setting) {
	for _, k := range shownKeys(&taskKeys, &taskDraft{Task: *t}) {
		switch value := k.value.(type) {
		case []shownKey:
			for _, inner := range value {
				all = append(all, settingOf(t, k.name+"."+inner.name, inner.value))
			}
		case map[string]string: // env: variablesOf reads it from the task, with its origins
			all = append(all, variablesOf(t)...)
		case []schedule.Param:
			for _, p := range value {
				all = append(all, settingOf(t, k.name+"."+p.Name, p))
			}
		case []schedule.Hook:
			all = append(all, hooksByLevel(t, k.name, value)...)
		default:
			all = append(all, settingOf(t, k.name, value))
		}
	}
	return all
}

// A shownKey is a key with its value in effect.
type shownKey struct {
	name string

	// value is a value as in schedule.Setting, or []shownKey for a mapping, map[string]string for
	// env, or []schedule.Param.
	value any
}

// shownKeys returns the keys of a table that are shown, with their values in a mapping.
func shownKeys[T any](table *keys[T], mapping *T) (all []shownKey) {
	for _, k := range table.All() {
		if k.Show != nil {
			all = append(all, shownKey{name: k.Name, value: k.Show(mapping)})
		}
	}
	return all
}

// settingOf returns a key with its value. If the key above it has a plain value that stands for it
// (`retry: false`, `output: PATH`), that key set it.
func settingOf(t *schedule.Task, key string, value any) schedule.Setting {
	from, isSet := t.Origins[key]
	if parent, _, isInside := strings.Cut(key, "."); !isSet && isInside {
		text := t.Origins[parent].Text
		isPath := text != "" && key == "output.file"
		if text == "false" || isPath {
			from, isSet = t.Origins[parent], true
		}
	}
	if isSet && strings.Contains(from.Text, "${file:") {
		value = from.Text
	}
	return schedule.Setting{Key: key, Value: value, From: from, IsSet: isSet}
}

// variablesOf returns the variables of env that are no params, by name.
func variablesOf(t *schedule.Task) (variables []schedule.Setting) {
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		if slices.ContainsFunc(t.Params, func(p schedule.Param) bool { return p.Name == name }) {
			continue
		}
		s := settingOf(t, "env."+name, t.Env[name])
		if strings.Contains(s.From.Text, "${") {
			s.Value = s.From.Text
		}
		variables = append(variables, s)
	}
	return variables
}

// hooksByLevel returns the hooks of a key, one setting for each level that has hooks.
func hooksByLevel(t *schedule.Task, key string, hooks []schedule.Hook) (levels []schedule.Setting) {
	for i, hook := range hooks {
		from := t.Origins[key+"."+strconv.Itoa(i)]
		if last := len(levels) - 1; last >= 0 && levels[last].From == from {
			levels[last].Value = append(levels[last].Value.([]schedule.Hook), hook)
			continue
		}
		levels = append(levels, schedule.Setting{Key: key, Value: []schedule.Hook{hook}, From: from, IsSet: true})
	}
	return levels
}

// settingValue returns a value as a schedule.Setting has it; nil for an empty value that is not
// false.
func settingValue(value any) any {
	switch v := value.(type) {
	case bool:
		return v
	case *time.Location:
		return v.String()
	case schedule.Days:
		return settingValue(v.String())
	case schedule.Pool:
		return settingValue(v.Name)
	case []schedule.Window:
		var texts []string
		for _, w := range v {
			texts = append(texts, w.String())
		}
		return settingValue(texts)
	}
	switch v := reflect.ValueOf(value); {
	case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		return nil
	case v.Kind() == reflect.Pointer:
		return v.Elem().Interface()
	}
	return value
}

// showShell and the functions after it show values that do not stand in one field as the file has
// them.
func showShell(t *taskDraft) any {
	if t.Command.Shell == nil {
		return nil
	}
	return schedule.Command{List: t.Command.Shell}
}

// showUmask is in octal, with the zero that the file has, too.
func showUmask(t *taskDraft) any {
	if t.As.Umask == nil {
		return nil
	}
	return fmt.Sprintf("0%02o", *t.As.Umask)
}

// showMoment shows a time on the wall clock of the zone, as a date if it is a midnight.
func showMoment(at time.Time, zone *time.Location) any {
	if at.IsZero() {
		return nil
	}
	return schedule.MomentText(at, zone)
}

func showOverlapping(t *taskDraft) any {
	switch {
	case t.Replace:
		return schedule.Word("replace")
	case t.MaxWait > 0:
		return schedule.Word("wait")
	}
	return t.WithoutOverlapping
}

func showStoreDown(t *taskDraft) any {
	switch {
	case t.RunWhenStoreDown:
		return schedule.Word("run")
	case t.WaitWhenStoreDown:
		return schedule.Word("wait")
	}
	return schedule.Word("skip")
}

func showOnLostLease(t *taskDraft) any {
	if t.StopOnLostLease {
		return schedule.Word("stop")
	}
	return schedule.Word("continue")
}

func showMissed(t *taskDraft) any {
	switch {
	case t.RunAfterPause:
		return schedule.Word("after_pause")
	case t.RunAllMissed:
		return schedule.Word("all")
	case t.RunMissed:
		return schedule.Word("once")
	}
	return schedule.Word("skip")
}

func showExcept(t *taskDraft) any {
	if len(t.Conditions.Holidays) == 0 {
		return nil
	}
	return "holidays"
}

func showConditionCommand(key string) func(*taskDraft) any {
	return func(t *taskDraft) any {
		for _, c := range t.ConditionCommands {
			if c.Key == key {
				return c.Command
			}
		}
		return nil
	}
}

func showLimit(o *schedule.Output) any { return yamldoc.SizeText(o.Limit) }

func showMemory(l *schedule.Limits) any {
	if l.Memory == 0 {
		return nil
	}
	return yamldoc.SizeText(l.Memory)
}

func showPercent(l *schedule.Limits) any {
	if l.CPU == 0 {
		return nil
	}
	return fmt.Sprintf("%d%%", l.CPU)
}
