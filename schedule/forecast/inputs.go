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
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

// IfUnknown is how long a run of a task is taken to last if the history has no successful run of
// the task.
const IfUnknown = time.Second

// Longest is how long a forecast may be: a month.
const Longest = 31 * 24 * time.Hour

// The years whose instants can be counted in nanoseconds since 1970.
const firstYear, lastYear = 1970, 2261

// CheckSpan returns what is wrong with a span of time that is to be foreseen.
func CheckSpan(from time.Time, span time.Duration) error {
	switch {
	case from.Year() < firstYear || from.Year() > lastYear:
		hint := fmt.Sprintf("ask for a time from %d to %d", firstYear, lastYear)
		return view.Fail(view.Invalid, hint, "the year %d cannot be foreseen", from.Year())
	case span < time.Minute:
		words := humanize.DurationPrecise(max(span, 0))
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too short for a forecast", words)
	case span > Longest:
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too long for a forecast", humanize.Duration(span))
	}
	return nil
}

// Inputs are the input of a simulation, with what the state folder says about it.
type Inputs struct {
	Input
	Notes      []Note
	took       map[string]state.Cost
	maintained bool
}

// Read completes an input that has the schedule, the span and the servers. It adds the pauses, and
// how long the runs of each task took. If the history cannot be read, Read tells the source, and
// nothing is known about durations.
func Read(ctx context.Context, source view.Source, input Input) *Inputs {
	in := &Inputs{Input: input}
	in.readControls(source)
	in.readHistory(ctx, source)
	return in.Of(input.Schedule)
}

func (in *Inputs) readControls(source view.Source) {
	in.Pauses = source.Pauses()
	in.maintained = source.Maintenance() != ""
}

// readHistory reads how long runs took. The source has been told the error that it returns.
func (in *Inputs) readHistory(ctx context.Context, source view.Source) error {
	records, err := source.Records(ctx)
	if err == nil {
		defer records.Close()
		in.took, err = records.Costs(ctx)
	}
	if err != nil {
		source.Problem("the history cannot be read: %v", err)
	}
	return err
}

// Of returns the inputs for a schedule: the span, the pauses and the history are the same.
func (in *Inputs) Of(s *schedule.Schedule) *Inputs {
	other := *in
	other.Schedule, other.Loads, other.Notes = s, map[string]Load{}, nil
	for _, t := range s.Tasks {
		other.Loads[t.Name] = loadOf(t, in.took[t.Name])
	}
	other.note()
	return &other
}

// loadOf returns the load of a run of a task, from the loads of its past runs. The timeouts of the
// task bound the duration.
func loadOf(t *schedule.Task, took state.Cost) Load {
	load := Load{Took: IfUnknown}
	if took.Runs > 0 {
		load = Load{Runs: took.Runs, Took: took.Median, CPU: took.CPU, Memory: took.Memory}
	}
	if longest := longestRun(t); longest > 0 {
		load.Took = min(load.Took, longest)
	}
	return load
}

