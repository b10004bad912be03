package forecast

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
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
		return view.Fail(view.Invalid, fmt.Sprintf("ask for a time from %d to %d", firstYear, lastYear), "the year %d cannot be foreseen", from.Year())
	case span < time.Minute:
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too short for a forecast", humanize.DurationPrecise(max(span, 0)))
	case span > Longest:
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too long for a forecast", humanize.Duration(span))
	}
	return nil
}

// Inputs are the input of a simulation, with what the state folder says about it.
type Inputs struct {
	Input
	Notes      []Note
	took       map[string]state.Took
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
		in.took, err = records.Took(ctx)
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
func loadOf(t *schedule.Task, took state.Took) Load {
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
