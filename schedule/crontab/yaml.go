package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sched/schedule"
)

// mostCommon returns the value that most tasks have, the first of several. There is a task.
func mostCommon(tasks []*Task, valueOf func(*Task) string) string {
	counts := map[string]int{}
	for _, t := range tasks {
		counts[valueOf(t)]++
	}
	value := valueOf(tasks[0])
	for _, t := range tasks {
		if counts[valueOf(t)] > counts[value] {
			value = valueOf(t)
		}
	}
	return value
}

// A writer writes YAML. Each line has its place in the crontab.
type writer struct {
	strings.Builder
	forLoader bool             // tasks have no defaults
	place     schedule.Place   // of the task that is written; of the crontab before the first one
	places    []schedule.Place // of the lines
}

// writeLine writes a line that comes from the task.
func (w *writer) writeLine(format string, args ...any) { w.writeLineAt(w.place, format, args...) }

func (w *writer) writeLineAt(place schedule.Place, format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
	w.places = append(w.places, place)
}

func (w *writer) writeBlank() { w.writeLine("") }

// writeKeys writes keys, the keys inside of another one below it.
func (w *writer) writeKeys(indent string, keys []Key) {
	done := map[string]bool{}
	for i, k := range keys {
		place := schedule.Place{Line: k.Line, Column: k.Column}
		above, _, inside := strings.Cut(k.Name, ".")
		if !inside {
			w.writeLineAt(place, "%s%s: %s", indent, scalar(k.Name), k.Value)
		} else if !done[above] {
			done[above] = true
			w.writeLineAt(place, "%s%s:", indent, scalar(above))
			w.writeKeys(indent+"  ", keysBelow(above, keys[i:]))
		}
	}
}

// keysBelow returns the keys inside of the key above, named without it.
func keysBelow(above string, keys []Key) (all []Key) {
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.Name, above+"."); ok {
			k.Name = rest
			all = append(all, k)
		}
	}
	return all
}

// writeTask writes what the line says, and then the keys of its comments, which replace the others.
func (w *writer) writeTask(t *Task, common surroundings) {
	const indent = "    "
	for _, line := range t.Comment {
		w.writeLine("  # %s", printable(line))
	}
	w.place = schedule.Place{Line: t.Entry.Line, Column: 1}
	w.writeTaskHead(indent, t)
	w.writeKeys(indent, t.keysBeside(common))
	own := maps.Clone(t.Env)
	maps.DeleteFunc(own, func(name, value string) bool {
		shared, ok := common.Env[name]
		return ok && shared == value
	})
	w.writeEnv(indent, own, keysBelow("env", t.Entry.Keys), t)
	for _, line := range t.ownKeyLines() {
		if key, _, _ := strings.Cut(line, ":"); !t.sets(key) {
			w.writeLine(indent+"%s", line)
		}
	}
	w.writeKeys(indent, slices.DeleteFunc(slices.Clone(t.Entry.Keys), func(k Key) bool {
		return strings.HasPrefix(k.Name, "env.") || k.Name == "name" && !w.forLoader
	}))
	w.writeCommand(indent, t.Command)
}

// writeTaskHead writes name, description and cron, and whether the task is enabled and in the
// background. For the loader cron comes first: the loader takes the place of the first key for the
// task's, and a name may stand in a comment.
func (w *writer) writeTaskHead(indent string, t *Task) {
	first, later := "name: "+scalar(t.Name), "cron: "+quote(t.Cron)
	if w.forLoader {
		first, later = later, first
	}
	w.writeLine("  - %s", first)
	if t.Description != "" && !t.sets("description") {
		w.writeLine(indent+"description: %s", scalar(t.Description))
	}
	if !t.Enabled {
		w.writeLine(indent + "enabled: false")
	}
	if !w.forLoader || !t.sets("name") {
		w.writeLine(indent+"%s", later)
	}
	if w.forLoader && !t.sets("background") {
		w.writeLine(indent + "background: true")
	}
}

// writeEnv writes the variables of the settings above the task, and the variables that comments
// set.
func (w *writer) writeEnv(indent string, set Variables, keys []Key, t *Task) {
	if len(set)+len(keys) == 0 {
		return
	}
	w.writeLine(indent + "env:")
	for _, name := range set.Names() {
		if !slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }) {
			place := schedule.Place{Line: t.lineOf(name), Column: 1}
			w.writeLineAt(place, indent+"  %s: %s", scalar(name), scalar(escape(set[name])))
		}
	}
	w.writeKeys(indent+"  ", keys)
}

// writeCommand writes one line, or a block if that line would need escapes.
func (w *writer) writeCommand(indent, command string) {
	if text := scalar(command); !strings.HasPrefix(text, `"`) && !strings.Contains(text, "''") {
		w.writeLine(indent+"command: %s", text)
		return
	}
	isHidden := func(r rune) bool { return !showable(r) && r != '\n' }
	if strings.ContainsFunc(command, isHidden) || strings.HasPrefix(command, " ") || strings.HasSuffix(command, "\n") {
		w.writeLine(indent+"command: %s", quote(command))
		return
	}
	w.writeLine(indent + "command: |-")
	for line := range strings.SplitSeq(command, "\n") {
		if line == "" {
			w.writeBlank()
			continue
		}
		w.writeLine(indent+"  %s", line)
	}
}
