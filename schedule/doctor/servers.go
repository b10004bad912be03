package doctor

import (
	"context"
	"slices"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/process"
)

var machineVariables = []string{"SCHED_LABELS", "SCHED_SERVER"}

// checkServers says which tasks are not for this server.
func checkServers(_ context.Context, s *Subject) (found []finding) {
	asks := func(t *schedule.Task) bool { return len(t.Servers) > 0 }
	if !slices.ContainsFunc(s.Schedule.Tasks, asks) {
		return nil
	}
	if wrong := s.Schedule.Machine.Wrong; wrong != "" {
		found = append(found, finding{Problem, wrong, "tasks that ask for labels in `servers` do not run here until it is mended"})
	}
	found = append(found, s.otherVariables()...)
	if len(found) > 0 {
		return found
	}
	var elsewhere []string
	for _, t := range s.Schedule.Tasks {
		if s.Schedule.InUse(t) && !s.Schedule.Here(t) {
			elsewhere = append(elsewhere, t.Name)
		}
	}
	if len(elsewhere) == 0 {
		return fine("all tasks are for this server: %s", s.Schedule.Machine)
	}
	return fine("this is %s; of %s these do not run here: %s", s.Schedule.Machine, humanize.Count(len(s.Schedule.Tasks), "task"), humanize.Names(elsewhere, 5))
}

// otherVariables names variables that make ticks take this machine for another one than this
// process does.
func (s *Subject) otherVariables() (found []finding) {
	note, ok := s.Tick()
	if !ok {
		return nil
	}
	mine := process.Lookup(s.Environ)
	for _, name := range machineVariables {
		_, ticks := slices.BinarySearch(note.Names, name)
		if _, here := mine(name); here != ticks {
			who := "ticks have $" + name + ", and this shell has not"
			if here {
				who = "this shell has $" + name + ", and ticks have not"
			}
			found = append(found, finding{Warning, who + ": commands here take other tasks for those of this server",
				"set it in both, or let the file /etc/sched/labels and the host name say it"})
		}
	}
	return found
}
