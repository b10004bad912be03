package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

func (a forecastCommand) printForecast(r forecast.Report) {
	zone := r.Schedule.Location
	fmt.Fprintf(a.out, "%s to %s: %s of %s\n\n", forecast.DayAndTime(r.From, zone), forecast.DayAndTime(r.To, zone),
		humanize.Count(r.Starts, "run"), humanize.Count(len(r.Tasks), "task"))
	t := a.stdout().Table()
	for _, line := range r.Lines() {
		t.Row(line.Name, line.Words)
	}
	t.Flush()
	a.printLate(r)
	a.printSkipping(r)
	a.printHeatmap(r.Sums)
	a.printNotes(r.Notes)
}

// mostRows bounds the tables of late and skipping tasks; --json has all.
const mostRows = 10

func (a forecastCommand) printLate(r forecast.Report) {
	late := r.Late()
	if len(late) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table(terminal.Shrink{Column: 4, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("LATE", "RUNS", "AT MOST", "DUE", "BEHIND")
	for _, task := range late[:min(mostRows, len(late))] {
		behind := cmp.Or(r.Behind(task), "-")
		t.Row(task.Name, fmt.Sprintf("%d of %d", task.LateRuns, task.Starts), humanize.Duration(task.Latest.Late()),
			forecast.DayAndTime(task.Latest.At, r.Schedule.Location), behind)
	}
	t.Flush()
	a.printMore(len(late))
}

func (a forecastCommand) printSkipping(r forecast.Report) {
	skipping := r.Skipping()
	if len(skipping) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	t := a.stdout().Table(terminal.Shrink{Column: 3, Least: 12}, terminal.Shrink{Column: 0, Least: 12})
	t.Head("SKIPS", "SLOTS", "FIRST", "SINCE")
	for _, task := range skipping[:min(mostRows, len(skipping))] {
		t.Row(task.Name, fmt.Sprintf("%d of %d", task.Trouble(), task.Trouble()+task.Starts), forecast.DayAndTime(task.FirstSkip.At, r.Schedule.Location), r.Since(task))
	}
	t.Flush()
	a.printMore(len(skipping))
}

func (a forecastCommand) printMore(rows int) {
	if rows > mostRows {
		fmt.Fprintf(a.out, "and %s: see --json\n", humanize.Count(rows-mostRows, "more task"))
	}
}

func (a forecastCommand) printNotes(notes []forecast.Note) {
	for _, n := range notes {
		a.problem("%s", n.Text)
		if n.Hint != "" {
			fmt.Fprintf(a.err, "hint: %s\n", n.Hint)
		}
	}
}

// heatSigns stand for the levels if a number has no room.
const heatSigns = ".-+x#"

// printHeatmap prints the most runs at once in each hour, as signs if numbers have no room.
func (a forecastCommand) printHeatmap(f *forecast.Sums) {
	out := a.stdout()
	width := max(2, len(fmt.Sprint(f.Peak.Most)))
	narrow := out.Width() > 0 && out.Width() < dayWidth+24*(width+1)
	if narrow {
		width = 0
	}
	fmt.Fprintln(a.out)
	fmt.Fprintln(a.out, strings.TrimRight(out.Paint(terminal.Faint, terminal.Pad("AT ONCE", dayWidth)+hourHeads(width)), " "))
	trouble := false
	for _, day := range f.Days() {
		line := terminal.Pad(day.Date.Format("Mon 01-02"), dayWidth)
		for _, cell := range day.Hours {
			line += heatCell(out, cell, width)
			trouble = trouble || cell.Trouble()
		}
		fmt.Fprintln(a.out, strings.TrimRight(line, " "))
	}
	switch {
	case narrow:
		fmt.Fprintf(a.out, "%s: from none to %s at once\n", heatSigns, humanize.Count(int(f.Peak.Most), "run"))
	case trouble:
		fmt.Fprintln(a.out, "! in this hour some start late or are skipped")
	}
}

const dayWidth = len("Mon 01-02 ")

func hourHeads(width int) string {
	var heads strings.Builder
	for hour := range 24 {
		switch {
		case width > 0:
			fmt.Fprintf(&heads, "%*s%02d ", width-2, "", hour)
		case hour%6 == 0:
			heads.WriteString(terminal.Pad(fmt.Sprintf("%02d", hour), 6))
		}
	}
	return heads.String()
}

// heatCell marks an hour with late or skipped runs with "!". Width 0 prints the sign of the level.
func heatCell(out terminal.Stream, cell forecast.Cell, width int) string {
	switch {
	case !cell.Exists:
		return terminal.Blanks(max(1, width+1))
	case width == 0:
		return out.Paint(terminal.Heat(cell.Level), heatSigns[cell.Level:cell.Level+1])
	}
	number, mark := ".", " "
	if cell.Most > 0 {
		number = fmt.Sprint(cell.Most)
	}
	if cell.Trouble() {
		mark = out.Paint(terminal.Bad, "!")
	}
	return out.Paint(terminal.Heat(cell.Level), terminal.Blanks(width-len(number))+number) + mark
}

func (a forecastCommand) compare(in *forecast.Inputs, o forecastOptions) error {
	other, err := load.File(o.compare, a.options())
	if err != nil {
		return err
	}
	if o.servers > 1 && len(other.Store.Servers) == 0 {
		return usage("leave --servers out", "--servers %d: %s has no store", o.servers, o.compare)
	}
	before, after := forecast.Foresee(in), forecast.Foresee(in.Of(other))
	if o.json {
		err = a.printJSON(map[string]forecast.Forecast{"before": before.JSON(), "after": after.JSON()})
	} else {
		a.printComparison(before, after)
	}
	if err != nil {
		return err
	}
	return o.exceeded(after)
}

func (a forecastCommand) printComparison(before, after forecast.Report) {
	zone := before.Schedule.Location
	fmt.Fprintf(a.out, "%s to %s: what changes with %s\n\n", forecast.DayAndTime(before.From, zone), forecast.DayAndTime(before.To, zone), filepath.Base(after.Schedule.File))
	t := a.stdout().Table()
	t.Head("", "NOW", "THEN")
	row := func(what string, of func(forecast.Report) string) {
		t.Row(what, of(before), of(after))
	}
	row("tasks", func(r forecast.Report) string { return fmt.Sprint(len(r.Tasks)) })
	row("runs", func(r forecast.Report) string { return fmt.Sprint(r.Starts) })
	row("at once", func(r forecast.Report) string {
		if r.Peak.Most == 0 {
			return "0"
		}
		return fmt.Sprintf("%d, %s", r.Peak.Most, r.Peak.At.In(zone).Format("Mon 15:04"))
	})
	row("late starts", func(r forecast.Report) string { return fmt.Sprint(r.LateRuns()) })
	row("skipped slots", func(r forecast.Report) string { return fmt.Sprint(r.Troubles()) })
	t.Flush()
	a.printChanges(before.Tasks, after.Tasks, zone)
	a.printHeatmap(after.Sums)
	a.printNotes(after.Notes)
}

// printChanges prints the tasks whose times or numbers differ. A task that one forecast lacks has
// none there.
func (a forecastCommand) printChanges(before, after []forecast.Task, zone *time.Location) {
	was, is := map[string]forecast.Task{}, map[string]forecast.Task{}
	names := map[string]bool{}
	for _, t := range before {
		was[t.Name], names[t.Name] = t, true
	}
	for _, t := range after {
		is[t.Name], names[t.Name] = t, true
	}
	t := a.stdout().Table()
	t.Head("TASK", "FIRST DUE", "RUNS", "LATE", "AT MOST", "SKIPS")
	changed := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		first := fromTo(dayText(was[name].First, zone), dayText(is[name].First, zone))
		differs := was[name].Times != is[name].Times
		if differs && was[name].First.Equal(is[name].First) {
			first += ", then other times"
		}
		row := []string{name, first}
		for i, now := range numbersOf(is[name]) {
			before := numbersOf(was[name])[i]
			differs = differs || now != before
			row = append(row, fromTo(before, now))
		}
		if differs {
			changed = true
			t.Row(row...)
		}
	}
	if !changed {
		fmt.Fprintln(a.out, "\nno task has other times, runs, late starts or skips")
		return
	}
	fmt.Fprintln(a.out)
	t.Flush()
}

// numbersOf returns the cells of a task behind its name.
func numbersOf(t forecast.Task) []string {
	return []string{fmt.Sprint(t.Starts), fmt.Sprint(t.LateRuns), lateText(t), fmt.Sprint(t.Trouble())}
}

func dayText(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("Mon 15:04")
}

func lateText(t forecast.Task) string {
	if t.LateRuns == 0 {
		return "-"
	}
	return humanize.Duration(t.Latest.Late())
}

// fromTo writes a value, or both values if it changes.
func fromTo(was, is string) string {
	if was == is {
		return is
	}
	return was + " to " + is
}
