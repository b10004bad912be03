package load

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule"
)

// checkChains refuses
//
//   - triggers of tasks that do not exist, or that only a person can start,
//   - chains without an end,
//   - tasks that nothing starts: they have no time and no trigger, and people need not start them
//     (OnlyByHand).
//
// It warns of triggers that start nothing.
func checkChains(l *loader) {
	if len(l.chains.triggers)+len(l.chains.timeless) == 0 {
		return
	}
	tasks, triggered := map[string]*schedule.Task{}, map[string]bool{}
	for _, t := range l.schedule.Tasks {
		tasks[t.Name] = t
	}
	for _, trigger := range l.chains.triggers {
		triggered[trigger.name] = true
		switch t := tasks[trigger.name]; {
		case t == nil:
			l.problemOf(trigger, nearestTaskHint(l, trigger.name), "trigger: there is no task %q", trigger.name)
		case t.OnlyByHand():
			l.problemOf(trigger, "give its params defaults",
				"trigger: %s has a param without a default, and a hook gives it no value", t.Name)
		default:
			warnOfSkippedTrigger(l, trigger, t, tasks[trigger.task])
		}
	}
	for _, t := range l.chains.timeless {
		if !triggered[t.name] && !tasks[t.name].OnlyByHand() {
			l.problemOf(t, "add `cron:` or `every:`, or `every: hand` for what people start; "+
				"or start it from another task with `{trigger: …}`",
				"the task has no time: neither cron nor every is given")
		}
	}
	search := chainSearch{loader: l, tasks: tasks, seen: map[*schedule.Task]bool{}}
	for _, t := range l.schedule.Tasks {
		search.visit(t)
	}
}

// warnOfSkippedTrigger warns if the task t is switched off, or is not for this server, so that each
// slot that the trigger asks for is recorded as skipped. A triggered task starts on the server on
// which its trigger ran. The task source has the trigger; it is nil if several tasks inherit it.
func warnOfSkippedTrigger(l *loader, trigger mention, t, source *schedule.Task) {
	switch {
	case !t.Enabled:
		l.WarnAt(trigger.place, trigger.task, "switch it on, or take the trigger away",
			"%strigger: %s is switched off, so it is skipped each time", trigger.section, t.Name)
	case !l.schedule.Here(t) && source != nil && l.schedule.Active(source):
		l.WarnAt(trigger.place, trigger.task,
			"give both the same `servers`: a task is started where the one before it ran",
			"%strigger: %s is %s; so it is skipped each time that %s ends here",
			trigger.section, t.Name, l.schedule.Inactive(t), trigger.task)
	}
}

// nearestTaskHint returns the hint for the name of a task that does not exist.
func nearestTaskHint(l *loader, name string) string {
	var names []string
	for _, t := range l.schedule.Tasks {
		names = append(names, t.Name)
	}
	if near := l.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "name a task of this schedule"
}

// A chainSearch follows the triggers of tasks, each task once. It refuses chains without an end,
// each once, at the trigger that closes it.
type chainSearch struct {
	loader *loader
	tasks  map[string]*schedule.Task
	seen   map[*schedule.Task]bool
	path   []schedule.Trigger // from the first task of the chain to the task that is visited
}

// visit follows the triggers of a task, and refuses a chain that leads back to it.
func (s *chainSearch) visit(t *schedule.Task) {
	comesFromTask := func(trigger schedule.Trigger) bool { return trigger.From == t.Name }
	if start := slices.IndexFunc(s.path, comesFromTask); start >= 0 {
		s.refuse(s.path[start:])
		return
	}
	if s.seen[t] {
		return
	}
	s.seen[t] = true
	for _, trigger := range t.Triggers() {
		if next := s.tasks[trigger.Task]; next != nil {
			s.path = append(s.path, trigger)
			s.visit(next)
			s.path = s.path[:len(s.path)-1]
		}
	}
}

// refuse refuses a chain whose last trigger starts the first task of the chain.
func (s *chainSearch) refuse(chain []schedule.Trigger) {
	last := chain[len(chain)-1]
	var b strings.Builder
	b.WriteString(chain[0].From)
	for _, trigger := range chain {
		fmt.Fprintf(&b, " → %s (%s at %s)", trigger.Task, trigger.Key, trigger.Place)
	}
	s.loader.problemOf(mention{place: last.Place, task: last.From, entry: s.tasks[last.From]},
		"take one of these triggers away; where it is inherited, `"+last.Key+": false` does",
		"trigger: a chain without an end: %s", b.String())
}
