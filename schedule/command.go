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

// readHooks returns the setter of a key of hooks.
func readHooks(hooks func(*entry) *[]Hook) func(*loader, *entry, *yaml.Node) {
	return func(l *loader, e *entry, n *yaml.Node) {
		var all []Hook
		l.each(n, func(item *yaml.Node) bool {
			hook, ok := l.hook(item, e.shell)
			all = append(all, hook)
			return ok
		})
		*hooks(e) = all
	}
}

// hook reads a text for the shell or {run: …}.
func (l *loader) hook(n *yaml.Node, shell []string) (Hook, bool) {
	switch n.Kind {
	case yaml.SequenceNode:
		l.bad(n, "a list to be run without a shell is written {run: […]}", "a hook of %s must be text or a mapping, not a list", l.key)
		return Hook{}, false
	case yaml.MappingNode:
		h := hookEntry{shell: shell}
		hookKeys.decode(l, &h, n, 0)
		if !h.given && len(n.Content) == 0 {
			l.bad(n, "write {run: COMMAND}", "a hook of %s is empty", l.key)
		}
		return h.Hook, h.given
	}
	command, ok := l.command(n, shell)
	return Hook{Run: command}, ok
}

type hookEntry struct {
	Hook
	shell []string
	given bool
}

var hookKeys = keys[hookEntry]{list: []key[hookEntry]{
	{"run", 0, func(l *loader, h *hookEntry, n *yaml.Node) { h.Run, h.given = l.command(n, h.shell) }},
}}
