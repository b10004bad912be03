package cmd

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"

	"sched/schedule/controls"
)

// task returns the task with the name, or an error that names the nearest.
func task(s *schedule.Schedule, name string) (*schedule.Task, error) {
	var names []string
	for _, t := range s.Tasks {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, failed(didYouMean(name, names), "there is no task %q in %s", name, filepath.Base(s.File))
}

func taskNames(s *schedule.Schedule) []string {
	names := make([]string, len(s.Tasks))
	for i, t := range s.Tasks {
		names[i] = t.Name
	}
	return names
}

// runnable refuses to ask for a run that every tick would refuse.
func runnable(s *schedule.Schedule, t *schedule.Task) error {
	if s.Active(t) {
		return nil
	}
	return failed("`sched test "+t.Name+"` runs it all the same, now and here", "%s is %s", t.Name, switchedOff(s, t))
}

func switchedOff(s *schedule.Schedule, t *schedule.Task) string {
	if !t.Enabled {
		return "switched off"
	}
	return "not for " + s.Environment
}

func commandText(c schedule.Command) string {
	if len(c.List) > 0 {
		return strings.Join(c.List, " ")
	}
	return c.Line
}

// chosen returns the names of tasks: those that are named, each of the schedule or paused, and those with one of
// the tags. None of both stands for everything.
func (a *app) chosen(s *schedule.Schedule, paused controls.Pauses, names, tags []string) ([]string, error) {
	if len(names)+len(tags) == 0 {
		return []string{controls.Everything}, nil
	}
	for _, name := range names {
		if _, err := task(s, name); err != nil && !paused[name].InEffect(a.now()) {
			return nil, err
		}
	}
	var known []string
	for _, t := range s.Tasks {
		known = append(known, t.Tags...)
		if slices.ContainsFunc(t.Tags, func(tag string) bool { return slices.Contains(tags, tag) }) {
			names = append(names, t.Name)
		}
	}
	for _, tag := range tags {
		if !slices.Contains(known, tag) {
			return nil, failed(didYouMean(tag, known), "no task has the tag %q", tag)
		}
	}
	var chosen []string
	for _, name := range names {
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}
