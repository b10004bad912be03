package schedule

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Merged returns the schedule as one YAML text: Parse makes the same schedule of it, for the same
// file and variables. Without includes it is the file as it is. With them it has no comments, and
// variables still stand as ${VAR}, so no secret of the environment is in it.
//
// It is made when it is asked for: a tick that finds nothing changed never pays for it.
func (s *Schedule) Merged() ([]byte, error) {
	if len(s.sources) == 0 {
		return nil, errors.New("the schedule was not made from text")
	}
	if main := s.sources[0]; len(s.sources) == 1 && !has(main.root, "include") {
		return main.data, nil
	}
	return s.rewritten()
}

func (s *Schedule) rewritten() ([]byte, error) {
	w := writer{left: largestFile}
	w.text("# the schedule with everything that it includes, written by sched\n")
	root := s.sources[0].root
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key := root.Content[i]; key.Value {
		case "include", "tasks":
		case "holidays":
			w.holidays(s.Holidays)
		default:
			w.value(key)
			w.text(": ")
			w.value(root.Content[i+1])
			w.text("\n")
		}
	}
	w.text("tasks:")
	empty := true
	for _, src := range s.sources {
		if src.tasks == nil {
			continue
		}
		for _, task := range src.tasks.Content {
			w.text("\n- ")
			w.value(task)
			empty = false
		}
	}
	if empty {
		w.text(" []")
	}
	w.text("\n")
	if w.left < 0 {
		return nil, errors.New("the schedule with its includes is larger than 16 MiB")
	}
	return w.out.Bytes(), nil
}

// A writer writes values in the flow style of YAML, which needs no indentation. It writes itself,
// where yaml.v3 would, because that one does not read all its own comments and long texts alike.
type writer struct {
	out  bytes.Buffer
	left int // what may still be written
}

func (w *writer) text(s string) {
	if w.left -= len(s); w.left >= 0 {
		w.out.WriteString(s)
	}
}

// holidays writes those of the files, too.
func (w *writer) holidays(h Holidays) {
	w.text("holidays: [")
	for i, date := range h.dates() {
		if i > 0 {
			w.text(", ")
		}
		w.text(strconv.Quote(strings.TrimSpace(date.String() + " " + h[date])))
	}
	w.text("]\n")
}

func (w *writer) value(n *yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		w.text("[")
		for i, item := range n.Content {
			if i > 0 {
				w.text(", ")
			}
			w.value(item)
		}
		w.text("]")
	case yaml.MappingNode:
		w.text("{")
		for i, item := range n.Content {
			if i > 0 {
				w.text([]string{", ", ": "}[i%2])
			}
			w.value(item)
		}
		w.text("}")
	default:
		if n.Tag == "!!str" || n.Tag == "!!merge" {
			w.text(strconv.Quote(n.Value)) // YAML knows all the escapes of Go
		} else {
			w.text(n.Value) // a number, a date, true or false: they hold nothing that needs quotes
		}
	}
}
