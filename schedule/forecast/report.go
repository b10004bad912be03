// Package forecast foresees what a schedule will do: when it is crowded, what starts late, what is
// skipped.
//
// Simulate goes through a span of time tick by tick. Package schedule says what is due and what
// starts, as for a real tick. The simulation adds only the clock and how long runs take. Read
// makes the Basis of a forecast. A Report has the sums, in words and as JSON.
//
// Condition commands are taken to allow every run, runs to succeed, and ticks to come on time.
package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// A Report is a forecast: the sums of a simulation, with its basis.
type Report struct {
	*Basis
	*Sums
}

// Foresee simulates the input. If it is done before the end, the report is worth nothing.
func Foresee(b *Basis) Report { return Report{b, Sum(b.Input)} }

// A Line is one thing that is added up, and its sum in words.
type Line struct {
	Name, Words string
	At          time.Time // of a peak; zero for a sum of the whole span
}

// Lines returns a line for each thing that is added up.
func (r Report) Lines() (lines []Line) {
	add := func(name, words string) { lines = append(lines, Line{Name: name, Words: words}) }
	peak := func(name, words string, p Peak) {
		lines = append(lines, Line{name, words + " at most, " + DayAndTime(p.At, r.Schedule.Location), p.At})
	}
	if r.Peak.Most > 0 {
		peak("at once", humanize.Count(int(r.Peak.Most), "run"), r.Peak)
	}
	if r.CPU.Most >= 50 { // less would be 0.0
		peak("CPU", fmt.Sprintf("%.1f processors", float64(r.CPU.Most)/1000), r.CPU)
	}
	if r.Memory.Most > 0 {
		peak("memory", humanize.Bytes(r.Memory.Most), r.Memory)
	}
	if len(r.Crowded) > 0 {
		lines = append(lines, Line{"crowded", r.crowdedText(), r.Crowded[0].At})
	}
	add("late", fmt.Sprintf("%s by more than %s", humanize.Count(r.LateRuns(), "start"), humanize.Duration(LateAfter)))
	add("skipped", skippedText(r.Sums))
	add("durations", r.durationsText())
	return lines
}

func (r Report) crowdedText() string {
	var words []string
	for _, minute := range r.Crowded[:min(3, len(r.Crowded))] {
		at := minute.At.In(r.Schedule.Location).Format("Mon 15:04")
		words = append(words, at+" with "+humanize.Count(minute.Starts, "start"))
	}
	return strings.Join(words, ", ")
}

// skippedText says what is skipped, trouble first.
func skippedText(s *Sums) string {
	words := humanize.Count(s.SkipsOf(Overlap), "slot") + " for overlap"
	for _, skip := range []struct {
		kind   Skip
		reason string
	}{
		{Full, "since a pool is full"}, {TooLate, "too late"}, {Paused, "paused"},
		{Unmet, "by days, between, calendars"},
	} {
		if n := s.SkipsOf(skip.kind); n > 0 {
			words += fmt.Sprintf(", %d %s", n, skip.reason)
		}
	}
	return words
}

// durationsText says of how many tasks the durations are known, and from how many runs.
func (r Report) durationsText() string {
	var counts []int // of runs, of the tasks that have any
	for _, t := range r.Tasks {
		if runs := r.Loads[t.Name].Runs; runs > 0 {
			counts = append(counts, runs)
		}
	}
	var words []string
	if len(counts) > 0 {
		least, most := slices.Min(counts), slices.Max(counts)
		runs := fmt.Sprintf("%d to %d runs each", least, most)
		if least == most {
			runs = humanize.Count(least, "run") + " each"
		}
		tasks := humanize.Count(len(counts), "task")
		words = append(words, "of "+tasks+" from their history, the median of "+runs)
	}
	if unknown := len(r.Tasks) - len(counts); unknown > 0 {
		words = append(words, fmt.Sprintf("of %d unknown", unknown))
	}
	return strings.Join(words, "; ")
}

// Behind says for which other run the MostLate run of a task waits; "" if it waits for no run.
func (r Report) Behind(t Task) string {
	by := t.MostLate.By
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s, which takes %s", by.Name, humanize.Duration(r.Loads[by.Name].Took))
}

// SkipReason says why the FirstTroubleSkip of a task is skipped.
func (r Report) SkipReason(t Task) string {
	switch by := t.FirstTroubleSkip.By; t.FirstTroubleSkip.Skip {
	case Overlap:
		return fmt.Sprintf("%s still runs, which takes %s", by.Name, humanize.Duration(r.Loads[by.Name].Took))
	case Full:
		return fmt.Sprintf("pool %s is full, with %s in it, which takes %s",
			t.Pool.Name, by.Name, humanize.Duration(r.Loads[by.Name].Took))
	}
	return t.FirstTroubleSkip.Reason
}

// DayAndTime writes a time of the days to come: "Tue 2026-11-24 00:00 CET".
func DayAndTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon ") + humanize.SlotZone(t.Truncate(time.Second), zone)
}

// A Forecast is a forecast as --json prints it and the API answers it.
type Forecast struct {
	From     humanize.JSONTime `json:"from"`
	To       humanize.JSONTime `json:"to"`
	Timezone string            `json:"timezone"`
	Servers  int               `json:"servers"`
	Usual    ForecastSums      `json:"usual"`
	Crowded  []ForecastMinute  `json:"crowded"`
	Hours    []ForecastHour    `json:"hours"`
	Tasks    []ForecastTask    `json:"tasks"`
	Notes    []Note            `json:"notes"`
}

