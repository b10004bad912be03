package schedule

import (
	"gopkg.in/yaml.v3"
)

// command reads what to run: a text for the shell, or a list that is run without one.
func (l *loader) command(n *yaml.Node, shell []string) (Command, bool) {
	if n.Kind == yaml.MappingNode {
		l.bad(n, "", "%s must be text or a list, not a mapping", l.key)
		return Command{}, false
	}
	if n.Kind == yaml.SequenceNode {
		list, ok := l.arguments(n)
		return Command{List: list}, ok
	}
	line, ok := l.filled(n)
	return Command{Line: line, Shell: shell}, ok
}

// arguments reads a list of a program and its arguments, which may be empty texts.
func (l *loader) arguments(n *yaml.Node) ([]string, bool) {
	if !l.notEmpty(n, "") {
		return nil, false
	}
	list := make([]string, 0, len(n.Content))
	for i, item := range n.Content {
		read := l.text
		if i == 0 {
			read = l.filled
		}
		text, ok := read(item)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

func readShell(l *loader, e *entry, n *yaml.Node) {
	hint := ""
	if n.Kind == yaml.ScalarNode {
		hint = "write [" + shorten(n.Value) + ", -c]"
	}
	if l.isList(n, hint) {
		if shell, ok := l.arguments(n); ok {
			e.shell = shell
		}
	}
}
