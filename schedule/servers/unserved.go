package servers

import (
	"slices"

	"sched/schedule"
	"sched/schedule/labels"
)

// Unserved returns the tasks that none of the servers runs, though they are in use: what they say in `servers` means none of them.
func Unserved(s *schedule.Schedule, all []Server) (tasks []*schedule.Task) {
	for _, t := range s.Tasks {
		isFor := func(one Server) bool { return one.Machine().IsAny(t.Servers) }
		if len(t.Servers) > 0 && s.InUse(t) && !slices.ContainsFunc(all, isFor) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// Machine is the server as `servers` of a task sees it.
func (s Server) Machine() labels.Machine { return labels.Machine{Name: s.Name, Labels: s.Labels} }
