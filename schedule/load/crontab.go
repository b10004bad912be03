package load

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/yamldoc"
)

func (l *loader) isUser(name string) bool {
	if l.options.Home == nil {
		return false
	}
	_, ok := l.options.Home(name)
	return ok
}

// readCrontab converts a crontab to YAML and reads that YAML. It leaves out a line that cannot be a
// task, or whose keys are wrong, and reports it in Schedule.Left. To find the lines whose keys are
// wrong, it reads the YAML again without them until no problem is of one line alone.
func (l *loader) readCrontab(main *yamldoc.Source, system bool) (*schedule.Schedule, error) {
	table := crontab.Parse(crontab.Source{Name: main.Name, Text: string(main.Data), System: system})
	lines := crontab.Convert([]*crontab.Table{table}, crontab.Options{Home: l.options.Home})
	var left []schedule.Problem
	for {
		try, err := l.readLines(main, lines)
		if err != nil {
			return nil, err
		}
		wrong, _ := try.Problems()
		for i, p := range wrong {
			wrong[i].Hint = cmp.Or(lines.KeyHint(p.Place.Line, p.Place.Column, ofTasksAlone), p.Hint)
		}
		if leaveOut(lines, wrong) {
			left = append(left, wrong...)
			continue
		}
		left = append(left, try.findings(main, lines)...)
		s, err := try.result()
		if invalid, is := errors.AsType[*InvalidError](err); is {
			invalid.Problems = inOrder(append(wrong, left...))
		} else if err == nil {
			s.Left = inOrder(left)
		}
		return s, err
	}
}

// ofTasksAlone reports whether a key of a comment may stand in a task, and not at the top of a
// file.
func ofTasksAlone(key string) bool {
	key, _, _ = strings.Cut(key, ".")
	return taskKeys.Has(key, inTask) && !topKeys.Has(key, 0)
}

func inOrder(problems []schedule.Problem) []schedule.Problem {
	slices.SortStableFunc(problems, func(a, b schedule.Problem) int { return a.Place.Line - b.Place.Line })
	return problems
}

// readLines returns a loader that has read the YAML of the lines.
func (l *loader) readLines(main *yamldoc.Source, lines *crontab.Schedule) (*loader, error) {
	text, places := lines.Document()
	try, err := newLoader(l.schedule.File, l.options)
	if err != nil {
		return nil, err
	}
	try.File, try.origin, try.archived = main.Name, l.origin, l.archived
	try.Lines = map[string][]schedule.Place{main.Name: places}
	try.Add(l.schedule.File, main.Data)
	try.readMain(text)
	return try, nil
}

// findings returns the lines that cannot be tasks, and warns of what else was found in the crontab.
func (l *loader) findings(main *yamldoc.Source, lines *crontab.Schedule) (left []schedule.Problem) {
	for _, f := range lines.Findings {
		at := schedule.Place{File: main.Name, Line: f.Line, Column: 1}
		if f.Left {
			left = append(left, schedule.Problem{Place: at, Text: f.Text, Hint: f.Hint})
		} else {
			l.WarnAt(at, "", f.Hint, "%s", f.Text)
		}
	}
	return left
}

// leaveOut takes out the tasks that have the problems. If there is no problem, or a problem
// concerns the whole file, it takes no task out and returns false.
func leaveOut(lines *crontab.Schedule, wrong []schedule.Problem) bool {
	about := map[*crontab.Task]bool{}
	for _, p := range wrong {
		t := lines.TaskOf(p.Place.Line, p.Task)
		if t == nil {
			return false
		}
		about[t] = true
	}
	lines.Tasks = slices.DeleteFunc(lines.Tasks, func(t *crontab.Task) bool { return about[t] })
	return len(wrong) > 0
}
