package report

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/history"
	"sched/schedule/text"
	"sched/schedule/view"
)

// IfUnknown is what a run is taken to last of which nothing is known.
const IfUnknown = time.Second

// Longest is how long a forecast may be: a month.
const Longest = 31 * 24 * time.Hour

// The years of which instants can be counted in nanoseconds since 1970.
const firstYear, lastYear = 1970, 2261

// CheckSpan returns what is wrong with a span of time that is to be foreseen.
func CheckSpan(from time.Time, span time.Duration) error {
	switch {
	case from.Year() < firstYear || from.Year() > lastYear:
		return view.Fail(view.Invalid, fmt.Sprintf("ask for a time from %d to %d", firstYear, lastYear), "the year %d cannot be foreseen", from.Year())
	case span < time.Minute:
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too short for a forecast", text.DurationPrecise(max(span, 0)))
	case span > Longest:
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too long for a forecast", text.Duration(span))
	}
	return nil
}

// Where the duration of a task comes from.
const (
	FromHistory = "history"
	Assumed     = "assumed"
	Unknown     = "unknown"
)

// A Duration is what a run of a task takes, and how that is known.
type Duration struct {
	Known       string // FromHistory, Assumed or Unknown
	Runs        int    // on which it rests
	Usual, Slow time.Duration
	CPU         time.Duration // of a usual run
	Memory      int64
}

// Inputs are what a forecast is made of.
type Inputs struct {
	forecast.Input
	Slow       bool // take every run for a slow one
	Durations  map[string]Duration
	Notes      []Note
	took       map[string]history.Took
	maintained bool
}

// Read reads what a forecast of a span goes by, of which the input has the schedule and the servers. Where the history cannot be read
// the source is told so, and nothing is known of durations. Assume comes next.
func Read(ctx context.Context, source view.Source, input forecast.Input, slow bool) *Inputs {
	in := &Inputs{Input: input, Slow: slow}
	in.readControls(source)
	in.readHistory(ctx, source)
	return in
}

func (in *Inputs) readControls(source view.Source) {
	in.Pauses = source.Pauses()
	in.maintained = source.Maintenance() != ""
}

// readHistory returns the error that it has told.
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

// Assume fills in how long runs take: as long as is assumed, or as their history says. It comes once, before anything is foreseen.
func (in *Inputs) Assume(assumed map[string]time.Duration) {
	in.Durations = map[string]Duration{}
	for _, t := range in.Schedule.Tasks {
		d, was := assumed[t.Name]
		in.Durations[t.Name] = durationOf(t, in.took[t.Name], d, was)
	}
	for name, d := range assumed { // of another schedule that is compared
		if _, known := in.Durations[name]; !known {
			in.Durations[name] = Duration{Known: Assumed, Usual: d, Slow: d}
		}
	}
	in.Loads = in.loads(in.Slow)
	in.note()
}

// durationOf returns how long a run of a task takes: as long as is assumed, or as its runs took.
func durationOf(t *schedule.Task, took history.Took, assume time.Duration, isAssumed bool) Duration {
	d := Duration{Known: Unknown, Usual: IfUnknown, Slow: IfUnknown}
	switch {
	case isAssumed:
		d = Duration{Known: Assumed, Usual: assume, Slow: assume}
	case took.Runs > 0:
		d = Duration{Known: FromHistory, Runs: took.Runs, Usual: took.Median, Slow: took.P95, CPU: took.CPU, Memory: took.Memory}
	}
	if longest := longestRun(t); longest > 0 {
		d.Usual, d.Slow = min(d.Usual, longest), min(d.Slow, longest)
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
func (in *Inputs) loads(slow bool) map[string]forecast.Load {
	loads := map[string]forecast.Load{}
	for name, d := range in.Durations {
		load := forecast.Load{Took: d.Usual, CPU: d.CPU, Memory: d.Memory}
		if slow {
			load.Took = d.Slow
			if d.Usual > 0 { // as busy as a usual run, for longer
				load.CPU = time.Duration(float64(d.CPU) * float64(d.Slow) / float64(d.Usual))
			}
		}
		loads[name] = load
	}
	return loads
}

// Of are the inputs for another schedule of the same time.
func (in *Inputs) Of(s *schedule.Schedule) *Inputs {
	other := *in
	other.Schedule, other.Notes = s, nil
	durations := map[string]Duration{}
	for _, t := range s.Tasks {
		d, known := in.Durations[t.Name]
		if !known || d.Known != Assumed {
			d = durationOf(t, in.took[t.Name], 0, false)
		}
		durations[t.Name] = d
	}
	other.Durations = durations
	other.Loads = other.loads(in.Slow)
	other.note()
	return &other
}