// ForecastSums are the sums of a forecast.
type ForecastSums struct {
	Starts  int          `json:"starts"`
	Late    int          `json:"late"`
	Skipped map[Skip]int `json:"skipped"`
	Runs    ForecastPeak `json:"runs"`
	CPU     ForecastPeak `json:"cpu"`
	Memory  ForecastPeak `json:"memory"`
}

// A ForecastPeak is the most there is of something at one moment.
type ForecastPeak struct {
	Most float64            `json:"most"`
	At   *humanize.JSONTime `json:"at"`
}

// A ForecastMinute is a minute in which much starts.
type ForecastMinute struct {
	Minute humanize.JSONTime `json:"minute"`
	Starts int               `json:"starts"`
}

// A ForecastHour is an hour of the wall clock.
type ForecastHour struct {
	Start   humanize.JSONTime `json:"start"`
	Most    int               `json:"most"`
	Starts  int               `json:"starts"`
	Late    int               `json:"late"`
	Skipped int               `json:"skipped"`
}

// A ForecastTask is what the forecast has of one task.
type ForecastTask struct {
	Name     string             `json:"name"`
	Duration float64            `json:"duration"`
	Known    string             `json:"known"`
	Runs     int                `json:"runs"`
	First    *humanize.JSONTime `json:"first"` // its first slot
	Starts   int                `json:"starts"`
	Skipped  map[Skip]int       `json:"skipped"`
	Late     int                `json:"late"`
	Latest   *ForecastLatest    `json:"latest"`
}

// A ForecastLatest is the run of a task that starts latest.
type ForecastLatest struct {
	Slot     humanize.JSONTime `json:"slot"`
	Lateness float64           `json:"lateness"`
	Behind   *string           `json:"behind"`
}

// JSON returns the forecast as programs get it.
func (r Report) JSON() Forecast {
	shown := Forecast{
		From:     humanize.UTC(r.From),
		To:       humanize.UTC(r.To),
		Timezone: r.Schedule.Location.String(),
		Servers:  r.Servers,
		Usual:    sumsOf(r.Sums),
		Crowded:  []ForecastMinute{},
		Hours:    []ForecastHour{},
		Tasks:    []ForecastTask{},
		Notes:    append([]Note{}, r.Notes...),
	}
	for _, m := range r.Crowded {
		shown.Crowded = append(shown.Crowded, ForecastMinute{humanize.UTC(m.At), m.Starts})
	}
	for _, h := range r.Hours {
		shown.Hours = append(shown.Hours, ForecastHour{humanize.UTC(h.Start), h.Most, h.Starts, h.Late, h.Skipped})
	}
	for _, t := range r.Tasks {
		load := r.Loads[t.Name]
		task := ForecastTask{
			Name: t.Name, Duration: load.Took.Seconds(), Known: load.source(), Runs: load.Runs,
			First:  humanize.UTCOrNil(t.First),
			Starts: t.Starts, Skipped: countSkips(func(kind Skip) int { return t.Skips[kind] }), Late: t.LateRuns,
		}
		if t.LateRuns > 0 {
			task.Latest = &ForecastLatest{Slot: humanize.UTC(t.MostLate.At), Lateness: t.MostLate.Lateness().Seconds()}
			if t.MostLate.By != nil {
				task.Latest.Behind = &t.MostLate.By.Name
			}
		}
		shown.Tasks = append(shown.Tasks, task)
	}
	return shown
}

func sumsOf(s *Sums) ForecastSums {
	return ForecastSums{
		Starts: s.Starts, Late: s.LateRuns(), Skipped: countSkips(s.SkipsOf),
		Runs: peakOf(s.Peak, 1), CPU: peakOf(s.CPU, 1000), Memory: peakOf(s.Memory, 1),
	}
}

// countSkips has all kinds of skips, also kinds with no skip.
func countSkips(count func(Skip) int) map[Skip]int {
	all := map[Skip]int{}
	for _, kind := range Skips {
		all[kind] = count(kind)
	}
	return all
}

func peakOf(p Peak, unit float64) ForecastPeak {
	return ForecastPeak{Most: float64(p.Most) / unit, At: humanize.UTCOrNil(p.At)}
}

// ReadSpan reads how long a forecast from a time on shall be: 12h, 7d.
func ReadSpan(from time.Time, text string) (time.Duration, error) {
	span, err := yamldoc.ParseDuration(text)
	if err != nil {
		return 0, view.Fail(view.Invalid, "write it as 12h or 7d", "%q is not a duration", text)
	}
	return span, CheckSpan(from, span)
}

// CheckSpan returns what is wrong with a span of time that is to be foreseen.
func CheckSpan(from time.Time, span time.Duration) error {
	switch {
	case from.Year() < firstYear || from.Year() > lastYear:
		hint := fmt.Sprintf("ask for a time from %d to %d", firstYear, lastYear)
		return view.Fail(view.Invalid, hint, "the year %d cannot be foreseen", from.Year())
	case span < time.Minute:
		words := humanize.DurationPrecise(max(span, 0))
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too short for a forecast", words)
	case span > MaxSpan:
		return view.Fail(view.Invalid, "ask for 1m to 31d", "%s is too long for a forecast", humanize.Duration(span))
	}
	return nil
}

// The years whose instants can be counted in nanoseconds since 1970.
const firstYear, lastYear = 1970, 2261
