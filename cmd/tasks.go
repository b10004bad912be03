package cmd

import (
	"slices"

	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/view"
)

// runnable is an error for a task that no tick starts here: it is switched off, or for another environment.
func runnable(s *schedule.Schedule, t *schedule.Task) error {
	if s.Active(t) {
		return nil
	}
	return failed("`sched test "+t.Name+"` runs it all the same, now and here", "%s is %s", t.Name, view.SwitchedOff(s, t))
}

// chosen returns the names of the tasks that are named, which must be in the schedule or paused, and of those with one of
// the tags, each once. Without names and tags it is controls.Everything.
func (a *app) chosen(s *schedule.Schedule, paused controls.Pauses, names, tags []string) ([]string, error) {
	if len(names)+len(tags) == 0 {
		return []string{controls.Everything}, nil
	}
	for _, name := range names {
		if _, err := view.FindTask(s, name); err != nil && !paused[name].InEffect(a.now()) {
			return nil, err
		}
	}
	for _, t := range s.Tasks {
		if slices.ContainsFunc(t.Tags, func(tag string) bool { return slices.Contains(tags, tag) }) {
			names = append(names, t.Name)
		}
	}
	if err := knownTags(s, tags); err != nil {
		return nil, err
	}
	var chosen []string
	for _, name := range names {
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

// knownTags returns an error for a tag that no task has, which names the nearest.
func knownTags(s *schedule.Schedule, tags []string) error {
	var used []string
	for _, t := range s.Tasks {
		used = append(used, t.Tags...)
	}
	for _, tag := range tags {
		if !slices.Contains(used, tag) {
			return failed(view.DidYouMean(tag, used), "no task has the tag %q", tag)
		}
	}
	return nil
}
