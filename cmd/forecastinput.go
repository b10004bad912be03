package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/forecast"
	"sched/schedule/history"
	"sched/schedule/text"
	"sched/schedule/view"
)

// assumed is what a run is taken to last of which nothing is known.
const assumed = time.Second

// longestForecast is how long a forecast may be: a month.
const longestForecast = 31 * 24 * time.Hour

// longestSlots is for how long each slot has a line.
const longestSlots = 24 * time.Hour

// Where the duration of a task comes from.
const (
	fromHistory = "history"
	fromFlag    = "assumed"
	fromNothing = "unknown"
)

// A duration is what a run of a task takes, and how that is known.
type duration struct {
	known       string // fromHistory, fromFlag or fromNothing
	runs        int    // on which it rests
	usual, slow time.Duration
	cpu         time.Duration // of a usual run
	memory      int64
}

// forecastInputs are what a forecast is made of.
type forecastInputs struct {
	forecast.Input
	slow       bool // take every run for a slow one
	durations  map[string]duration
	took       map[string]history.Took
	notes      []note
	maintained bool
}

// A note is what a reader of a forecast has to know.
type note struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// inputs reads what a forecast of the schedule goes by.
func (a forecastCommand) inputs(s *schedule.Schedule, o forecastOptions) (*forecastInputs, error) {
	from := a.now()
	if o.from != "" {
		var err error
		if from, err = a.parseTime("from", o.from, s.Location); err != nil {
			return nil, err
		}
	}
	return a.inputsFrom(s, from, o)
}

// inputsFrom is inputs from a time on.
func (a forecastCommand) inputsFrom(s *schedule.Schedule, from time.Time, o forecastOptions) (*forecastInputs, error) {
	in := &forecastInputs{slow: o.slow, Input: forecast.Input{Schedule: s, From: from, Servers: o.servers}}
	if o.servers > 1 && len(s.Store.Servers) == 0 {
		return nil, usage("each of them does all of it: forecast one, or give the schedule a store",
			"--servers %d: servers without a store know nothing of each other", o.servers)
	}
	span, err := schedule.ParseDuration(o.span)
	switch {
	case err != nil:
		return nil, usage("write it as 12h or 7d", "%q is not a duration", o.span)
	case span < time.Minute || span > longestForecast:
		return nil, usage("ask for 1m to 31d", "%s is too %s for a forecast", o.span, map[bool]string{true: "short", false: "long"}[span < time.Minute])
	case o.slots && span > longestSlots:
		return nil, usage("ask for 24h, or leave --slots out", "%s is too long for a line a slot", o.span)
	}
	in.To = in.From.Add(span)
	source := a.view(s)
	in.Pauses = source.Pauses()
	in.maintained = source.Maintenance() != ""
	in.took = a.took(source)
	assume, err := assumptions(s, o)
	if err != nil {
		return nil, err
	}
	in.assume(assume)
	return in, nil
}

// took reads what runs took. Without a history nothing is known, which the notes say.
func (a forecastCommand) took(source view.Source) map[string]history.Took {
	records, err := source.Records(ctx)
	if err != nil {
		a.problem("the history cannot be read: %v", err)
		return nil
	}
	defer records.Close()
	took, err := records.Took(ctx)
	if err != nil {
		a.problem("the history cannot be read: %v", err)
	}
	return took
}

// assumptions reads the values of --assume. With --compare a task may be one of the other schedule.
func assumptions(s *schedule.Schedule, o forecastOptions) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, one := range o.assume {
		name, value, ok := strings.Cut(one, "=")
		d, err := schedule.ParseDuration(value)
		switch {
		case !ok || name == "":
			return nil, usage("write it as --assume task=20m", "--assume %q is not a task and a duration", one)
		case err != nil || d < 0:
			return nil, usage("write it as --assume "+name+"=20m", "--assume %s: %q is not a duration", one, value)
		}
		if _, err := view.FindTask(s, name); err != nil && o.compare == "" {
			return nil, err
		}
		all[name] = d
	}
	return all, nil
}

// assume fills in how long runs take.
func (in *forecastInputs) assume(assumed map[string]time.Duration) {
	in.durations = map[string]duration{}
	for _, t := range in.Schedule.Tasks {
		d, was := assumed[t.Name]
		in.durations[t.Name] = durationOf(t, in.took[t.Name], d, was)
	}
	for name, d := range assumed { // of another schedule that is compared
		if _, known := in.durations[name]; !known {
			in.durations[name] = duration{known: fromFlag, usual: d, slow: d}
		}
	}
	in.Loads = in.loads(in.slow)
	in.note()
}

