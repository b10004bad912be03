package report

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule/forecast"
	"sched/schedule/text"
)

// A Report is a forecast with what it went by, and the same with every run as slow as the 95th percentile.
type Report struct {
	*Inputs
	Usual, IfSlow *forecast.Forecast
}

// Foresee simulates usual and slow runs: side by side, which takes two processors, or one after the other. When the inputs are done before
// it is, what it returns is worth nothing.
func Foresee(in *Inputs, sideBySide bool) Report {
	slow := in.Input
	slow.Loads = in.loads(true)
	if !sideBySide {
		return Report{in, forecast.Foresee(in.Input), forecast.Foresee(slow)}
	}
	worse := make(chan *forecast.Forecast, 1)
	go func() { worse <- forecast.Foresee(slow) }()
	return Report{in, forecast.Foresee(in.Input), <-worse}
}

// A Line is one thing that is added up, and its sum in words.
type Line struct {
	Name, Words string
	At          time.Time // when there is most of it; zero where it is of the whole span
}

// Lines returns a line for each thing that is added up.
func (r Report) Lines() (lines []Line) {
	f := r.Usual
	add := func(name, words string) { lines = append(lines, Line{Name: name, Words: words}) }
	peak := func(name, words string, p forecast.Peak, also string) {
		lines = append(lines, Line{name, words + " at most, " + DayAndTime(p.At, r.Schedule.Location) + also, p.At})
	}
	if f.Peak.Most > 0 {
		also := ""
		if r.IfSlow.Peak.Most != f.Peak.Most {
			also = fmt.Sprintf("; %d if every run is slow", r.IfSlow.Peak.Most)
		}
		peak("at once", text.Count(int(f.Peak.Most), "run"), f.Peak, also)
	}
	if f.CPU.Most >= 50 { // less would be 0.0
		peak("CPU", fmt.Sprintf("%.1f processors", float64(f.CPU.Most)/1000), f.CPU, "")
	}
	if f.Memory.Most > 0 {
		peak("memory", text.Bytes(f.Memory.Most), f.Memory, "")
	}
	if len(f.Crowded) > 0 {
		lines = append(lines, Line{"crowded", r.crowded(), f.Crowded[0].At})
	}
	add("late", fmt.Sprintf("%s by more than %s", text.Count(f.LateRuns(), "start"), text.Duration(forecast.LateAfter))+ifSlow(f.LateRuns(), r.IfSlow.LateRuns()))
	add("skipped", skipped(f)+ifSlow(f.Troubles(), r.IfSlow.Troubles()))
	add("durations", r.known())
	return lines
}

// ifSlow is what a sum would be with slow runs, where it differs.
func ifSlow(usual, slow int) string {
	if usual == slow {
		return ""
	}
	return fmt.Sprintf("; %d if every run is slow", slow)
}

// crowded names the minutes in which most starts.
func (r Report) crowded() string {
	var words []string
	for _, minute := range r.Usual.Crowded[:min(3, len(r.Usual.Crowded))] {
		words = append(words, fmt.Sprintf("%s with %s", minute.At.In(r.Schedule.Location).Format("Mon 15:04"), text.Count(minute.Starts, "start")))
	}
	return strings.Join(words, ", ")
}

// skipped says what is skipped, trouble first.
func skipped(f *forecast.Forecast) string {
	words := text.Count(f.Skips(forecast.Overlap), "slot") + " for overlap"
	if n := f.Skips(forecast.Full); n > 0 {
		words += fmt.Sprintf(", %d since a pool is full", n)
	}
	if n := f.Skips(forecast.TooLate); n > 0 {
		words += fmt.Sprintf(", %d too late", n)
	}
	for _, kind := range []forecast.Skip{forecast.Paused, forecast.Unmet} {
		if n := f.Skips(kind); n > 0 {
			words += fmt.Sprintf(", %d %s", n, map[forecast.Skip]string{forecast.Paused: "paused", forecast.Unmet: "by days, between, except"}[kind])
		}
	}
	return words
}

// known says what the durations rest on.
func (r Report) known() string {
	count, least, most := map[string]int{}, 0, 0
	for _, t := range r.Usual.Tasks {
		d := r.Durations[t.Name]
		if count[d.Known]++; d.Known == FromHistory {
			if most = max(most, d.Runs); least == 0 || d.Runs < least {
				least = d.Runs
			}
		}
	}
	var words []string
	if n := count[FromHistory]; n > 0 {
		runs := fmt.Sprintf("%d to %d runs each", least, most)
		if least == most {
			runs = text.Count(least, "run") + " each"
		}
		measure := "median"
		if r.Slow {
			measure = "95th percentile"
		}
		words = append(words, fmt.Sprintf("of %s from their history, the %s of %s", text.Count(n, "task"), measure, runs))
	}
	if n := count[Assumed]; n > 0 {
		words = append(words, fmt.Sprintf("of %d from --assume", n))
	}
	if n := count[Unknown]; n > 0 {
		words = append(words, fmt.Sprintf("of %d unknown", n))
	}
	return strings.Join(words, "; ")
}

// Behind says what the latest start of a task waits for; "" where that is no run.
func (r Report) Behind(t forecast.Task) string {
	by := t.Latest.By
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s, which takes %s", by.Name, text.Duration(r.Loads[by.Name].Took))
}

// Since says what the first slot of a task is skipped for.
func (r Report) Since(t forecast.Task) string {
	switch by := t.FirstSkip.By; t.FirstSkip.Skip {
	case forecast.Overlap:
		return fmt.Sprintf("%s still runs, which takes %s", by.Name, text.Duration(r.Loads[by.Name].Took))
	case forecast.Full:
		return fmt.Sprintf("pool %s is full, with %s in it, which takes %s", t.Pool.Name, by.Name, text.Duration(r.Loads[by.Name].Took))
	}
	return t.FirstSkip.Reason
}

// DayAndTime writes a time of the days to come: "Tue 2026-11-24 00:00 CET".
func DayAndTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon ") + text.SlotZone(t.Truncate(time.Second), zone)
}
