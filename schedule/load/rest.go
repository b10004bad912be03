package load

import (
	"slices"

	"sched/schedule"
)

// wrongEntries are the entries of `tasks:` that have problems, while a schedule is read.
type wrongEntries struct {
	problems int // of these entries; a file with more problems has other problems, too
	tasks    map[*schedule.Task]bool
}

// addWrong notes that the problems after the first `before` ones concern the task alone. The task
// is nil if the entry is no task.
func (l *loader) addWrong(before int, t *schedule.Task) {
	if l.ProblemCount() == before {
		return
	}
	l.wrong.problems += l.ProblemCount() - before
	if l.wrong.tasks == nil {
		l.wrong.tasks = map[*schedule.Task]bool{}
	}
	l.wrong.tasks[t] = true
}

// rest returns the schedule for InvalidError.Rest, or nil.
func (l *loader) rest() *schedule.Schedule {
	if l.ProblemCount() > l.wrong.problems {
		return nil
	}
	s := l.finished()
	left := map[string]bool{"": true} // names, the empty one among them
	for _, t := range s.Tasks {
		left[t.Name] = left[t.Name] || !l.wrong.tasks[t]
	}
	s.Without = []string{}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(t *schedule.Task) bool {
		if l.wrong.tasks[t] && !left[t.Name] {
			s.Without = append(s.Without, t.Name)
		}
		return l.wrong.tasks[t]
	})
	if len(s.Tasks) == 0 {
		return nil
	}
	return s
}
