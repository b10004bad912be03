package forecast

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/view"
)

// DefaultDuration is how long a run of a task is taken to last if the history has no successful run
// of the task.
const DefaultDuration = time.Second

// MaxSpan is how long a forecast may be: a month.
const MaxSpan = 31 * 24 * time.Hour

// A Basis is the input of a simulation, with what the state folder says about it.
type Basis struct {
	Input
	Notes         []Note
	costs         map[string]past.Cost // of past runs, by the name of the task
	inMaintenance bool
}

// ReadBasis completes an input that has the schedule, the span and the servers. It adds the pauses,
// and how long the runs of each task took. If the history cannot be read, ReadBasis tells the
// source, and nothing is known about durations.
func ReadBasis(ctx context.Context, source view.Source, input Input) *Basis {
	b := &Basis{Input: input}
	b.readControls(source)
	b.readHistory(ctx, source)
	return b.WithSchedule(input.Schedule)
}

func (b *Basis) readControls(source view.Source) {
	b.Pauses = source.Pauses()
	b.inMaintenance = source.Maintenance() != ""
}

// readHistory reads how long runs took. The source has been told the error that it returns.
func (b *Basis) readHistory(ctx context.Context, source view.Source) error {
	records, err := source.Records(ctx)
	if err == nil {
		defer records.Close()
		b.costs, err = records.Costs(ctx)
	}
	if err != nil {
		source.Problem("the history cannot be read: %v", err)
	}
	return err
}

// WithSchedule returns the basis for another schedule: the span, the pauses and the history are the
// same.
func (b *Basis) WithSchedule(s *schedule.Schedule) *Basis {
	other := *b
	other.Schedule, other.Loads, other.Notes = s, map[string]Load{}, nil
	for _, t := range s.Tasks {
		other.Loads[t.Name] = loadOf(t, b.costs[t.Name])
	}
	other.addNotes()
	return &other
}

// loadOf returns the load of a run of a task, from the costs of its past runs. The timeouts of the
// task bound the duration.
func loadOf(t *schedule.Task, cost past.Cost) Load {
	load := Load{Took: DefaultDuration}
	if cost.Runs > 0 {
		load = Load{Runs: cost.Runs, Took: cost.Median, CPU: cost.CPU, Memory: cost.Memory}
	}
	if longest := longestRun(t); longest > 0 {
		load.Took = min(load.Took, longest)
	}
	return load
}

// longestRun is how long a run of a task may last until a timeout ends its last attempt; 0 if the
// task has no timeout. It counts no jitter and no kill_after, which Task.Longest counts: a forecast
// takes the usual case.
func longestRun(t *schedule.Task) (longest time.Duration) {
	if t.Timeout == 0 {
		return 0
	}
	for attempt := 1; attempt <= max(t.Retry.Attempts, 1); attempt++ {
		longest += t.Timeout
		if attempt < t.Retry.Attempts {
			longest += t.Retry.Wait(attempt)
		}
	}
	return longest
}

// A Note is what a reader of a forecast has to know.
type Note struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

const maxNamed = 5 // tasks in a note

// addNote adds a note without a hint.
func (b *Basis) addNote(kind, format string, args ...any) {
	b.Notes = append(b.Notes, Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// addNotes adds what the reader of a forecast has to know.
func (b *Basis) addNotes() {
	var unknown, stale, conditional []string
	for t := range b.Schedule.ActiveTasks() {
		slot := b.costs[t.Name].Slot
		if b.Loads[t.Name].Runs == 0 {
			unknown = append(unknown, t.Name)
		}
		if !slot.IsZero() && !slices.ContainsFunc(t.When.Slots(slot), slot.Equal) {
			stale = append(stale, t.Name)
		}
		if len(t.ConditionCommands) > 0 {
			conditional = append(conditional, t.Name)
		}
	}
	b.addTasksNote("unknown", unknown, "has", "have", "no successful run on record, so 1 s is assumed for each")
	b.addRenamedNotes(unknown)
	b.addTasksNote("other times", stale, "was", "were", "due at other times when the history was made "+
		"(cron, every or timezone changed): what runs took is of then")
	verb := "are"
	if len(conditional) == 1 {
		verb = "is"
	}
	b.addTasksNote("conditions", conditional, "has", "have",
		"when or skip, which "+verb+" taken to let every run start")
	b.addControlsNotes()
}

// addTasksNote adds a note about tasks, if there are any: how many they are, a verb, what holds of
// them, and their names.
func (b *Basis) addTasksNote(kind string, names []string, singular, plural, text string) {
	verb := plural
	if len(names) == 1 {
		verb = singular
	}
	if len(names) > 0 {
		b.addNote(kind, "%s %s %s: %s",
			humanize.Count(len(names), "task"), verb, text, humanize.Names(names, maxNamed))
	}
}

// addRenamedNotes notes tasks that only the history has, if a task of unknown duration has their
// command. Only people know whether that is the same task under another name.
func (b *Basis) addRenamedNotes(unknown []string) {
	for _, name := range unknown {
		task, err := view.FindTask(b.Schedule, name)
		if err != nil {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(b.costs)) {
			cost := b.costs[old]
			var former schedule.Task
			if _, err := view.FindTask(b.Schedule, old); err == nil || cost.Runs == 0 {
				continue
			}
			if json.Unmarshal(cost.Snapshot, &former) != nil {
				continue
			}
			if view.CommandText(former.Command) == view.CommandText(task.Command) {
				b.addNote("renamed", "%s has the command of %s, which is in the history (%s, usually %s) "+
					"and not in the schedule",
					name, old, humanize.Count(cost.Runs, "run"), humanize.Duration(cost.Median))
			}
		}
	}
}

// addControlsNotes notes pauses and a maintenance without a known end: the simulation ignores them.
func (b *Basis) addControlsNotes() {
	if b.inMaintenance {
		b.addNote("maintenance", "there is maintenance now, and its end is not known: it does not count")
	}
	if everything, ok := b.Pauses.InEffect(pause.Everything, b.From); ok && everything.Until.IsZero() {
		b.Notes = append(b.Notes, Note{
			Kind: "paused",
			Text: "everything is paused without an end: that does not count",
			Hint: "sched resume",
		})
	}
	var endless []string
	for _, name := range b.Pauses.Tasks(b.From) {
		if b.Pauses.Last(name).InEffect(b.From) && b.Pauses.Last(name).Until.IsZero() {
			endless = append(endless, name)
		}
	}
	if len(endless) > 0 {
		b.Notes = append(b.Notes, Note{
			Kind: "paused",
			Text: "paused without an end, which does not count: " + humanize.Names(endless, maxNamed),
			Hint: "sched resume " + endless[0],
		})
	}
}

// id tells reports apart: by the schedule, by the tasks of it that run, by the span and by the
// pauses. It also tells hours apart, because runs of the last hour may have changed the durations.
func (b *Basis) id(now time.Time) string {
	s := b.Schedule
	pauses, _ := json.Marshal(b.Pauses)
	return fmt.Sprintf("%s %q %q %d %d %d %t %s", s.Digest, s.Environment, s.Machine,
		now.Unix()/3600, b.From.UnixNano(), b.To.UnixNano(), b.inMaintenance, pauses)
}
