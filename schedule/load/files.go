package load

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/yamldoc"
)

// This file reads tasks from other files than a main file in YAML: from a crontab in its place, and
// from the files that it includes.

// isUser reports whether a name is the name of a user of this machine.
func (l *loader) isUser(name string) bool {
	if l.options.Home == nil {
		return false
	}
	_, ok := l.options.Home(name)
	return ok
}

// readCrontab converts a crontab to YAML and reads that YAML. It leaves out a line that cannot be a
// task, or whose keys are wrong, and reports it in Schedule.BadLines. To find the lines whose keys
// are wrong, it reads the YAML again without them until no problem is of one line alone.
func (l *loader) readCrontab(main *yamldoc.Source, system bool) (*schedule.Schedule, error) {
	table := crontab.Parse(crontab.Source{Name: main.Name, Text: string(main.Data), System: system})
	lines := crontab.Convert([]*crontab.Table{table}, crontab.Options{Home: l.options.Home})
	var badLines []schedule.Problem
	for {
		attempt, err := l.readLines(main, lines)
		if err != nil {
			return nil, err
		}
		problems, _ := attempt.Problems()
		for i, p := range problems {
			problems[i].Hint = cmp.Or(lines.KeyHint(p.Place.Line, p.Place.Column, isOnlyTaskKey), p.Hint)
		}
		wrong := slices.DeleteFunc(slices.Clone(problems), func(p schedule.Problem) bool { return p.Lacks != "" })
		if len(wrong) > 0 && takeOut(lines, wrong) {
			badLines = append(badLines, wrong...)
			continue
		}
		badLines = append(badLines, attempt.reportFindings(main, lines)...)
		s, err := attempt.result()
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			invalid.Problems = inOrder(append(problems, badLines...))
			if invalid.Rest != nil {
				invalid.Rest.BadLines = inOrder(badLines)
			}
		} else if err == nil {
			s.BadLines = inOrder(badLines)
		}
		return s, err
	}
}

// isOnlyTaskKey reports whether a key of a comment may stand in a task, and not at the top of a
// file.
func isOnlyTaskKey(key string) bool {
	key, _, _ = strings.Cut(key, ".")
	return taskKeys.Has(key, taskScope) && !topKeys.Has(key, 0)
}

// inOrder sorts problems by their lines.
func inOrder(problems []schedule.Problem) []schedule.Problem {
	slices.SortStableFunc(problems, func(a, b schedule.Problem) int { return a.Place.Line - b.Place.Line })
	return problems
}

// readLines returns a loader that has read the YAML of the lines.
func (l *loader) readLines(main *yamldoc.Source, lines *crontab.Schedule) (*loader, error) {
	text, places := lines.Document()
	attempt, err := newLoader(l.schedule.File, l.options)
	if err != nil {
		return nil, err
	}
	attempt.File, attempt.medium, attempt.archived = main.Name, l.medium, l.archived
	attempt.Lines = map[string][]schedule.Place{main.Name: places}
	attempt.Add(l.schedule.File, main.Data)
	attempt.readMain(text)
	return attempt, nil
}

// reportFindings warns of what the crontab has besides tasks. It returns the lines that cannot be
// tasks.
func (l *loader) reportFindings(main *yamldoc.Source, lines *crontab.Schedule) (badLines []schedule.Problem) {
	for _, f := range lines.Findings {
		at := schedule.Place{File: main.Name, Line: f.Line, Column: 1}
		if f.IsOmitted {
			badLines = append(badLines, schedule.Problem{Place: at, Text: f.Text, Hint: f.Hint})
		} else {
			l.WarnAt(at, "", f.Hint, "%s", f.Text)
		}
	}
	return badLines
}

// takeOut takes out the tasks that have the problems. If there is no problem, or a problem
// concerns the whole file, it takes no task out and returns false.
func takeOut(lines *crontab.Schedule, problems []schedule.Problem) bool {
	isWrong := map[*crontab.Task]bool{}
	for _, p := range problems {
		t := lines.TaskOf(p.Place.Line, p.Task)
		if t == nil {
			return false
		}
		isWrong[t] = true
	}
	lines.Tasks = slices.DeleteFunc(lines.Tasks, func(t *crontab.Task) bool { return isWrong[t] })
	return len(problems) > 0
}

// readIncludes reads the tasks of files, by pattern and then by name. n may be nil.
func (l *loader) readIncludes(n *node, base *taskDraft) {
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
		l.readEntries(root, base)
	} else if l.RequireMapping(root, "an included file", "write a list of tasks") {
		includeKeys.Decode(l, new(struct{}), root, 0)
		l.readEntries(root.Lookup("tasks"), base)
	}
}
