package crontab

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule/yamldoc"
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

// A Block is a task that comes from no crontab: the comment above it, and its keys, the name first.
type Block struct {
	Comment []string
	Keys    []Key
}

// CommandKey returns the key command, written as import writes commands.
func CommandKey(command string) Key {
	return Key{Name: "command", Value: yamldoc.NewText(command), Text: block(taskIndent+"  ", command)}
}

// EnvKey returns variables as the key env.
func EnvKey(set map[string]string) Key { return (&Task{}).envKeys(set, nil)[0] }

// Escape writes a text for a key in which ${VAR} is expanded.
func Escape(text string) string { return escape(text) }

// BlocksYAML writes a schedule, with a comment line at its top for each line of header.
func BlocksYAML(header []string, defaults []Key, tasks []Block) []byte {
	w := &writer{}
	for _, line := range header {
		w.writeLine("%s", strings.TrimRight("# "+line, " "))
	}
	w.writeLine("\ndefaults:")
	w.writeKeys("  ", defaults)
	w.writeLine("\ntasks:")
	for i, t := range tasks {
		if i > 0 {
			w.writeLine("")
		}
		for _, line := range t.Comment {
			w.writeLine("  # %s", printable(line))
		}
		var keys writer
		keys.writeKeys(taskIndent, t.Keys)
		w.writeLine("  - %s", strings.TrimSpace(keys.String()))
	}
	return []byte(w.String())
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
