package schedule

import (
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// includes reads the tasks of the files that n names, in the order of the patterns and, of one
// pattern, of the names. n may be nil.
func (l *loader) includes(n *yaml.Node, base *entry) {
	if n == nil {
		return
	}
	if l.onlyText {
		l.bad(n, "", "include cannot be used here, where only text is read")
		return
	}
	l.key = "include"
	defer func() { l.key = "" }()
	read := map[string]bool{}
	l.each(n, func(item *yaml.Node) bool {
		for _, path := range l.matches(item) {
			switch {
			case path == l.file:
				l.bad(item, "", "include %s: this is the file itself", quote(item.Value))
			case read[path]:
				l.bad(item, "", "include %s: %s is included twice", quote(item.Value), l.shown(path))
			default:
				read[path] = true
				l.include(path, base)
			}
		}
		return true
	})
}

// matches returns the files that the pattern stands for, sorted. Only a pattern without wildcards
// must have one.
func (l *loader) matches(n *yaml.Node) []string {
	pattern, ok := l.filledExpanded(n)
	if !ok {
		return nil
	}
	if strings.Contains(pattern, "**") {
		l.bad(n, "name each level of folders, as in `schedule.d/*/*.yaml`", "include %s: ** is not supported", quote(pattern))
		return nil
	}
	wild := strings.ContainsAny(pattern, `*?[`)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(literal(l.dir), pattern)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		l.bad(n, "", "include %s: the pattern is broken", quote(n.Value))
	} else if len(paths) == 0 && !wild {
		l.bad(n, "", "include %s: there is no such file", quote(n.Value))
	}
	slices.Sort(paths)
	return paths
}

// literal returns the pattern that matches the path alone.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

var includeKeys = keys[source]{
	elsewhere: func(name string, _ scope) string { return "an included file holds only tasks" },
	list: []key[source]{
		{"tasks", 0, func(l *loader, src *source, n *yaml.Node) { src.tasks = n }},
	},
}

// include reads one included file: a list of tasks, or a mapping with tasks and nothing else.
func (l *loader) include(path string, base *entry) {
	main, key := l.at, l.key
	defer func() { l.at, l.key = main, key }()
	src := l.read(path)
	if src == nil {
		return
	}
	l.at, l.key = src.shown, ""
	src.root = l.parse(src.data)
	switch {
	case src.root == nil:
		return
	case src.root.Kind == yaml.SequenceNode:
		src.tasks = src.root
	case l.isMapping(src.root, "an included file"):
		includeKeys.decode(l, src, src.root, 0)
	}
	l.entries(src.tasks, base)
}
