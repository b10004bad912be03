package cmd

import (
	"fmt"
	"strings"

	"sched/cmd/terminal"
	"sched/schedule/forecast"
	"sched/schedule/text"
)

// A foreseen is a forecast with what it went by, and the same with every run as slow as the 95th percentile.
type foreseen struct {
	*forecastInputs
	forecast *forecast.Forecast
	worse    *forecast.Forecast
}

// foresee simulates usual and slow runs side by side.
func foresee(in *forecastInputs) foreseen {
	slow := in.Input
	slow.Loads = in.loads(true)
	worse := make(chan *forecast.Forecast, 1)
	go func() { worse <- forecast.Foresee(slow) }()
	return foreseen{in, forecast.Foresee(in.Input), <-worse}
}

// printForecast prints a forecast for people: what it adds up to, what is late, what is skipped, the heatmap, and what to know of it.
func (a forecastCommand) printForecast(r foreseen) {
	zone := r.Schedule.Location
	fmt.Fprintf(a.out, "%s to %s: %s of %s\n\n", dayAndTime(r.From, zone), dayAndTime(r.To, zone),
		text.Count(r.forecast.Starts, "run"), text.Count(len(r.forecast.Tasks), "task"))
	a.printSums(r)
	a.printLate(r)
	a.printSkipping(r)
	a.printHeatmap(r.forecast)
	a.printNotes(r.notes)
}

// printSums prints a line for each thing that is added up.
func (a forecastCommand) printSums(r foreseen) {
	f, zone, t := r.forecast, r.Schedule.Location, a.stdout().Table()
	defer t.Flush()
	peak := func(words string, p forecast.Peak) string { return words + " at most, " + dayAndTime(p.At, zone) }
	if f.Peak.Most > 0 {
		words := peak(text.Count(int(f.Peak.Most), "run"), f.Peak)
		if r.worse.Peak.Most != f.Peak.Most {
			words += fmt.Sprintf("; %d if every run is slow", r.worse.Peak.Most)
		}
		t.Row("at once", words)
	}
	if f.CPU.Most > 0 {
		t.Row("CPU", peak(fmt.Sprintf("%.1f processors", float64(f.CPU.Most)/1000), f.CPU))
	}
	if f.Memory.Most > 0 {
		t.Row("memory", peak(text.Bytes(f.Memory.Most), f.Memory))
	}
	if len(f.Crowded) > 0 {
		t.Row("crowded", crowdedText(r))
	}
	t.Row("late", fmt.Sprintf("%s by more than %s", text.Count(lateRuns(f), "start"), text.Duration(forecast.LateAfter))+ifSlow(lateRuns(f), lateRuns(r.worse)))
	t.Row("skipped", skippedText(f)+ifSlow(troubles(f), troubles(r.worse)))
	t.Row("durations", durationsText(r.forecastInputs, f))
}

// ifSlow is what a sum would be with slow runs, where it differs.
func ifSlow(usual, slow int) string {
	if usual == slow {
		return ""
	}
	return fmt.Sprintf("; %d if every run is slow", slow)
}

// crowdedText names the minutes in which most starts.
func crowdedText(r foreseen) string {
	var words []string
	for _, minute := range r.forecast.Crowded[:min(3, len(r.forecast.Crowded))] {
		words = append(words, fmt.Sprintf("%s with %s", minute.At.In(r.Schedule.Location).Format("Mon 15:04"), text.Count(minute.Starts, "start")))
	}
	return strings.Join(words, ", ")
}

// skippedText says what is skipped, trouble first.
func skippedText(f *forecast.Forecast) string {
	words := text.Count(f.Skips(forecast.Overlap), "slot") + " for overlap"
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

// durationsText says what the durations rest on.
func durationsText(in *forecastInputs, f *forecast.Forecast) string {
	count, least, most := map[string]int{}, 0, 0
	for _, t := range f.Tasks {
		d := in.durations[t.Name]
		if count[d.known]++; d.known == fromHistory {
			if most = max(most, d.runs); least == 0 || d.runs < least {
				least = d.runs
			}
		}
	}
	var words []string
	if n := count[fromHistory]; n > 0 {
		runs := fmt.Sprintf("%d to %d runs each", least, most)
		if least == most {
			runs = text.Count(least, "run") + " each"
		}
		measure := "median"
		if in.slow {
			measure = "95th percentile"
		}
		words = append(words, fmt.Sprintf("of %s from their history, the %s of %s", text.Count(n, "task"), measure, runs))
	}
	if n := count[fromFlag]; n > 0 {
		words = append(words, fmt.Sprintf("of %d from --assume", n))
	}
	if n := count[fromNothing]; n > 0 {
		words = append(words, fmt.Sprintf("of %d unknown", n))
	}
	return strings.Join(words, "; ")
}

func lateRuns(f *forecast.Forecast) (n int) {
	for _, t := range f.Tasks {
		n += t.LateRuns
	}
	return n
}

// troubles is how many slots are skipped that no condition and no pause skips.
func troubles(f *forecast.Forecast) int { return f.Skips(forecast.Overlap) + f.Skips(forecast.TooLate) }

// mostRows bounds the tables of late and skipping tasks; --json has all.
const mostRows = 10

// printLate prints the tasks that start late, and what they wait for.
func (a forecastCommand) printLate(r foreseen) {
	late := r.forecast.Late()
	if len(late) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table(terminal.Shrink{Column: 4, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("LATE", "RUNS", "AT MOST", "DUE", "BEHIND")
	for _, task := range late[:min(mostRows, len(late))] {
		behind := "-"
		if by := task.Latest.By; by != nil {
			behind = fmt.Sprintf("%s, which takes %s", by.Name, text.Duration(r.Loads[by.Name].Took))
		}
		t.Row(task.Name, fmt.Sprintf("%d of %d", task.LateRuns, task.Starts), text.Duration(task.Latest.Late()),
			dayAndTime(task.Latest.At, r.Schedule.Location), behind)
	}
	t.Flush()
	a.printMore(len(late))
}

// printSkipping prints the tasks whose slots are skipped, and why.
func (a forecastCommand) printSkipping(r foreseen) {
	skipping := r.forecast.Skipping()
	if len(skipping) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table(terminal.Shrink{Column: 3, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("SKIPS", "SLOTS", "FIRST", "SINCE")
	for _, task := range skipping[:min(mostRows, len(skipping))] {
		since := task.FirstSkip.Reason
		if by := task.FirstSkip.By; task.FirstSkip.Skip == forecast.Overlap {
			since = fmt.Sprintf("%s still runs, which takes %s", by.Name, text.Duration(r.Loads[by.Name].Took))
		}
		t.Row(task.Name, fmt.Sprintf("%d of %d", task.Trouble(), task.Trouble()+task.Starts), dayAndTime(task.FirstSkip.At, r.Schedule.Location), since)
	}
	t.Flush()
	a.printMore(len(skipping))
}

func (a forecastCommand) printMore(rows int) {
	if rows > mostRows {
		fmt.Fprintf(a.out, "and %s: see --json\n", text.Count(rows-mostRows, "more task"))
	}
}

// printNotes prints what a reader has to know of the forecast.
func (a forecastCommand) printNotes(notes []note) {
	for _, n := range notes {
		a.problem("%s", n.Text)
		if n.Hint != "" {
			fmt.Fprintf(a.err, "hint: %s\n", n.Hint)
		}
	}
}
