package cmd

import (
	"cmp"
	"fmt"

	"sched/cmd/terminal"
	"sched/schedule/forecast/report"
	"sched/schedule/text"
)

// printForecast prints a forecast for people: what it adds up to, what is late, what is skipped, the heatmap, and what to know of it.
func (a forecastCommand) printForecast(r report.Report) {
	zone := r.Schedule.Location
	fmt.Fprintf(a.out, "%s to %s: %s of %s\n\n", report.DayAndTime(r.From, zone), report.DayAndTime(r.To, zone),
		text.Count(r.Usual.Starts, "run"), text.Count(len(r.Usual.Tasks), "task"))
	t := a.stdout().Table()
	for _, line := range r.Lines() {
		t.Row(line.Name, line.Words)
	}
	t.Flush()
	a.printLate(r)
	a.printSkipping(r)
	a.printHeatmap(r.Usual)
	a.printNotes(r.Notes)
}

// mostRows bounds the tables of late and skipping tasks; --json has all.
const mostRows = 10

// printLate prints the tasks that start late, and what they wait for.
func (a forecastCommand) printLate(r report.Report) {
	late := r.Usual.Late()
	if len(late) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table(terminal.Shrink{Column: 4, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("LATE", "RUNS", "AT MOST", "DUE", "BEHIND")
	for _, task := range late[:min(mostRows, len(late))] {
		behind := cmp.Or(r.Behind(task), "-")
		t.Row(task.Name, fmt.Sprintf("%d of %d", task.LateRuns, task.Starts), text.Duration(task.Latest.Late()),
			report.DayAndTime(task.Latest.At, r.Schedule.Location), behind)
	}
	t.Flush()
	a.printMore(len(late))
}

// printSkipping prints the tasks whose slots are skipped, and why.
func (a forecastCommand) printSkipping(r report.Report) {
	skipping := r.Usual.Skipping()
	if len(skipping) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table(terminal.Shrink{Column: 3, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("SKIPS", "SLOTS", "FIRST", "SINCE")
	for _, task := range skipping[:min(mostRows, len(skipping))] {
		t.Row(task.Name, fmt.Sprintf("%d of %d", task.Trouble(), task.Trouble()+task.Starts), report.DayAndTime(task.FirstSkip.At, r.Schedule.Location), r.Since(task))
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
func (a forecastCommand) printNotes(notes []report.Note) {
	for _, n := range notes {
		a.problem("%s", n.Text)
		if n.Hint != "" {
			fmt.Fprintf(a.err, "hint: %s\n", n.Hint)
		}
	}
}