// longestRun is how long a run of a task may last until a timeout ends its last attempt; 0 if the
// task has no timeout.
func longestRun(t *schedule.Task) (longest time.Duration) {
	if t.Timeout == 0 {
		return 0
	}
	for attempt := 1; attempt <= max(t.Retry.Attempts, 1); attempt++ {
		if longest += t.Timeout; attempt < t.Retry.Attempts {
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

const mostNamed = 5

// add adds a note without a hint.
func (in *Inputs) add(kind, format string, args ...any) {
	in.Notes = append(in.Notes, Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (in *Inputs) note() {
	s := in.Schedule
	var unknown, stale, asking []string
	for t := range s.ActiveTasks() {
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
	if len(unknown) > 0 {
		in.add("unknown", "%s no successful run on record, so 1 s is assumed for each: %s",
			tasks(unknown, "has", "have"), humanize.Names(unknown, mostNamed))
	}
	in.noteRenamed(unknown)
	if len(stale) > 0 {
		in.add("other times", "%s due at other times when the history was made (cron, every or timezone changed): "+
			"what runs took is of then: %s",
			tasks(stale, "was", "were"), humanize.Names(stale, mostNamed))
	}
	if len(asking) > 0 {
		taken := "are"
		if len(asking) == 1 {
			taken = "is"
		}
		in.add("conditions", "%s when or skip, which %s taken to let every run start: %s",
			tasks(asking, "has", "have"), taken, humanize.Names(asking, mostNamed))
	}
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
			cost := in.took[old]
			var former schedule.Task
			if _, err := view.FindTask(in.Schedule, old); err == nil || cost.Runs == 0 {
				continue
			}
			if json.Unmarshal(cost.Snapshot, &former) != nil {
				continue
			}
			if view.CommandText(former.Command) == view.CommandText(task.Command) {
				in.add("renamed", "%s has the command of %s, which is in the history (%s, usually %s) "+
					"and not in the schedule",
					name, old, humanize.Count(cost.Runs, "run"), humanize.Duration(cost.Median))
			}
		}
	}
}

// noteControls notes pauses and a maintenance without a known end: the simulation ignores them.
func (in *Inputs) noteControls() {
	if in.maintained {
		in.add("maintenance", "there is maintenance now, and its end is not known: it does not count")
	}
	if everything, ok := in.Pauses.InEffect(pause.Everything, in.From); ok && everything.Until.IsZero() {
		in.Notes = append(in.Notes, Note{
			Kind: "paused",
			Text: "everything is paused without an end: that does not count",
			Hint: "sched resume",
		})
	}
	var endless []string
	for _, name := range in.Pauses.Tasks(in.From) {
		if in.Pauses.Last(name).InEffect(in.From) && in.Pauses.Last(name).Until.IsZero() {
			endless = append(endless, name)
		}
	}
	if len(endless) > 0 {
		in.Notes = append(in.Notes, Note{
			Kind: "paused",
			Text: "paused without an end, which does not count: " + humanize.Names(endless, mostNamed),
			Hint: "sched resume " + endless[0],
		})
	}
}

// tasks counts the tasks, with the singular or the plural of a verb.
func tasks(names []string, singular, plural string) string {
	verb := plural
	if len(names) == 1 {
		verb = singular
	}
	return humanize.Count(len(names), "task") + " " + verb
}

// A Cache makes reports, for one goroutine. It keeps the last one until the schedule, the tasks
// that this machine runs, the pauses or the hour changes. The zero Cache has nothing yet.
type Cache struct {
	made string // the id of the inputs of the last report; "" for none
	last Report
}

// Report returns the report of a span, as if one server ticked. The error comes from the context or
// from CheckSpan.
func (c *Cache) Report(ctx context.Context, source view.Source, from time.Time, span time.Duration) (Report, error) {
	if err := CheckSpan(from, span); err != nil {
		return Report{}, err
	}
	in := &Inputs{Input: Input{Schedule: source.Schedule, From: from, To: from.Add(span), Servers: 1, Done: ctx.Done()}}
	in.readControls(source)
	id := in.id(source.Now())
	if id == c.made {
		return c.last, nil
	}
	historyErr := in.readHistory(ctx, source)
	r := Foresee(in.Of(source.Schedule))
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r.Done = nil // nothing of the request is kept
	if historyErr == nil {
		c.made, c.last = id, r
	}
	return r, nil
}

// id tells reports apart: by the schedule, by the tasks of it that run, by the span and by the
// pauses. It also tells hours apart, because runs of the last hour may have changed the durations.
func (in *Inputs) id(now time.Time) string {
	s := in.Schedule
	pauses, _ := json.Marshal(in.Pauses)
	return fmt.Sprintf("%s %q %q %d %d %d %t %s", s.Digest, s.Environment, s.Machine,
		now.Unix()/3600, in.From.UnixNano(), in.To.UnixNano(), in.maintained, pauses)
}
