package crontab

import (
	"fmt"
	"slices"
	"strings"
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

// A writer writes YAML for people.
type writer struct{ strings.Builder }

func (w *writer) writeLine(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// writeKeys writes keys, the keys inside of another one below it.
func (w *writer) writeKeys(indent string, keys []Key) {
	for _, k := range keys {
		if k.Below == nil {
			w.writeLine("%s%s: %s", indent, scalar(k.Name), k.yaml())
			continue
		}
		w.writeLine("%s%s:", indent, scalar(k.Name))
		w.writeKeys(indent+"  ", k.Below)
	}
}

// writeTask writes the comment above a task, and its keys.
func (w *writer) writeTask(t *Task, common surroundings) {
	for _, line := range t.Comment {
		w.writeLine("  # %s", printable(line))
	}
	w.writeLine("  - name: %s", scalar(t.Name))
	isName := func(k Key) bool { return k.Name == "name" }
	w.writeKeys(taskIndent, slices.DeleteFunc(t.keys(common), isName))
}
