package load

import (
	"cmp"
	"slices"

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
// task, or whose keys are wrong, and reports it in Schedule.Left.
func (l *loader) readCrontab(main *yamldoc.Source, system bool) (*schedule.Schedule, error) {
	table := crontab.Parse(crontab.Source{Name: main.Name, Text: string(main.Data), System: system})
	lines := crontab.Convert([]*crontab.Table{table}, crontab.Options{Home: l.options.Home})
	var left []schedule.Problem
	for {
		text, places := lines.Document()
		try, err := newLoader(l.schedule.File, l.options)
		if err != nil {
			return nil, err
		}
		try.File, try.origin, try.archived = main.Name, l.origin, l.archived
		try.Lines = map[string][]schedule.Place{main.Name: places}
		try.Add(l.schedule.File, main.Data)
		try.readMain(text)
		wrong, _ := try.Problems()
		for i, p := range wrong {
			wrong[i].Hint = cmp.Or(p.Hint, lines.KeyHint(p.Place.Line, p.Place.Column))
		}
		if !leaveOut(lines, wrong) {
			for _, f := range lines.Findings {
				at := schedule.Place{File: main.Name, Line: f.Line, Column: 1}
				if f.Left {
					left = append(left, schedule.Problem{Place: at, Text: f.Text, Hint: f.Hint})
				} else {
					try.WarnAt(at, "", f.Hint, "%s", f.Text)
				}
			}
			s, err := try.result()
			if err == nil {
				slices.SortStableFunc(left, func(a, b schedule.Problem) int { return a.Place.Line - b.Place.Line })
				s.Left = left
			}
			return s, err
		}
		left = append(left, wrong...)
	}
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
