package view

import (
	"cmp"
	"path/filepath"
	"slices"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// FindTask returns the task of that name, or an *Error. For a task that the file has, with a
// mistake, the error says so; for any other name it names the nearest.
func FindTask(s *schedule.Schedule, name string) (*schedule.Task, error) {
	for _, t := range s.Tasks {
		if t.Name == name {
			return t, nil
		}
	}
	if slices.Contains(s.Without, name) {
		return nil, Fail(NotFound, "see `sched check`", "task %q of %s has a mistake, so it does not run", name,
			filepath.Base(s.File))
	}
	return nil, Fail(NotFound, DidYouMean(name, TaskNames(s)), "there is no task %q in %s", name, filepath.Base(s.File))
}

// TaskNames returns the names of the tasks, in file order.
func TaskNames(s *schedule.Schedule) []string {
	names := make([]string, len(s.Tasks))
	for i, t := range s.Tasks {
		names[i] = t.Name
	}
	return names
}

// DidYouMean is the hint for a name that does not exist: the nearest name that does.
func DidYouMean(name string, names []string) string {
	return cmp.Or(yamldoc.DidYouMean(humanize.Nearest(name, names)), "see `sched list`")
}

// InSchedule returns a function that reports whether the schedule has a task of a name.
func InSchedule(s *schedule.Schedule) func(name string) bool {
	names := TaskNames(s)
	return func(name string) bool { return slices.Contains(names, name) }
}