// durationOf returns how long a run of a task takes: as long as is assumed, or as its runs took.
func durationOf(t *schedule.Task, took history.Took, assume time.Duration, isAssumed bool) duration {
	d := duration{known: fromNothing, usual: assumed, slow: assumed}
	switch {
	case isAssumed:
		d = duration{known: fromFlag, usual: assume, slow: assume}
	case took.Runs > 0:
		d = duration{known: fromHistory, runs: took.Runs, usual: took.Median, slow: took.P95, cpu: took.CPU, memory: took.Memory}
	}
	if longest := longestRun(t); longest > 0 {
		d.usual, d.slow = min(d.usual, longest), min(d.slow, longest)
	}
	return d
}

// longestRun is when the timeouts of a task end its last attempt; 0 where it has none.
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

// loads are what the simulation takes for the runs of each task.
func (in *forecastInputs) loads(slow bool) map[string]forecast.Load {
	loads := map[string]forecast.Load{}
	for name, d := range in.durations {
		load := forecast.Load{Took: d.usual, CPU: d.cpu, Memory: d.memory}
		if slow {
			load.Took = d.slow
			if d.usual > 0 { // as busy as a usual run, for longer
				load.CPU = time.Duration(float64(d.cpu) * float64(d.slow) / float64(d.usual))
			}
		}
		loads[name] = load
	}
	return loads
}

// of are the inputs for another schedule of the same time.
func (in *forecastInputs) of(s *schedule.Schedule) *forecastInputs {
	other := *in
	other.Schedule, other.notes = s, nil
	durations := map[string]duration{}
	for _, t := range s.Tasks {
		d, known := in.durations[t.Name]
		if !known || d.known != fromFlag {
			d = durationOf(t, in.took[t.Name], 0, false)
		}
		durations[t.Name] = d
	}
	other.durations = durations
	other.Loads = other.loads(in.slow)
	other.note()
	return &other
}

// note notes what a reader has to know of what the forecast goes by.
func (in *forecastInputs) note() {
	s := in.Schedule
	var unknown, stale, asking []string
	for _, t := range s.Tasks {
		if !s.Active(t) {
			continue
		}
		took := in.took[t.Name]
		if in.durations[t.Name].known == fromNothing {
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
			in.notes = append(in.notes, note{kind, fmt.Sprintf(format, args...), hint})
		}
	}
	add(unknown, "unknown", "say how long with --assume "+first(unknown)+"=20m", "%s no successful run on record, so 1 s is assumed for each: %s",
		having(unknown), few(unknown))
	in.noteRenamed(unknown)
	add(stale, "other times", "", "%s due at other times when the history was made (cron, every or timezone changed): what runs took is of then: %s",
		being(stale), few(stale))
	add(asking, "conditions", "", "%s when or skip, which %s taken to let every run start: %s", having(asking), map[bool]string{true: "is", false: "are"}[len(asking) == 1], few(asking))
	in.noteControls()
}

// noteRenamed notes tasks that the history has and the schedule has not, with the command of one whose duration is unknown: whether
// that is the same task under another name only people know.
func (in *forecastInputs) noteRenamed(unknown []string) {
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
				in.notes = append(in.notes, note{"renamed", fmt.Sprintf("%s has the command of %s, which is in the history (%s, usually %s) and not in the schedule",
					name, old, text.Count(took.Runs, "run"), text.Duration(took.Median)), fmt.Sprintf("if it was renamed, say --assume %s=%s", name, took.Median.Round(time.Millisecond))})
			}
		}
	}
}

// noteControls notes pauses and a maintenance whose end nobody knows: they do not count.
func (in *forecastInputs) noteControls() {
	if in.maintained {
		in.notes = append(in.notes, note{"maintenance", "there is maintenance now, and its end is not known: it does not count", ""})
	}
	if all := in.Pauses[controls.Everything]; all.InEffect(in.From) && all.Until.IsZero() {
		in.notes = append(in.notes, note{"paused", "everything is paused without an end: that does not count", "sched resume"})
	}
	var endless []string
	for _, name := range in.Pauses.Tasks(in.From) {
		if in.Pauses[name].Until.IsZero() {
			endless = append(endless, name)
		}
	}
	if len(endless) > 0 {
		in.notes = append(in.notes, note{"paused", "paused without an end, which does not count: " + few(endless), "sched resume " + endless[0]})
	}
}

// few names some of the names.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
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
