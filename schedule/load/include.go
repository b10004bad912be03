package load

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/yamldoc"
)

// readIncludes reads the tasks of files, by pattern and then by name. n may be nil.
func (l *loader) readIncludes(n *node, base *taskDraft) {
	if n == nil {
		return
	}
	l.Key = "include"
	defer func() { l.Key = "" }()
	switch l.origin {
	case fromFiles:
		includeFiles(l, n, base)
	case fromText:
		l.Problemf(n, "", "include cannot be used here, where only text is read")
	case fromArchive: // what the patterns stood for then
		for len(l.archived) > 0 {
			readInclude(l, l.nextArchived(n), base)
		}
	}
}

func includeFiles(l *loader, n *node, base *taskDraft) {
	read := map[string]bool{}
	n.Each(func(item *node) bool {
		for _, path := range matches(l, item) {
			switch {
			case path == l.schedule.File:
				l.Problemf(item, "", "include %s: this is the file itself", yamldoc.Quote(item.Value))
			case read[path]:
				l.Problemf(item, "", "include %s: %s is included twice", yamldoc.Quote(item.Value), l.NameOf(path))
			default:
				read[path] = true
				if src := l.Open(path); src != nil {
					readInclude(l, src, base)
				}
			}
		}
		return true
	})
}

// matches returns the files of a pattern, sorted. Only a pattern without wildcards must have one.
func matches(l *loader, n *node) []string {
	pattern, ok := l.NonEmptyExpanded(n)
	if !ok {
		return nil
	}
	if strings.Contains(pattern, "**") {
		l.Problemf(n, "name each level of folders, as in `schedule.d/*/*.yaml`",
			"include %s: ** is not supported", yamldoc.Quote(pattern))
		return nil
	}
	hasWildcard := strings.ContainsAny(pattern, `*?[`)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(escapePattern(l.folder), pattern)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		l.Problemf(n, "", "include %s: the pattern is broken", yamldoc.Quote(n.Value))
	} else if len(paths) == 0 && !hasWildcard {
		l.Problemf(n, "", "include %s: there is no such file", yamldoc.Quote(n.Value))
	}
	return afterEdit(l, pattern, paths)
}

// afterEdit returns the files that a pattern will stand for, sorted, after the edit in
// Options.Texts.
func afterEdit(l *loader, pattern string, paths []string) []string {
	for path, text := range l.options.Texts {
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == path })
		if matches, _ := filepath.Match(pattern, path); matches && text != nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// readInclude reads one included file: a list of tasks, or a mapping with tasks and nothing else.
func readInclude(l *loader, src *yamldoc.Source, base *taskDraft) {
	main, key := l.File, l.Key
	defer func() { l.File, l.Key = main, key }()
	l.File, l.Key = src.Name, ""
	root := l.Parse(src.Data)
	if root == nil {
		return
	}
	if root.IsList() {
		l.readEntries(root, base)
	} else if l.RequireMapping(root, "an included file") {
		includeKeys.Decode(l, new(struct{}), root, 0)
		l.readEntries(root.Lookup("tasks"), base)
	}
}
