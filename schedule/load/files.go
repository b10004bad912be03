package load

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/yamldoc"
)

// This file reads tasks from other files than a main file in YAML: from a crontab in its place, and
// from the files that it includes.

// isOnlyTaskKey reports whether a key of a comment may stand in a task, and not at the top of a
// file.
func isOnlyTaskKey(key string) bool {
	key, _, _ = strings.Cut(key, ".")
	return taskKeys.Has(key, taskScope) && !topKeys.Has(key, 0)
}

// readIncludes reads the tasks of files, by pattern and then by name. n may be nil.
func readIncludes(l *loader, n *node, base *taskDraft) {
	if n == nil {
		return
	}
	l.Key = "include"
	defer func() { l.Key = "" }()
	switch l.medium {
	case inFiles:
		includeFiles(l, n, base)
	case inText:
		l.Problemf(n, "", "include cannot be used here, where only text is read")
	case inArchive: // what the patterns stood for then
		for len(l.archived) > 0 {
			readInclude(l, l.nextArchived(n), base)
		}
	}
}

// includeFiles reads the files that the patterns stand for, each once.
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
		escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
		pattern = filepath.Join(escape.Replace(l.folder), pattern)
	}
	paths, err := filepath.Glob(pattern)
	paths = slices.DeleteFunc(afterEdit(l, pattern, paths),
		func(path string) bool { return isHiddenFrom(pattern, path) })
	if err != nil {
		l.Problemf(n, "", "include %s: the pattern is broken", yamldoc.Quote(n.Value))
	} else if len(paths) == 0 && !hasWildcard {
		l.Problemf(n, "", "include %s: there is no such file", yamldoc.Quote(n.Value))
	}
	return paths
}

// isHiddenFrom reports whether a wildcard of the pattern stands for a leading dot in the path. As
// in a shell such files do not match: editors keep locks and drafts under such names.
func isHiddenFrom(pattern, path string) bool {
	parts := strings.Split(filepath.Clean(pattern), string(filepath.Separator))
	for i, name := range strings.Split(filepath.Clean(path), string(filepath.Separator)) {
		if strings.HasPrefix(name, ".") && i < len(parts) && strings.IndexAny(parts[i], "*?[") == 0 {
			return true
		}
	}
	return false
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
		readEntries(l, root, base)
	} else if l.RequireMapping(root, "an included file", "write a list of tasks") {
		includeKeys.Decode(l, new(struct{}), root, 0)
		readEntries(l, root.Lookup("tasks"), base)
	}
}
