package load

import (
	"cmp"
	"errors"
	"slices"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/yamldoc"
)

// readCrontab reads a crontab as the schedule that import makes of it. It leaves out a line that
// cannot be a task, or whose keys are wrong, and reports it in Schedule.BadLines. To find the lines
// whose keys are wrong, it reads the others again until no problem is of one line alone.
func readCrontab(l *loader, main *yamldoc.Source, system bool) (*schedule.Schedule, error) {
	table := crontab.Parse(crontab.Source{Name: main.Name, Text: string(main.Data), System: system})
	lines := crontab.Convert([]*crontab.Table{table}, crontab.Options{Home: l.options.Home})
	var badLines []schedule.Problem
	for {
		attempt, err := readLines(l, main, lines)
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
		badLines = append(badLines, reportFindings(attempt, main, lines)...)
		s, err := result(attempt)
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

// readLines returns a loader that has read the lines.
func readLines(l *loader, main *yamldoc.Source, lines *crontab.Schedule) (*loader, error) {
	attempt, err := newLoader(l.schedule.File, l.options)
	if err != nil {
		return nil, err
	}
	attempt.isCrontab = true
	attempt.File, attempt.medium, attempt.archived = main.Name, l.medium, l.archived
	attempt.Add(l.schedule.File, main.Data)
	if root := lines.Document(); attempt.Resolve(root) {
		readRoot(attempt, root)
	}
	return attempt, nil
}

// reportFindings warns of what the crontab has besides tasks. It returns the lines that cannot be
// tasks.
func reportFindings(l *loader, main *yamldoc.Source, lines *crontab.Schedule) (badLines []schedule.Problem) {
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

// inOrder sorts problems by their lines.
func inOrder(problems []schedule.Problem) []schedule.Problem {
	slices.SortStableFunc(problems, func(a, b schedule.Problem) int { return a.Place.Line - b.Place.Line })
	return problems
}

// isUser reports whether a name is the name of a user of this machine.
func isUser(l *loader, name string) bool {
	if l.options.Home == nil {
		return false
	}
	_, ok := l.options.Home(name)
	return ok
}
