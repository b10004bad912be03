package forecast

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/view"
)

// A Note is what a reader of a forecast has to know.
type Note struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

const mostNamed = 5

func (in *Inputs) note() {
	s := in.Schedule
	var unknown, stale, asking []string
	for _, t := range s.Tasks {
		if !s.Active(t) {
			continue
		}
		took := in.took[t.Name]
		if in.Loads[t.Name].Runs == 0 {
			unknown = append(unknown, t.Name)
		}
		if !took.Slot.IsZero() && !slices.ContainsFunc(t.When.Slots(took.Slot), took.Slot.Equal) {
			stale = append(stale, t.Name)
		}
		if len(t.ConditionCommands) > 0 {
			asking = append(asking, t.Name)
		}
	}
	add := func(names []string, kind, hint, format string, args ...any) {
		if len(names) > 0 {
			in.Notes = append(in.Notes, Note{kind, fmt.Sprintf(format, args...), hint})
		}
	}
	add(unknown, "unknown", "", "%s no successful run on record, so 1 s is assumed for each: %s",
		having(unknown), humanize.Names(unknown, mostNamed))
	in.noteRenamed(unknown)
	add(stale, "other times", "", "%s due at other times when the history was made (cron, every or timezone changed): what runs took is of then: %s",
		being(stale), humanize.Names(stale, mostNamed))
	add(asking, "conditions", "", "%s when or skip, which %s taken to let every run start: %s", having(asking), map[bool]string{true: "is", false: "are"}[len(asking) == 1], humanize.Names(asking, mostNamed))
	in.noteControls()
}

// noteRenamed notes tasks that only the history has, if a task of unknown duration has their
// command. Only people know whether that is the same task under another name.
func (in *Inputs) noteRenamed(unknown []string) {
	for _, name := range unknown {
		task, err := view.FindTask(in.Schedule, name)
		if err != nil {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(in.took)) {
			took := in.took[old]
			var was schedule.Task
			if _, err := view.FindTask(in.Schedule, old); err == nil || took.Runs == 0 || json.Unmarshal(took.Snapshot, &was) != nil {
				continue
			}
			if view.CommandText(was.Command) == view.CommandText(task.Command) {
				in.Notes = append(in.Notes, Note{"renamed", fmt.Sprintf("%s has the command of %s, which is in the history (%s, usually %s) and not in the schedule",
					name, old, humanize.Count(took.Runs, "run"), humanize.Duration(took.Median)), ""})
			}
		}
	}
}

// noteControls notes pauses and a maintenance without a known end: the simulation ignores them.
func (in *Inputs) noteControls() {
	if in.maintained {
		in.Notes = append(in.Notes, Note{"maintenance", "there is maintenance now, and its end is not known: it does not count", ""})
	}
	if all := in.Pauses[pause.Everything]; all.InEffect(in.From) && all.Until.IsZero() {
		in.Notes = append(in.Notes, Note{"paused", "everything is paused without an end: that does not count", "sched resume"})
	}
	var endless []string
	for _, name := range in.Pauses.Tasks(in.From) {
		if in.Pauses[name].Until.IsZero() {
			endless = append(endless, name)
		}
	}
	if len(endless) > 0 {
		in.Notes = append(in.Notes, Note{"paused", "paused without an end, which does not count: " + humanize.Names(endless, mostNamed), "sched resume " + endless[0]})
	}
}

func having(names []string) string {
	if len(names) == 1 {
		return "1 task has"
	}
	return fmt.Sprintf("%d tasks have", len(names))
}

func being(names []string) string {
	if len(names) == 1 {
		return "1 task was"
	}
	return fmt.Sprintf("%d tasks were", len(names))
}
