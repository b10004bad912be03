package load

import (
	"maps"
	"slices"
	"strconv"
	"strings"

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
	if isSet && yamldoc.TakesIn(from.Text, "file") {
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
